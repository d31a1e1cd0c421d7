"""Products by cuBLASLt, where it is found: a library of a few lines stands in for it, checks what it is given and computes on the stream."""

import ctypes
import os
import shutil
import subprocess

import pytest
import torch
from test_devices import run
from torch._cuda import _native

STAND_IN = r"""
#include "cuda_host/extension.h"
#include <complex>
#include <cstdint>
#include <cstring>
#include <set>
struct Product { int compute, scale, transa = 0, transb = 0, epilogue = 1; const void* bias = nullptr; };
struct Layout { int type; uint64_t rows, cols; int64_t ld; int batch = 1; int64_t stride = 0; };
struct Preference { uint64_t workspace = 0; uint32_t alignment[4] = {}; };
struct Choice { uint64_t algorithm[8]; size_t workspace; int state; float waves; int reserved[4]; };
static std::set<void*> alive;
static int ran = 0, wrong = 0, asked = 0, biased = 0;
static uint32_t last_alignment[4];
template <class T> static int make(void** to, T value) { alive.insert(*to = new T(value)); return 0; }
template <class T> static int drop(void* p) { return alive.erase(p) ? (delete static_cast<T*>(p), 0) : (++wrong, 7); }
template <class T> static int put(T& to, const void* from, size_t size) {
  return size == sizeof to ? (memcpy(&to, from, size), 0) : (++wrong, 7);
}
#ifndef VERSION
#define VERSION 130000
#endif
extern "C" {
int counts(int what) { return what == 0 ? ran : what == 1 ? wrong : what == 2 ? asked : what == 3 ? int(alive.size()) : what == 4 ? biased : int(last_alignment[what - 5]); }
size_t cublasLtGetVersion() { return VERSION; }
int cublasLtCreate(void** handle) { *handle = (void*)0x77; return 0; }
int cublasLtMatmulDescCreate(void** to, int compute, int scale) { return make(to, Product{compute, scale}); }
int cublasLtMatmulDescDestroy(void* p) { return drop<Product>(p); }
int cublasLtMatmulDescSetAttribute(void* of, int attribute, const void* from, size_t size) {
  Product& p = *static_cast<Product*>(of);
  switch (attribute) {
    case 3: return put(p.transa, from, size);
    case 4: return put(p.transb, from, size);
    case 7: return put(p.epilogue, from, size);
    case 8: return put(p.bias, from, size);
  }
  return ++wrong, 7;
}
int cublasLtMatrixLayoutCreate(void** to, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  if (ld < int64_t(rows) || !rows || !cols) return ++wrong, 7;
  return make(to, Layout{type, rows, cols, ld});
}
int cublasLtMatrixLayoutDestroy(void* p) { return drop<Layout>(p); }
int cublasLtMatrixLayoutSetAttribute(void* of, int attribute, const void* from, size_t size) {
  Layout& l = *static_cast<Layout*>(of);
  return attribute == 5 ? put(l.batch, from, size) : attribute == 6 ? put(l.stride, from, size) : (++wrong, 7);
}
int cublasLtMatmulPreferenceCreate(void** to) { return make(to, Preference{}); }
int cublasLtMatmulPreferenceDestroy(void* p) { return drop<Preference>(p); }
int cublasLtMatmulPreferenceSetAttribute(void* of, int attribute, const void* from, size_t size) {
  Preference& p = *static_cast<Preference*>(of);
  if (attribute == 1) return put(p.workspace, from, size);
  return attribute >= 5 && attribute <= 8 ? put(p.alignment[attribute - 5], from, size) : (++wrong, 7);
}
int cublasLtMatmulAlgoGetHeuristic(void*, void* product, void*, void*, void*, void* d, void* preference, int, Choice* to, int* found) {
  ++asked;
  const Product& p = *static_cast<Product*>(product);
  const Layout& out = *static_cast<Layout*>(d);
  memcpy(last_alignment, static_cast<Preference*>(preference)->alignment, sizeof last_alignment);
  if (out.rows == 13) return *found = 0, 15;                    // has no algorithm
  if (out.rows == 17) return *found = 0, 14;                    // fails
  if (p.epilogue == 4 && (out.type == 1 || out.type == 5)) return *found = 0, 15;
  *to = {{0xA1}, 4096, 0, 1.0f, {}};
  return *found = 1, 0;
}
}
static float number(uint16_t x, int type) {
  if (type == 14) { uint32_t bits = uint32_t(x) << 16; float f; memcpy(&f, &bits, 4); return f; }
  _Float16 h; memcpy(&h, &x, 2); return float(h);
}
static uint16_t half(float f, int type) {
  uint16_t x;
  if (type == 14) { uint32_t b; memcpy(&b, &f, 4); return uint16_t((b + 0x7FFF + (b >> 16 & 1)) >> 16); }
  _Float16 h = _Float16(f); memcpy(&x, &h, 2); return x;
}
template <class T> struct Memory {
  using Wide = T;
  static T get(const void* p, int64_t i, int) { return static_cast<const T*>(p)[i]; }
  static void set(void* p, int64_t i, T v, int) { static_cast<T*>(p)[i] = v; }
};
template <> struct Memory<uint16_t> {
  using Wide = float;
  static float get(const void* p, int64_t i, int type) { return number(static_cast<const uint16_t*>(p)[i], type); }
  static void set(void* p, int64_t i, float v, int type) { static_cast<uint16_t*>(p)[i] = half(v, type); }
};
struct Call { Product p; Layout a, b, c, d; const void *A, *B, *C; void *D, *workspace; char alpha[16], beta[16]; };
template <class E> static void compute(Call x) {
  using M = Memory<E>;
  using W = typename M::Wide;
  W alpha, beta;
  memcpy(&alpha, x.alpha, sizeof alpha), memcpy(&beta, x.beta, sizeof beta);
  static_cast<char*>(x.workspace)[4095] = 1;
  const int t = x.d.type;
  const int64_t k = x.p.transa ? x.a.rows : x.a.cols;
  for (int64_t n = 0; n < x.d.batch; ++n)
    for (int64_t j = 0; j < int64_t(x.d.cols); ++j)
      for (int64_t i = 0; i < int64_t(x.d.rows); ++i) {
        W sum{};
        for (int64_t l = 0; l < k; ++l)
          sum += M::get(x.A, n * x.a.stride + (x.p.transa ? i * x.a.ld + l : l * x.a.ld + i), t) *
                 M::get(x.B, n * x.b.stride + (x.p.transb ? l * x.b.ld + j : j * x.b.ld + l), t);
        sum *= alpha;
        if (beta != W{}) sum += beta * M::get(x.C, n * x.c.stride + j * x.c.ld + i, t);
        if (x.p.epilogue == 4) sum += M::get(x.p.bias, i, t);
        M::set(x.D, n * x.d.stride + j * x.d.ld + i, sum, t);
      }
}
extern "C" int cublasLtMatmul(void* handle, void* product, const void* alpha, const void* A, void* a, const void* B, void* b,
                              const void* beta, const void* C, void* c, void* D, void* d, const uint64_t* algorithm,
                              void* workspace, size_t size, cudaStream_t stream) {
  Call x{*static_cast<Product*>(product), *static_cast<Layout*>(a), *static_cast<Layout*>(b), *static_cast<Layout*>(c),
         *static_cast<Layout*>(d), A, B, C, D, workspace};
  const int type = x.d.type;
  const bool wide = type == 1 || type == 5;
  const int scale = type == 4 || type == 5 ? type : wide ? 1 : 0;
  if (handle != (void*)0x77 || algorithm[0] != 0xA1 || size != 4096 || !workspace) return ++wrong, 7;
  if (x.p.compute != (wide ? 70 : 68) || x.p.scale != scale || x.a.type != type || x.b.type != type || x.c.type != type) return ++wrong, 7;
  if (x.a.batch != x.d.batch || x.b.batch != x.d.batch || x.c.batch != x.d.batch || x.c.rows != x.d.rows) return ++wrong, 7;
  if ((x.p.transa ? x.a.cols : x.a.rows) != x.d.rows || (x.p.transb ? x.b.rows : x.b.cols) != x.d.cols) return ++wrong, 7;
  if ((x.p.transa ? x.a.rows : x.a.cols) != (x.p.transb ? x.b.cols : x.b.rows)) return ++wrong, 7;
  const size_t bytes = scale == 5 ? 16 : scale == 0 ? 4 : 8;
  memcpy(x.alpha, alpha, bytes), memcpy(x.beta, beta, bytes);
  ++ran, biased += x.p.epilogue == 4;
  using namespace cuda_host;
  const Grid one(1, 1, 0, stream);
  if (type == 0) start("product", compute<float>, one, x);
  else if (type == 1) start("product", compute<double>, one, x);
  else if (type == 4) start("product", compute<std::complex<float>>, one, x);
  else if (type == 5) start("product", compute<std::complex<double>>, one, x);
  else start("product", compute<uint16_t>, one, x);
  return 0;
}
"""
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128]


def compiled(folder, *flags):
    compiler = shutil.which("g++") or pytest.skip("there is no C++ compiler")
    (folder / "cublas.cpp").write_text(STAND_IN)
    includes = [f"-I{os.path.join(_native.LAYER, 'include')}"]
    command = [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-w", *flags, *includes, "-o", folder / "cublas.so"]
    subprocess.run([*command, folder / "cublas.cpp", _native.__file__], check=True)
    return str(folder / "cublas.so")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("cublas"))


@pytest.fixture
def counts(file):
    _native.offer_library("cublasLt", [file])
    library = ctypes.CDLL(file)
    yield lambda: dict(
        zip(
            ("ran", "wrong", "asked", "alive", "biased", "a", "b", "c", "d"), map(library.counts, range(9)), strict=True
        )
    )
    _native.offer_library("cublasLt", [])
    assert library.counts(1) == 0  # wrong arguments


def numbers(*shape, dtype=torch.float32, seed=1):
    return torch.randint(-4, 5, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def same(found, expected):
    assert torch.equal(found.cpu(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_products_of_rows_and_columns(counts, dtype, left, right):
    a = numbers(5, 7, dtype=dtype) if left else numbers(7, 5, dtype=dtype).t()
    b = numbers(7, 6, dtype=dtype, seed=2) if right else numbers(6, 7, dtype=dtype, seed=2).t()
    before = counts()
    same(a.cuda() @ b.cuda(), a @ b)
    assert counts()["ran"] == before["ran"] + 1


@pytest.mark.parametrize("lazy", [False, True])
def test_a_product_runs_on_the_stream(counts, lazy):
    a, b = numbers(5, 7), numbers(7, 6, seed=2)
    expected = (a + 1) @ b * 2
    _native.configure(lazy=lazy)
    same((a.cuda() + 1) @ b.cuda() * 2, expected)


def test_batches_parts_and_what_is_expanded(counts):
    a, b = numbers(3, 5, 7), numbers(3, 7, 6, seed=2)
    before = counts()["ran"]
    same(torch.bmm(a.cuda(), b.cuda()), torch.bmm(a, b))
    same(torch.bmm(a.cuda()[:, 1:4, 2:], b.cuda()[:, 2:, 1:]), torch.bmm(a[:, 1:4, 2:], b[:, 2:, 1:]))
    same(torch.bmm(a.cuda(), b.cuda()[:1].expand(3, 7, 6)), torch.bmm(a, b[:1].expand(3, 7, 6)))
    assert counts()["ran"] == before + 3


@pytest.mark.parametrize("alpha, beta", [(1, 1), (2, 1), (1, 0), (3, -2)])
def test_what_is_added(counts, alpha, beta):
    a, b, d = numbers(5, 7), numbers(7, 6, seed=2), numbers(5, 6, seed=3)
    before = counts()
    expected = torch.addmm(d, a, b, alpha=alpha, beta=beta)
    same(torch.addmm(d.cuda(), a.cuda(), b.cuda(), alpha=alpha, beta=beta), expected)
    out = torch.empty(6, 5, device="cuda").t()
    torch.addmm(d.t().contiguous().t().cuda(), a.cuda(), b.cuda(), alpha=alpha, beta=beta, out=out)
    same(out, expected)
    assert counts()["biased"] == before["biased"]


def test_a_bias_is_an_epilogue(counts):
    x, w, bias = numbers(2, 5, 7), numbers(6, 7, seed=2), numbers(6, seed=3)
    linear = (
        torch.nn.functional.linear
        if hasattr(torch, "nn")
        else lambda x, w, b: torch.addmm(b, x.view(-1, 7), w.t()).view(2, 5, 6)
    )
    before, launches = counts(), _native.counts()["launches"]
    found = linear(x.cuda(), w.cuda(), bias.cuda())
    assert _native.counts()["launches"] == launches + 1
    same(found, linear(x, w, bias))
    assert counts()["biased"] == before["biased"] + 1
    same(torch.addmm(bias.cuda(), x[0].cuda(), w.t().cuda(), alpha=3), torch.addmm(bias, x[0], w.t(), alpha=3))
    assert counts()["biased"] == before["biased"] + 2


def test_plans_are_kept_and_their_descriptors_are_dropped(counts):
    a, b = numbers(5, 7).cuda(), numbers(7, 6, seed=2).cuda()
    a @ b
    before = counts()
    a @ b
    assert counts()["asked"] == before["asked"] and counts()["alive"] == before["alive"]
    for n in range(20, 1100):
        torch.ones(2, 1, device="cuda") @ torch.ones(1, n, device="cuda")
    assert counts()["alive"] <= 1024 * 5


def test_alignment_is_what_the_memory_has(counts):
    a, b = torch.ones(64, 64, device="cuda"), torch.ones(8 * 64 + 1, device="cuda")[1:].view(64, 8)
    a @ b  # the library's first matrix is our second
    assert [counts()[k] for k in "abcd"] == [4, 256, 256, 256]


@pytest.mark.parametrize("a, b", [((1, 7), (7, 5)), ((5, 7), (7, 1)), ((5, 7), (7, 13)), ((2, 0), (0, 3))])
def test_our_kernels_do_what_the_library_does_not(counts, a, b):
    a, b, ran = numbers(*a), numbers(*b, seed=2), counts()["ran"]
    same(a.cuda() @ b.cuda(), a @ b)
    assert counts()["ran"] == ran
    same(
        numbers(5, 7, dtype=torch.int32).cuda() @ numbers(7, 5, dtype=torch.int32).cuda(),
        numbers(5, 7, dtype=torch.int32) @ numbers(7, 5, dtype=torch.int32),
    )
    assert counts()["ran"] == ran


def test_matrices_without_neighbours_go_to_our_kernels(counts):
    a, b, ran = numbers(5, 14), numbers(7, 6, seed=2), counts()["ran"]
    same(a.cuda()[:, ::2] @ b.cuda(), a[:, ::2] @ b)
    same(a.cuda()[:1].expand(5, 14)[:, :7] @ b.cuda(), a[:1].expand(5, 14)[:, :7] @ b)
    assert counts()["ran"] == ran


def test_an_error_of_the_library_is_a_sentence(counts):
    alive = counts()["alive"]
    with pytest.raises(
        RuntimeError,
        match=r"mm: cuBLASLt: cublasLtMatmulAlgoGetHeuristic gave CUBLAS_STATUS_INTERNAL_ERROR \(14\) for 1 products of \(5, 7\) "
        r"and \(7, 17\); TORCH_CUBLASLT_LIBRARY= turns cuBLASLt off",
    ):
        torch.mm(torch.ones(5, 7, device="cuda"), torch.ones(7, 17, device="cuda"))
    assert counts()["alive"] == alive


def test_a_product_within_a_graph_is_replayed(counts):
    a, b = torch.ones(3, 4, device="cuda"), torch.ones(4, 5, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        c = a @ b
    a.fill_(2)
    graph.replay()
    assert c.eq(8).all()


def test_the_environment_says_which_library_and_none(file, monkeypatch):
    program = """
        import torch
        from torch._cuda import _native
        torch.ones(2, 4, device="cuda") @ torch.ones(4, 3, device="cuda")
        print(repr(_native.path_of_library("cublasLt")))
    """
    monkeypatch.setenv("TORCH_CUBLASLT_LIBRARY", file)
    assert run(program).strip() == repr(file)
    monkeypatch.setenv("TORCH_CUBLASLT_LIBRARY", "")
    assert run(program).strip() == "''"


def test_an_older_library_is_refused_with_its_version(tmp_path):
    _native.offer_library("cublasLt", [compiled(tmp_path, "-DVERSION=120800")])
    try:
        with pytest.raises(RuntimeError, match=r"cuBLASLt: .* version 120800; 130000 \(CUDA 13\) or newer is needed"):
            torch.ones(2, 4, device="cuda") @ torch.ones(4, 3, device="cuda")
    finally:
        _native.offer_library("cublasLt", [])
