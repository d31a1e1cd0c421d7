"""What CUDA sources are compiled with: nvcc, for the devices of this machine or those that TORCH_CUDA_ARCH_LIST names."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import torch

#: Endings of files of CUDA.
ENDINGS = (".cu", ".cuh")
_DEFAULT = "8.0;9.0;10.0+PTX"
_NAMES = {
    "Ampere": "8.0;8.6+PTX", "Ada": "8.9+PTX", "Hopper": "9.0+PTX", "Blackwell": "10.0;12.0+PTX",
}  # fmt: skip


def find_home() -> str | None:
    """The folder of the CUDA toolkit: ``$CUDA_HOME``, that of nvcc on PATH, or of NVIDIA's wheels; None where there is none."""
    named = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    if named:
        return named
    if nvcc := shutil.which("nvcc"):
        said = subprocess.run([nvcc, "-v", "--dryrun", "-x", "cu", "/dev/null"], capture_output=True, text=True).stderr
        top = re.search(r"^#\$ TOP=(.*)$", said, re.MULTILINE)  # `nvcc` may be a script that starts another one
        return os.path.realpath(top[1].strip()) if top else str(Path(nvcc).resolve().parents[1])
    wheels = importlib.util.find_spec("nvidia")
    for place in wheels.submodule_search_locations if wheels else ():
        for nvcc in sorted(Path(place).glob("cu*/bin/nvcc"), reverse=True):
            return str(nvcc.parents[1])
    return "/usr/local/cuda" if os.path.exists("/usr/local/cuda/bin/nvcc") else None


def need_home(what: str) -> str:
    home = find_home()
    if home is None:
        raise RuntimeError(
            f"{what}: CUDA sources need nvcc, and there is none on PATH: install CUDA's toolkit, or pip install "
            "nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-crt nvidia-nvvm, or set CUDA_HOME"
        )
    if not os.path.exists(os.path.join(home, "bin", "nvcc")):
        raise RuntimeError(f"{what}: CUDA_HOME is {home!r}, and there is no bin/nvcc in it")
    return home


def _layer():
    """In tests, the module that turns CUDA into C++ over an execution layer on the CPU, and the layer's folder."""
    if "TORCH_CUDA_HOST_FORM" not in os.environ:
        return None
    from torch._cuda import _native

    spec = importlib.util.spec_from_file_location("cuda_host_extension", os.path.join(_native.LAYER, "extension.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, _native


def architectures(given: str | None = None) -> list[str]:
    """nvcc's flags for a list such as ``"8.0;9.0+PTX"``; by default TORCH_CUDA_ARCH_LIST, or the devices' own.

    >>> architectures("8.0;9.0+PTX")[-1]
    '-gencode=arch=compute_90,code=compute_90'
    """
    text = given or os.environ.get("TORCH_CUDA_ARCH_LIST")
    if not text:
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        own = {"{}.{}".format(*torch.cuda.get_device_capability(i)) for i in range(count)}
        text = ";".join(sorted(own)) or _DEFAULT
    for name, numbers in _NAMES.items():
        text = text.replace(name, numbers)
    flags: list[str] = []
    for one in re.split(r"[;\s]+", text.strip()):
        found = re.fullmatch(r"(\d+)\.(\d+)([af]?)(\+PTX)?", one)
        if not found:
            raise ValueError(f"TORCH_CUDA_ARCH_LIST: {one!r} is no architecture; write them as '8.0;9.0+PTX'")
        number = found[1] + found[2] + found[3]
        flags.append(f"-gencode=arch=compute_{number},code=sm_{number}")
        if found[4]:
            flags.append(f"-gencode=arch=compute_{number},code=compute_{number}")
    return list(dict.fromkeys(flags))


def headers() -> list[str]:
    """The folders of CUDA's headers."""
    if layer := _layer():
        return [os.path.join(layer[1].LAYER, "include")]
    return [os.path.join(need_home("include_paths"), "include")]


def libraries() -> list[str]:
    """The folders of CUDA's libraries."""
    if _layer():
        return []
    home = need_home("library_paths")
    return [str(p) for p in (Path(home, "lib64"), Path(home, "lib")) if p.is_dir()]


def link_flags() -> list[str]:
    """What an extension with CUDA is linked with: its own runtime, which shares devices and streams with torch's."""
    if layer := _layer():
        return [layer[1].__file__]
    return [*(f"-L{p}" for p in libraries()), "-lcudart_static", "-ldl", "-lrt", "-lpthread"]


def command(cxx: str, host_flags: list[str], extra: list[str], sources: Path) -> tuple[list[str], str | None]:
    """The compiler's command for a file of CUDA, and in tests the C++ that takes its place."""
    if layer := _layer():
        return [*cxx.split(), *host_flags, "-xc++"], layer[0].translated(sources.read_text())
    home = need_home("load")
    named = any("arch" in flag or "gencode" in flag for flag in extra)
    if not (named or os.environ.get("TORCH_CUDA_ARCH_LIST") or torch.cuda.is_available()):
        raise RuntimeError(  # libraries that bring kernels go on without them
            f"load: {sources.name} is compiled for the GPUs of this machine, and there is none; TORCH_CUDA_ARCH_LIST names "
            "architectures of others, such as '8.0;9.0+PTX'"
        )
    flags = [flag for flag in host_flags if flag.startswith("-D")]
    include, passed = [], iter(flag for flag in host_flags if not flag.startswith("-D"))
    for flag in passed:
        if flag == "-isystem":
            include += [flag, next(passed)]
        elif flag.startswith("-I"):
            include.append(flag)
    return [
        os.path.join(home, "bin", "nvcc"), "-std=c++20", "-O2", "--expt-relaxed-constexpr", "-diag-suppress=20012,20013,20014",
        "-Xcompiler=-fPIC,-fvisibility=hidden", "-ccbin", cxx.split()[0], *flags, *include,
        *([] if named else architectures()), *extra,
    ], None  # fmt: skip


@functools.cache
def identity() -> str:
    """nvcc's version."""
    if _layer():
        return "execution layer"
    nvcc = os.path.join(need_home("load"), "bin", "nvcc")
    return subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
