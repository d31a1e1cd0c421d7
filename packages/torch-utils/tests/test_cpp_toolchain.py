"""What extensions are built with: arguments, compilers, paths, setuptools."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

pytest.importorskip("pybind11")
from torch.utils import cpp_extension
from torch.utils.cpp_extension import load, load_inline

if not cpp_extension.check_compiler_abi_compatibility(os.environ.get("CXX", "c++")):
    pytest.skip("needs a C++20 compiler", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("time_to_compile")

PLAIN = Path(__file__).with_name("plain.cpp").read_text()


def test_an_extension_for_another_interface_is_refused_before_it_is_loaded(tmp_path):
    alien = tmp_path / "alien.so"
    alien.write_bytes(b"\x7fELF\0libtorch_core.so.99\0libc.so.6\0")
    with pytest.raises(
        ImportError, match="was built for interface 99 of torch-core; the installed torch-core has interface"
    ):
        cpp_extension.require_interface(alien)
    alien.write_bytes(f"\0libtorch_core.so.{torch._C.interface}\0".encode())
    cpp_extension.require_interface(alien)


def test_arguments_that_cannot_be_are_refused(tmp_path):
    with pytest.raises(ValueError, match="must be an identifier.*'two words'"):
        load("two words", tmp_path / "x.cpp")
    with pytest.raises(FileNotFoundError, match="no source file .*x.cpp"):
        load("x", tmp_path / "x.cpp")
    with pytest.raises(ValueError, match="sources is empty"):
        load("x", [])
    (tmp_path / "x.cpp").write_text("")
    for wrong, words in (
        (lambda: load("x", None), "sources is a str or a list of them, got None"),
        (lambda: load("x", ["a.cpp", 3]), r"got \['a.cpp', 3\]"),
        (lambda: load_inline("x", None), "cpp_sources is a str or a list of them, got None"),
        (lambda: load("x", tmp_path / "x.cpp", "-O3 -g"), r"extra_cflags is a list of str, got '-O3 -g'"),
        (lambda: load("x", tmp_path / "x.cpp", extra_ldflags="-lm"), "extra_ldflags is a list of str"),
    ):
        with pytest.raises(TypeError, match=words):
            wrong()
    with pytest.raises(ValueError, match="functions is a list of names, .* got 5"):
        load_inline("x", "", functions=5)
    with pytest.raises(ValueError, match="must be an identifier.*None"):
        load(None, "x.cpp")
    with pytest.raises(FileNotFoundError, match="no source file"):
        load("x", "kernel.cu")


def test_without_nvcc_sources_of_cuda_say_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(cpp_extension.cuda, "find_home", lambda: None)
    (tmp_path / "kernel.cu").write_text("__global__ void f() {}")
    for refused in (
        lambda: load("x", tmp_path / "kernel.cu", build_directory=tmp_path),
        lambda: load_inline("x", "", cuda_sources="__global__ void f() {}", build_directory=tmp_path),
        lambda: cpp_extension.CUDAExtension("x", ["a.cu"]),
        lambda: cpp_extension.include_paths("cuda"),
        lambda: cpp_extension.library_paths(True),
    ):
        with pytest.raises(RuntimeError, match="pip install nvidia-cuda-nvcc"):
            refused()
    monkeypatch.undo()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    with pytest.raises(RuntimeError, match="there is no bin/nvcc in it"):
        load("x", tmp_path / "kernel.cu", build_directory=tmp_path)


def test_without_a_gpu_sources_of_cuda_are_loaded_only_for_those_that_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(cpp_extension.cuda, "need_home", lambda what: str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("TORCH_CUDA_ARCH_LIST", raising=False)
    monkeypatch.delenv("TORCH_CUDA_HOST_FORM", raising=False)
    kernel = tmp_path / "kernel.cu"
    with pytest.raises(
        RuntimeError, match="kernel.cu is compiled for the GPUs of this machine, .* TORCH_CUDA_ARCH_LIST"
    ):
        cpp_extension.cuda.command("c++", [], [], kernel)
    assert "-arch=sm_90" in cpp_extension.cuda.command("c++", [], ["-arch=sm_90"], kernel)[0]
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0")
    assert "-gencode=arch=compute_80,code=sm_80" in cpp_extension.cuda.command("c++", [], [], kernel)[0]


def test_architectures_are_flags_of_nvcc(monkeypatch):
    assert cpp_extension.cuda.architectures("8.0;9.0+PTX") == [
        "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90,code=sm_90",
        "-gencode=arch=compute_90,code=compute_90",
    ]
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "Hopper 9.0a")
    assert cpp_extension.cuda.architectures()[-1] == "-gencode=arch=compute_90a,code=sm_90a"
    with pytest.raises(ValueError, match="'sm_90' is no architecture"):
        cpp_extension.cuda.architectures("sm_90")


CUDA = """
__global__ void scale_all(const float* x, float* y, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * by;
}
torch::Tensor scaled(torch::Tensor x, double by) {
  const c10::cuda::OptionalCUDAGuard guard(at::cuda::device_of(x));
  torch::Tensor y = torch::empty_like(x);
  const int n = int(x.numel());
  scale_all<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), by, n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_nvcc_compiles_sources_of_cuda(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    module = load_inline(
        "with_cuda",
        "torch::Tensor scaled(torch::Tensor x, double by);",
        CUDA,
        functions="scaled",
        build_directory=tmp_path,
    )
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="CUDA"):
            module.scaled(torch.ones(3), 2.0)


def test_an_unfit_compiler_is_told(tmp_path, monkeypatch):
    (tmp_path / "a.cpp").write_text("")
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho 'c++ (Debian 8.3.0-6) 8.3.0'\necho 'Free Software Foundation'\n")
    old.chmod(0o755)
    assert cpp_extension.get_compiler_abi_compatibility_and_version(str(old)) == (False, (8, 3, 0))
    assert cpp_extension.check_compiler_is_gcc(str(old))
    monkeypatch.setenv("CXX", str(old))
    with pytest.raises(RuntimeError, match=r"need g\+\+ 12 .*8\.3\.0"):
        load("x", tmp_path / "a.cpp", build_directory=tmp_path)
    monkeypatch.setenv("CXX", "/no/such/compiler")
    with pytest.raises(RuntimeError, match="not on PATH"):
        load("x", tmp_path / "a.cpp", build_directory=tmp_path)
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="apt install g"):
        load("x", tmp_path / "a.cpp", build_directory=tmp_path)
    assert not cpp_extension.is_ninja_available()
    with pytest.raises(RuntimeError, match="pip install ninja"):
        cpp_extension.verify_ninja_availability()


def test_the_folder_of_results_follows_the_environment(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cpp_extension.get_default_build_root() == "/somewhere/torch_extensions"


def test_include_and_library_paths_lead_to_the_core():
    include, pybind, python = cpp_extension.include_paths()
    assert (Path(include) / "torch/extension.h").exists()
    assert (Path(pybind) / "pybind11/pybind11.h").exists()
    assert (Path(python) / "Python.h").exists()
    (folder,) = cpp_extension.library_paths()
    assert (Path(folder) / f"libtorch_core.so.{torch._C.interface}").exists()
    assert cpp_extension.library_paths(torch_include_dirs=False) == []


SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension
setup(
    name="pair", version="1",
    ext_modules=[CppExtension("pair.first", ["first.cpp"], extra_compile_args={"cxx": ["-DNUMBER=1"]})],
    cmdclass={"build_ext": BuildExtension},
)
"""


def test_setuptools_builds_an_extension_of_a_package(tmp_path):
    pytest.importorskip("setuptools")
    (tmp_path / "setup.py").write_text(SETUP)
    (tmp_path / "pair").mkdir()
    (tmp_path / "pair/__init__.py").write_text("")
    (tmp_path / "first.cpp").write_text(PLAIN)
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (made,) = (tmp_path / "pair").glob("first*.so")
    assert made.name == "first" + sysconfig.get_config_var("EXT_SUFFIX")
    needed = made.read_bytes()
    assert f"libtorch_core.so.{torch._C.interface}".encode() in needed or b"libtorch_core" not in needed
    code = "import torch; from pair import first; print(first.number())"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=settings, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr


def test_build_extension_takes_options():
    pytest.importorskip("setuptools")
    from setuptools import Distribution

    plain = cpp_extension.BuildExtension.with_options(no_python_abi_suffix=True, use_ninja=False)(Distribution())
    plain.ext_map = {}
    assert plain.get_ext_filename("a.b") == "a/b.so"
    with pytest.raises(TypeError, match="unknown options speed"):
        cpp_extension.BuildExtension.with_options(speed=9)
    extension = cpp_extension.CppExtension("x", [Path("a.cpp")], include_dirs=["mine"])
    assert extension.include_dirs[0] == "mine"
    assert extension.sources == ["a.cpp"]
    assert extension.libraries == [f":libtorch_core.so.{torch._C.interface}"]


def test_import_torch_utils_loads_no_compiler():
    code = "import sys, torch.utils; print([m for m in sys.modules if 'cpp_extension' in m or m == 'setuptools'])"
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_cmake_finds_torch_core_where_utils_says():
    import torch.utils

    assert os.path.isfile(os.path.join(torch.utils.cmake_prefix_path, "TorchCore", "TorchCoreConfig.cmake"))
    assert torch.utils.cpp_extension.CUDA_HOME is None  # setups of extensions then leave their CUDA sources away
