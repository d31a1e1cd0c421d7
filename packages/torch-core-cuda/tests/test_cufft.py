"""Fourier transforms by cuFFT, where it is found: a library of a few lines stands in for it, checks what it is given and computes."""

import ctypes
import shutil
import subprocess

import pytest
import torch
from test_devices import run
from torch._cuda import _native

STAND_IN = r"""
#include <cmath>
#include <complex>
#include <map>
#include <vector>
struct Plan { long long n, stride, distance, batch; int type; void* stream; };
static std::map<int, Plan> plans;
static int last = 0, made = 0, ran = 0, wrong = 0;
extern "C" {
int counts(int what) { return what == 0 ? made : what == 1 ? ran : what == 2 ? wrong : int(plans.size()); }
int cufftCreate(int* plan) { plans[*plan = ++last] = {}; return 0; }
int cufftMakePlanMany64(int plan, int rank, long long* n, long long* in, long long istride, long long idist, long long* out,
                        long long ostride, long long odist, int type, long long batch, size_t* work) {
  if (!plans.count(plan) || rank != 1 || istride != ostride || idist != odist || *in < *n || *out < *n) ++wrong;
  if (type != 0x29 && type != 0x69) return 3;
  if (*n == 13) return 8;
  plans[plan] = {*n, istride, idist, batch, type, nullptr};
  *work = 0;
  return ++made, 0;
}
int cufftSetStream(int plan, void* stream) { plans[plan].stream = stream; return 0; }
int cufftDestroy(int plan) { return plans.erase(plan) ? 0 : 1; }
}
template <class T>
static int run(int at, std::complex<T>* in, std::complex<T>* out, int direction, int type) {
  if (!plans.count(at) || plans[at].type != type || (direction != 1 && direction != -1)) return ++wrong, 1;
  const Plan& p = plans[at];
  for (long long b = 0; b < p.batch; ++b) {
    std::vector<std::complex<double>> found(p.n);
    for (long long k = 0; k < p.n; ++k)
      for (long long j = 0; j < p.n; ++j)
        found[k] += std::complex<double>(in[b * p.distance + j * p.stride]) *
                    std::polar(1.0, direction * 2 * M_PI * double(j * k % p.n) / p.n);
    for (long long k = 0; k < p.n; ++k) out[b * p.distance + k * p.stride] = std::complex<T>(found[k]);
  }
  return ++ran, 0;
}
extern "C" int cufftExecC2C(int plan, void* in, void* out, int direction) {
  return run(plan, static_cast<std::complex<float>*>(in), static_cast<std::complex<float>*>(out), direction, 0x29);
}
extern "C" int cufftExecZ2Z(int plan, void* in, void* out, int direction) {
  return run(plan, static_cast<std::complex<double>*>(in), static_cast<std::complex<double>*>(out), direction, 0x69);
}
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("cufft")
    (folder / "cufft.cpp").write_text(STAND_IN)
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", folder / "cufft.so", folder / "cufft.cpp"], check=True)
    return str(folder / "cufft.so")


@pytest.fixture
def counts(file):
    _native.offer_library("cufft", [file])
    library = ctypes.CDLL(file)
    yield lambda: [library.counts(i) for i in range(4)]
    _native.offer_library("cufft", [])
    assert library.counts(2) == 0  # wrong arguments


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms_are_those_of_the_cpu(counts, dim, norm, dtype):
    x = torch.randn((4, 6, 5), generator=torch.Generator().manual_seed(1), dtype=torch.complex128).to(dtype)
    before = counts()
    for name in ("fft", "ifft"):
        function = getattr(torch.fft, name)
        assert torch.allclose(function(x.cuda(), dim=dim, norm=norm).cpu(), function(x, dim=dim, norm=norm), atol=1e-5)
    assert counts()[1] - before[1] == 2 * (4 if dim == 1 else 1)


def test_a_plan_is_made_once_for_a_stream(counts):
    x = torch.randn(3, 8, dtype=torch.complex64, device="cuda")
    torch.fft.fft(x)
    before = counts()
    torch.fft.fft(x)
    torch.fft.ifft(x)
    assert counts()[0] == before[0] and counts()[1] == before[1] + 2
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.fft.fft(x)
    assert counts()[0] == before[0] + 1


def test_plans_that_are_not_used_are_destroyed(counts):
    for n in range(20, 300):
        torch.fft.fft(torch.ones(1, n, dtype=torch.complex64, device="cuda"))
    assert counts()[3] == 256


def test_many_slices_stay_with_our_kernels(counts):
    x = torch.randn(40, 4, 5, dtype=torch.complex128)
    before = counts()
    assert torch.allclose(torch.fft.fft(x.cuda(), dim=1).cpu(), torch.fft.fft(x, dim=1)) and counts() == before


def test_real_transforms_and_derivatives(counts):
    x = torch.randn(3, 10)
    assert torch.allclose(torch.fft.irfft(torch.fft.rfft(x.cuda())).cpu(), x, atol=1e-6)
    assert torch.allclose(torch.fft.fft2(x.cuda()).cpu(), torch.fft.fft2(x), atol=1e-5)


def test_an_error_of_the_library_is_a_sentence(counts):
    with pytest.raises(
        RuntimeError, match=r"cuFFT: cufftMakePlanMany64 gave CUFFT_INVALID_SIZE \(8\) for 2 lines of 13"
    ):
        torch.fft.fft(torch.ones(2, 13, dtype=torch.complex64, device="cuda"))


def test_the_environment_says_which_library_and_none(file, monkeypatch):
    program = """
        import torch
        from torch._cuda import _native
        torch.fft.fft(torch.ones(2, 4, dtype=torch.complex64, device="cuda"))
        print(repr(_native.path_of_library("cufft")))
    """
    monkeypatch.setenv("TORCH_CUFFT_LIBRARY", file)
    assert run(program).strip() == repr(file)
    monkeypatch.setenv("TORCH_CUFFT_LIBRARY", "")
    assert run(program).strip() == "''"


def test_a_library_without_its_functions_is_named(tmp_path):
    compiler = shutil.which("g++") or pytest.skip("there is no C++ compiler")
    (tmp_path / "empty.cpp").write_text("")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "empty.so", tmp_path / "empty.cpp"], check=True)
    _native.offer_library("cufft", [str(tmp_path / "empty.so")])
    try:
        with pytest.raises(RuntimeError, match="cuFFT: the library that was opened has no function cufftCreate"):
            torch.fft.fft(torch.ones(2, 4, dtype=torch.complex64, device="cuda"))
    finally:
        _native.offer_library("cufft", [])
