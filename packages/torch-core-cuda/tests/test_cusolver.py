"""Linear algebra by cuSOLVER, where it is found: a stand-in checks what it is given, and has LAPACK compute."""

import ctypes
import shutil
import subprocess

import pytest
import torch
from test_devices import run
from torch._cuda import _native
from torch.linalg import LinAlgError

openblas = pytest.importorskip("scipy_openblas32")

STAND_IN = r"""
#include <dlfcn.h>
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>
static int calls = 0, wrong = 0, fails = 0;
static void* stream_now = nullptr;
static char one, two;
static void* lapack = dlopen(OPENBLAS, RTLD_NOW);
constexpr size_t kDevice = 96, kHost = 16;
extern "C" {
int counts(int what) { return what == 0 ? calls : wrong; }
void fail_with(int code) { fails = code; }
void* last_stream() { return stream_now; }
int cusolverDnCreate(void** h) { *h = &one; return 0; }
int cusolverDnSetStream(void* h, void* s) { stream_now = s; return h == &one ? 0 : 1; }
int cusolverDnCreateParams(void** p) { *p = &two; return 0; }
}
static int letter(int type) { return type < 2 ? type : type - 2; }
static size_t width(int type) { return type == 0 ? 4 : type == 5 ? 16 : 8; }
// Fortran's routine of a type; lengths of its letters, which no one reads, are left out
template <class... A>
static void call(const char* real, const char* complex, int type, A... a) {
  const std::string name = std::string("scipy_") + "sdcz"[letter(type)] + (type < 2 ? real : complex) + "_";
  using F = void (*)(A...);
  reinterpret_cast<F>(dlsym(lapack, name.c_str()))(a...);
}
static int begin(void* h, bool fits) {
  ++calls;
  if (h != &one || !fits) ++wrong;
  return fails;
}
static bool work_is(void* device, size_t bytes, void* host, size_t host_bytes) {
  return device && bytes == kDevice && host && host_bytes == kHost;
}
static int told(size_t* device, size_t* host) { *device = kDevice; *host = kHost; return 0; }
static std::vector<char> space(int type, size_t numbers) { return std::vector<char>(width(type) * numbers); }
extern "C" {
int cusolverDnXpotrf_bufferSize(void*, void*, int, int64_t, int, const void*, int64_t, int, size_t* d, size_t* h) { return told(d, h); }
int cusolverDnXpotrf(void* h, void* p, int uplo, int64_t n64, int type, void* a, int64_t lda, int compute, void* d, size_t db,
                     void* hw, size_t hb, int* info) {
  if (int code = begin(h, p == &two && compute == type && lda == n64 && work_is(d, db, hw, hb))) return code;
  int n = int(n64);
  char u = uplo == 0 ? 'L' : 'U';
  call("potrf", "potrf", type, &u, &n, a, &n, info);
  return 0;
}
int cusolverDnXgetrf_bufferSize(void*, void*, int64_t, int64_t, int, const void*, int64_t, int, size_t* d, size_t* h) { return told(d, h); }
int cusolverDnXgetrf(void* h, void* p, int64_t m64, int64_t n64, int type, void* a, int64_t lda, int64_t* pivots, int compute,
                     void* d, size_t db, void* hw, size_t hb, int* info) {
  if (int code = begin(h, p == &two && compute == type && lda == m64 && work_is(d, db, hw, hb))) return code;
  int m = int(m64), n = int(n64);
  std::vector<int> at(size_t(std::min(m, n)));
  call("getrf", "getrf", type, &m, &n, a, &m, at.data(), info);
  std::copy(at.begin(), at.end(), pivots);
  return 0;
}
int cusolverDnXgetrs(void* h, void* p, int trans, int64_t n64, int64_t k64, int type, const void* a, int64_t lda,
                     const int64_t* pivots, int type_b, void* b, int64_t ldb, int* info) {
  if (int code = begin(h, p == &two && trans == 0 && type == type_b && lda == n64 && ldb == n64)) return code;
  int n = int(n64), k = int(k64);
  std::vector<int> at(pivots, pivots + n);
  char t = 'N';
  call("getrs", "getrs", type, &t, &n, &k, a, &n, at.data(), b, &n, info);
  return 0;
}
int cusolverDnXgeqrf_bufferSize(void*, void*, int64_t, int64_t, int, const void*, int64_t, int, const void*, int, size_t* d, size_t* h) {
  return told(d, h);
}
int cusolverDnXgeqrf(void* h, void* p, int64_t m64, int64_t n64, int type, void* a, int64_t lda, int type_tau, void* tau,
                     int compute, void* d, size_t db, void* hw, size_t hb, int* info) {
  if (int code = begin(h, p == &two && compute == type && type_tau == type && lda == m64 && work_is(d, db, hw, hb))) return code;
  int m = int(m64), n = int(n64), size = 64 * n;
  auto work = space(type, size);
  call("geqrf", "geqrf", type, &m, &n, a, &m, tau, work.data(), &size, info);
  return 0;
}
int cusolverDnXsyevd_bufferSize(void*, void*, int, int, int64_t, int, const void*, int64_t, int, const void*, int, size_t* d, size_t* h) {
  return told(d, h);
}
int cusolverDnXsyevd(void* h, void* p, int job, int uplo, int64_t n64, int type, void* a, int64_t lda, int type_w, void* w,
                     int compute, void* d, size_t db, void* hw, size_t hb, int* info) {
  const bool fits = p == &two && compute == type && type_w == letter(type) % 2 && lda == n64 && (job == 0 || job == 1);
  if (int code = begin(h, fits && work_is(d, db, hw, hb))) return code;
  int n = int(n64), size = 64 * n;
  auto work = space(type, size), reals = space(1, 3 * n);
  char j = job ? 'V' : 'N', u = uplo == 0 ? 'L' : 'U';
  if (type < 2) call("syev", "", type, &j, &u, &n, a, &n, w, work.data(), &size, info);
  else call("", "heev", type, &j, &u, &n, a, &n, w, work.data(), &size, reals.data(), info);
  return 0;
}
int cusolverDnXgeev_bufferSize(void*, void*, int, int, int64_t, int, const void*, int64_t, int, const void*, int, const void*,
                               int64_t, int, const void*, int64_t, int, size_t* d, size_t* h) {
  return told(d, h);
}
int cusolverDnXgeev(void* h, void* p, int job_l, int job_r, int64_t n64, int type, void* a, int64_t lda, int type_w, void* w,
                    int type_l, void* left, int64_t ldl, int type_r, void* right, int64_t ldr, int compute, void* d,
                    size_t db, void* hw, size_t hb, int* info) {
  const bool fits = p == &two && compute == type && type_w == 4 + letter(type) % 2 && type_l == type && type_r == type;
  if (int code = begin(h, fits && lda == n64 && ldl == n64 && ldr == n64 && job_l == 0 && !left && work_is(d, db, hw, hb)))
    return code;
  int n = int(n64), size = 64 * n;
  auto work = space(type, size), reals = space(1, 2 * n), re = space(type, n), im = space(type, n);
  char l = 'N', r = job_r ? 'V' : 'N';
  if (type >= 2) {
    call("", "geev", type, &l, &r, &n, a, &n, w, left, &n, right, &n, work.data(), &size, reals.data(), info);
    return 0;
  }
  call("geev", "", type, &l, &r, &n, a, &n, re.data(), im.data(), left, &n, right, &n, work.data(), &size, info);
  for (size_t i = 0; i < size_t(n); ++i)
    for (int part = 0; part < 2; ++part)
      std::memcpy((char*)w + (2 * i + part) * width(type), (part ? im : re).data() + i * width(type), width(type));
  return 0;
}
int cusolverDnXgesvd_bufferSize(void*, void*, signed char, signed char, int64_t, int64_t, int, const void*, int64_t, int,
                                const void*, int, const void*, int64_t, int, const void*, int64_t, int, size_t* d, size_t* h) {
  return told(d, h);
}
int cusolverDnXgesvd(void* h, void* p, signed char ju, signed char jv, int64_t m64, int64_t n64, int type, void* a, int64_t lda,
                     int type_s, void* s, int type_u, void* u, int64_t ldu, int type_v, void* v, int64_t ldv, int compute,
                     void* d, size_t db, void* hw, size_t hb, int* info) {
  const bool fits = m64 >= n64 && lda == m64 && ldu == m64 && ldv == n64 && type_u == type && type_v == type && compute == type;
  if (int code = begin(h, fits && type_s == letter(type) % 2 && p == &two && work_is(d, db, hw, hb))) return code;
  int m = int(m64), n = int(n64), size = 64 * (m + n);
  auto work = space(type, size), reals = space(1, 5 * n);
  char j = char(ju), k = char(jv);
  if (type < 2) call("gesvd", "", type, &j, &k, &m, &n, a, &m, s, u, &m, v, &n, work.data(), &size, info);
  else call("", "gesvd", type, &j, &k, &m, &n, a, &m, s, u, &m, v, &n, work.data(), &size, reals.data(), info);
  return 0;
}
#define ORGQR(NAME, TYPE)                                                                                              \
  int cusolverDn##NAME##_bufferSize(void* h, int, int, int, const void*, int, const void*, int* size) {                \
    *size = 7;                                                                                                         \
    return h == &one ? 0 : 3;                                                                                          \
  }                                                                                                                    \
  int cusolverDn##NAME(void* h, int m, int n, int k, void* a, int lda, const void* tau, void* work, int size, int* info) { \
    if (int code = begin(h, work && size == 7 && lda == m && m >= n && n >= k)) return code;                           \
    int most = 64 * n;                                                                                                 \
    auto room = space(TYPE, most);                                                                                     \
    call("orgqr", "ungqr", TYPE, &m, &n, &k, a, &m, tau, room.data(), &most, info);                                    \
    return 0;                                                                                                          \
  }
ORGQR(Sorgqr, 0) ORGQR(Dorgqr, 1) ORGQR(Cungqr, 4) ORGQR(Zungqr, 5)
#define ORMQR(NAME, TYPE)                                                                                              \
  int cusolverDn##NAME##_bufferSize(void* h, int, int, int, int, int, const void*, int, const void*, const void*, int, \
                                    int* size) {                                                                       \
    *size = 9;                                                                                                         \
    return h == &one ? 0 : 3;                                                                                          \
  }                                                                                                                    \
  int cusolverDn##NAME(void* h, int side, int how, int m, int n, int k, const void* a, int lda, const void* tau,       \
                       void* c, int ldc, void* work, int size, int* info) {                                            \
    const int length = side == 0 ? m : n;                                                                              \
    if (int code = begin(h, work && size == 9 && lda == length && ldc == m && k <= length && how != (TYPE < 2 ? 2 : 1))) \
      return code;                                                                                                     \
    const char s = side == 0 ? 'L' : 'R', t = how == 0 ? 'N' : how == 1 ? 'T' : 'C';                                   \
    int most = 64 * (m + n);                                                                                           \
    auto room = space(TYPE, most);                                                                                     \
    call("ormqr", "unmqr", TYPE, &s, &t, &m, &n, &k, a, &lda, tau, c, &ldc, room.data(), &most, info);                 \
    return 0;                                                                                                          \
  }
ORMQR(Sormqr, 0) ORMQR(Dormqr, 1) ORMQR(Cunmqr, 4) ORMQR(Zunmqr, 5)
}
"""

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("cusolver")
    (folder / "cusolver.cpp").write_text(STAND_IN)
    blas = f'-DOPENBLAS="{openblas.get_lib_dir()}/lib{openblas.get_library()}.so"'
    source = [folder / "cusolver.cpp", "-ldl"]
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", blas, "-o", folder / "cusolver.so", *source], check=True)
    return str(folder / "cusolver.so")


@pytest.fixture
def library(file):
    _native.offer_library("cusolver", [file])
    opened = ctypes.CDLL(file)
    opened.last_stream.restype = ctypes.c_void_p
    yield opened
    opened.fail_with(0)
    _native.offer_library("cusolver", [])
    assert opened.counts(1) == 0  # wrong arguments


def matrices(*shape, dtype):
    return torch.randn(shape, dtype=torch.complex128, generator=torch.Generator().manual_seed(3)).to(dtype)


def parts(result):
    return list(result) if isinstance(result, tuple) else [result]


def signed(q):
    """Columns up to their phase."""
    return q * q[..., :1, :].conj().sgn()


#: by name: what is computed of A (3 x 3), B (3 x 2), the positive definite S, and the wide W (2 x 4); the calls for each of two matrices
COMPUTED = {
    "cholesky": (lambda a, b, s, w: torch.linalg.cholesky(s), 1),
    "upper cholesky": (lambda a, b, s, w: torch.linalg.cholesky(s, upper=True), 1),
    "lu": (lambda a, b, s, w: torch.linalg.lu_factor(w), 1),
    "inverse": (lambda a, b, s, w: torch.linalg.inv(a), 2),
    "det": (lambda a, b, s, w: torch.det(a), 1),
    "slogdet": (lambda a, b, s, w: torch.slogdet(a), 1),
    "solve": (lambda a, b, s, w: torch.linalg.solve(a, b), 2),
    "strided solve": (lambda a, b, s, w: torch.linalg.solve(a.mT, b.flip(1)), 2),
    "qr": (lambda a, b, s, w: torch.linalg.qr(b), 2),
    "complete qr": (lambda a, b, s, w: torch.linalg.qr(b, mode="complete"), 2),
    "wide qr": (lambda a, b, s, w: torch.linalg.qr(w), 2),
    "r": (lambda a, b, s, w: torch.linalg.qr(b, mode="r").R, 1),
    "geqrf": (lambda a, b, s, w: torch.geqrf(b), 1),
    "householder": (lambda a, b, s, w: torch.linalg.householder_product(*torch.geqrf(b)), 2),
    "ormqr": (lambda a, b, s, w: torch.ormqr(*torch.geqrf(b), a), 2),
    "ormqr's adjoint": (lambda a, b, s, w: torch.ormqr(*torch.geqrf(b), a, transpose=True), 2),
    "ormqr from the right": (lambda a, b, s, w: torch.ormqr(*torch.geqrf(b), a.mT, left=False), 2),
    "least squares": (lambda a, b, s, w: torch.linalg.lstsq(b, a, driver="gels"), 2),
    "least squares, square": (lambda a, b, s, w: torch.linalg.lstsq(s, b, driver="gels"), 2),
    "the shortest solution": (lambda a, b, s, w: torch.linalg.lstsq(w, b[..., :2, :], driver="gels"), 2),
    "eigh": (lambda a, b, s, w: (lambda r: (r[0], signed(r[1])))(torch.linalg.eigh(s)), 1),
    "eigvalsh": (lambda a, b, s, w: torch.linalg.eigvalsh(s, UPLO="U"), 1),
    "eigvals": (lambda a, b, s, w: torch.linalg.eigvals(a), 1),
    "svdvals": (lambda a, b, s, w: torch.linalg.svdvals(w), 1),
    "pinv": (lambda a, b, s, w: torch.linalg.pinv(w), 1),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COMPUTED)
def test_results_are_those_of_the_cpu(library, name, dtype):
    f, calls = COMPUTED[name]
    a, b, w = matrices(2, 3, 3, dtype=dtype), matrices(2, 3, 2, dtype=dtype), matrices(2, 2, 4, dtype=dtype)
    given = [a, b, a @ a.mH + torch.eye(3, dtype=dtype), w]
    here, before = parts(f(*given)), library.counts(0)
    there = parts(f(*(t.cuda() for t in given)))
    assert library.counts(0) - before == 2 * calls
    near = 1e-4 if dtype in (torch.float32, torch.complex64) else 1e-10
    for expected, got in zip(here, there, strict=True):
        assert got.is_cuda and got.shape == expected.shape and got.dtype == expected.dtype
        assert torch.allclose(got.cpu(), expected, atol=near, rtol=near)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_vectors_give_the_matrix_back(library, dtype, shape, full):
    a = matrices(2, *shape, dtype=dtype)
    u, s, vh = torch.linalg.svd(a.cuda(), full_matrices=full)
    expected = torch.linalg.svd(a, full_matrices=full)
    assert [t.shape for t in (u, s, vh)] == [t.shape for t in expected]
    k = min(shape)
    assert torch.allclose(s.cpu(), expected.S, atol=1e-5)
    assert torch.allclose(((u[..., :k] * s[..., None, :]) @ vh[..., :k, :]).cpu(), a, atol=1e-5)
    for q in (u.mH @ u, vh @ vh.mH):
        assert torch.allclose(q.cpu(), torch.eye(q.shape[-1], dtype=dtype), atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_of_any_matrix_are_scaled_by_its_values(library, dtype):
    turn = torch.tensor([[1.0, 2, 0, 0], [-2, 1, 0, 0], [0, 0, 3, 1], [0, 1, 0, -1]]).to(
        dtype
    )  # a pair of complex values
    a, before = torch.stack([turn, matrices(4, 4, dtype=dtype), turn.mT]), library.counts(0)
    values, vectors = torch.linalg.eig(a.cuda())
    assert library.counts(0) == before + 3 and values.is_cuda and vectors.is_cuda
    near = 1e-4 if dtype in (torch.float32, torch.complex64) else 1e-10
    expected = torch.linalg.eig(a)
    assert values.dtype == vectors.dtype == expected[0].dtype
    assert torch.allclose(values.cpu(), expected[0], atol=near) and torch.allclose(
        vectors.cpu(), expected[1], atol=near
    )
    scaled = vectors.cpu() * values.cpu()[..., None, :]
    assert torch.allclose(a.to(scaled.dtype) @ vectors.cpu(), scaled, atol=near)


def test_gradients_are_those_of_the_cpu(library):
    autograd = pytest.importorskip("torch.autograd")
    a = matrices(4, 4, dtype=torch.float64)
    s, b = a @ a.mT + torch.eye(4, dtype=torch.float64), matrices(4, 2, dtype=torch.float64)
    for f in (
        lambda s, b: torch.linalg.solve(s, b).sin().sum(),
        lambda s, b: torch.logdet(s) + torch.linalg.cholesky(s).sum(),
        lambda s, b: torch.linalg.qr(b).R.sin().sum() + torch.linalg.svdvals(b).sum() + torch.linalg.eigvalsh(s).sum(),
    ):
        found = []
        for device in ("cpu", "cuda"):
            given = [t.to(device).requires_grad_() for t in (s, b)]
            found.append(autograd.grad(f(*given), given, allow_unused=True, materialize_grads=True))
        for here, there in zip(*found, strict=True):
            assert torch.allclose(there.cpu(), here, atol=1e-9)


def test_work_goes_to_the_current_stream(library):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.linalg.inv_ex(torch.eye(2, device="cuda"))
    assert library.last_stream() == stream.cuda_stream


def test_a_factorization_that_is_not_asked_for_its_success_does_not_wait(library):
    a = torch.eye(4, device="cuda") * 2
    before = _native.counts()["waits"]
    torch.linalg.inv_ex(a), torch.linalg.cholesky_ex(a), torch.det(a), torch.linalg.lu_factor_ex(a), torch.linalg.qr(a)
    torch.linalg.lstsq(a, a), torch.ormqr(*torch.geqrf(a), a)
    assert _native.counts()["waits"] == before


def test_many_small_matrices_stay_with_lapack(library):
    before = library.counts(0)
    torch.linalg.inv(torch.eye(3, device="cuda").expand(17, 3, 3))
    assert library.counts(0) == before
    torch.linalg.inv(torch.eye(64, device="cuda").expand(17, 64, 64))
    assert library.counts(0) == before + 2 * 17


def test_what_cannot_be_factored_is_told(library):
    with pytest.raises(LinAlgError, match=r"linalg.inv: \(Batch element 1\): the matrix is singular: U\[0, 0\]"):
        torch.linalg.inv(torch.stack([torch.eye(2), torch.zeros(2, 2)]).cuda())
    with pytest.raises(LinAlgError, match="the leading minor of order 2 is not positive"):
        torch.linalg.cholesky(torch.tensor([[1.0, 0], [0, -1]], device="cuda"))
    with pytest.raises(LinAlgError, match="the leading minor of order 1 is not positive"):
        torch.linalg.cholesky(torch.full((2, 2), float("nan"), device="cuda"))
    with pytest.raises(LinAlgError, match="non-finite values"):
        torch.linalg.eigh(torch.full((2, 2), float("nan"), device="cuda"))
    _, info = torch.linalg.cholesky_ex(torch.stack([torch.eye(2), -torch.eye(2)]).cuda())
    assert info.tolist() == [0, 1]


def test_drivers_of_singular_values(library):
    a = matrices(3, 2, dtype=torch.float32)
    assert torch.allclose(torch.linalg.svdvals(a.cuda(), driver="gesvd").cpu(), torch.linalg.svdvals(a), atol=1e-5)
    with pytest.raises(NotImplementedError, match="there is only 'gesvd', got 'gesvdj'"):
        torch.linalg.svd(a.cuda(), driver="gesvdj")


def test_an_error_of_the_library_is_a_sentence(library):
    library.fail_with(7)
    with pytest.raises(
        RuntimeError,
        match=r"linalg.inv: cuSOLVER's cusolverDnXgetrf gave CUSOLVER_STATUS_INTERNAL_ERROR \(7\); "
        "TORCH_CUSOLVER_LIBRARY= turns cuSOLVER off",
    ):
        torch.linalg.inv(torch.eye(2, device="cuda"))
    library.fail_with(0)
    assert torch.linalg.inv(torch.eye(2, device="cuda")).tolist() == [[1, 0], [0, 1]]


def test_the_environment_says_which_library_and_none(file, monkeypatch):
    program = """
        import torch
        from torch._cuda import _native
        torch.linalg.inv(torch.eye(2, device="cuda"))
        print(repr(_native.path_of_library("cusolver")))
    """
    monkeypatch.setenv("TORCH_CUSOLVER_LIBRARY", file)
    assert run(program).strip() == repr(file)
    monkeypatch.setenv("TORCH_CUSOLVER_LIBRARY", "")
    assert run(program).strip() == "''"
