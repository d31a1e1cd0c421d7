"""The binding to NCCL, as far as a machine without a GPU can show it."""

import ctypes
import subprocess

import pytest
import torch.distributed as dist
from torch.distributed._engines.nccl import library

installed = pytest.mark.skipif(library.found() is None, reason="needs NCCL: pip install nvidia-nccl-cu12")
LIMIT = 120


@pytest.fixture
def binding(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    library.load.cache_clear()
    yield library.load()
    library.load.cache_clear()


@installed
def test_the_binding_is_of_the_library_that_is_there(binding):
    of_library, of_header = library.versions()
    assert of_library == of_header
    assert of_library > 20000


@installed
def test_a_group_has_an_identity_that_no_other_has(binding):
    assert len(library.unique_id()) == 128
    assert library.unique_id() != library.unique_id()


@installed
@pytest.mark.skipif(library.has_driver(), reason="there is a GPU")
def test_without_a_gpu_joining_says_what_nccl_says(binding):
    with pytest.raises(library.Failed, match="ncclCommInitRank: .*[Cc]uda"):
        library.call(binding.torch_nccl_join, 1, 0, library.unique_id(), ctypes.byref(ctypes.c_void_p()))


@installed
def test_a_binding_that_does_not_compile_says_why(monkeypatch, tmp_path):
    broken = tmp_path / "binding.cpp"
    broken.write_text("#include <nccl.h>\nint f() { return no_such_thing; }")
    monkeypatch.setattr(library, "SOURCE", broken)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "made"))
    library.load.cache_clear()
    with pytest.raises(library.Failed, match="no_such_thing|cuda_runtime"):
        library.load()
    assert not list((tmp_path / "made").rglob("*.so"))


@installed
def test_a_library_that_is_not_nccl_is_refused(tmp_path):
    include, _ = library.found()
    made = tmp_path / "binding.so"
    library._compile(made, include)
    with pytest.raises(library.Failed, match="has no ncclGetVersion"):
        library.call(ctypes.CDLL(str(made)).torch_nccl_open, b"libm.so.6")
    with pytest.raises(library.Failed, match="dlopen: .*no-such-library"):
        library.call(ctypes.CDLL(str(made)).torch_nccl_open, b"no-such-library.so")


@pytest.mark.parametrize(
    ("wheel", "compiler", "driver", "text"),
    [
        (None, "c++", False, r"NCCL is not installed \(pip install nvidia-nccl-cu12\)"),
        (("i", "l"), None, False, "there is no C\\+\\+ compiler"),
        (("i", "l"), "c++", False, "no GPU that it could reach .libcuda.so.1"),
        (("i", "l"), "c++", True, "torch reaches no GPU: torch-core-cuda is not installed"),
    ],
)
def test_the_backend_says_what_is_missing(monkeypatch, wheel, compiler, driver, text):
    monkeypatch.setattr(library, "found", lambda: wheel)
    monkeypatch.setattr(library, "_compiler", lambda: compiler)
    monkeypatch.setattr(library, "has_driver", lambda: driver)
    with pytest.raises(RuntimeError, match=f"doesn't have NCCL built in: .*{text}.*use backend 'gloo' or 'mpi'"):
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    assert not dist.is_nccl_available()
    assert not dist.is_initialized()


def test_what_is_compiled_needs_no_cuda():
    """The stand-ins for CUDA's headers hold types only, and compile by themselves."""
    folder = library.SOURCE.parent / "cuda"
    assert {p.name for p in folder.iterdir()} == {"cuda_fp16.h", "cuda_runtime.h"}
    compiler = library._compiler()
    if compiler is None:
        pytest.skip("no C++ compiler")
    code = "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\ncudaStream_t s; cudaEvent_t e;"
    command = [compiler, "-fsyntax-only", "-x", "c++", f"-I{folder}", "-"]
    done = subprocess.run(command, input=code, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
