"""The compiler, the headers and the libraries that an extension is built with."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import torch

from . import cuda

COMPILERS = ("c++", "g++", "clang++")
OLDEST = {"gcc": (12,), "clang": (14,)}  # of those that know enough of C++20


def get_cxx_compiler() -> str:
    """The C++ compiler that builds use: ``$CXX``, or the first of c++, g++ and clang++ on PATH."""
    wanted = os.environ.get("CXX")
    if wanted:
        return wanted
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    if found is None:
        raise RuntimeError(
            f"a C++ extension needs a compiler, g++ 12 or clang++ 14 or newer; looked for {', '.join(COMPILERS)} on PATH. "
            "Install one (Debian: apt install g++; Fedora: dnf install gcc-c++) or point CXX at it."
        )
    return found


@functools.cache
def identity(compiler: str) -> tuple[str, str, tuple[int, ...]]:
    """The kind of a compiler (gcc, clang or unknown), its first line of --version, and its version."""
    try:
        done = subprocess.run([*compiler.split(), "--version"], capture_output=True, text=True)
        said = done.stdout if done.returncode == 0 else ""
    except OSError as error:
        raise RuntimeError(f"the compiler {compiler!r} cannot be started: {error.strerror}") from None
    line = said.partition("\n")[0]
    kind = "clang" if "clang" in said else "gcc" if "Free Software Foundation" in said else "unknown"
    # g++ (Debian 12.2.0-14) 12.2.0; clang version 14.0.6
    numbers = re.findall(r"(?<![\w.-])\d+(?:\.\d+)+", line)
    version = numbers[-1] if kind == "gcc" and numbers else next(iter(numbers), "0")
    return kind, line, tuple(map(int, version.split(".")))


def get_compiler_abi_compatibility_and_version(compiler: str) -> tuple[bool, tuple[int, ...]]:
    """Whether a compiler can build extensions, and its version.

    >>> get_compiler_abi_compatibility_and_version(get_cxx_compiler())[0]
    True
    """
    if shutil.which(compiler.split()[0]) is None:
        return False, (0, 0, 0)
    kind, _, version = identity(compiler)
    return kind in OLDEST and version >= OLDEST[kind], version


def check_compiler_abi_compatibility(compiler: str) -> bool:
    """Whether a compiler can build extensions: g++ 12 or clang++ 14, or newer.

    >>> torch.utils.cpp_extension.check_compiler_abi_compatibility("g++")
    True
    """
    return get_compiler_abi_compatibility_and_version(compiler)[0]


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Whether a compiler is one that torch-core itself is built with: GCC or clang."""
    return shutil.which(compiler.split()[0]) is not None and identity(compiler)[0] in OLDEST


def check_compiler_is_gcc(compiler: str) -> bool:
    """Whether a compiler is GCC."""
    return shutil.which(compiler.split()[0]) is not None and identity(compiler)[0] == "gcc"


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The folders of headers: torch-core's (unless `torch_include_dirs` is False), pybind11's and Python's, and with
    ``device_type="cuda"`` CUDA's.

    >>> [path.rpartition("/")[2] for path in torch.utils.cpp_extension.include_paths()][:1]
    ['include']
    """
    import torch_core

    ours = [torch_core.get_include()] if torch_include_dirs else []
    return [*ours, _pybind11(), _python(), *(cuda.headers() if _is_cuda("include_paths", device_type) else [])]


def library_paths(
    device_type: str = "cpu", torch_include_dirs: bool = True, cross_target_platform: str | None = None
) -> list[str]:
    """The folder of libtorch_core, as a list.

    >>> [path.rpartition("/")[2] for path in torch.utils.cpp_extension.library_paths()][:1]
    ['lib']
    """
    if cross_target_platform is not None:
        raise NotImplementedError(
            f"library_paths: extensions are built only for this machine, got {cross_target_platform!r}"
        )
    ours = [str(library().parent)] if torch_include_dirs else []
    return [*ours, *(cuda.libraries() if _is_cuda("library_paths", device_type) else [])]


def library() -> Path:
    """The shared library of torch-core; its name carries the interface number."""
    return Path(torch.__file__).parent / "lib" / f"libtorch_core.so.{torch._C.interface}"


def require_interface(path: str | os.PathLike) -> None:
    """Refuse a compiled extension that was built for another interface of torch-core, before it is loaded.

    Args:
        path: the extension's file; ImportError tells both numbers and what to do
    """
    built_for = re.search(rb"\0libtorch_core\.so\.(\d+)\0", Path(path).read_bytes())
    if built_for and int(built_for[1]) != torch._C.interface:
        raise ImportError(
            f"{path} was built for interface {int(built_for[1])} of torch-core; the installed torch-core has interface "
            f"{torch._C.interface}: build the extension again"
        )


def is_ninja_available() -> bool:
    """Whether ninja is on PATH. Nothing here needs it: `load` runs the compilers itself, side by side."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """RuntimeError when ninja is not on PATH; for programs that ask. `load` does without it.

    >>> torch.utils.cpp_extension.verify_ninja_availability() is None
    True
    """
    if not is_ninja_available():
        raise RuntimeError("ninja is not on PATH: pip install ninja")


def get_default_build_root() -> str:
    """The folder below which `load` keeps what it compiled, unless ``$TORCH_EXTENSIONS_DIR`` names another."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "torch_extensions")


def _is_cuda(what: str, device_type) -> bool:
    if device_type in (True, "cuda"):
        return True
    if device_type not in (False, "cpu"):
        raise NotImplementedError(f"{what}: extensions are compiled for the CPU and CUDA, got {device_type!r}")
    return False


def _pybind11() -> str:
    try:
        import pybind11
    except ModuleNotFoundError:
        raise RuntimeError("a C++ extension needs the headers of pybind11: pip install pybind11") from None
    return pybind11.get_include()


def _python() -> str:
    folder = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(folder, "Python.h")):
        raise RuntimeError(
            f"a C++ extension needs Python.h, and {folder} has none (Debian: apt install python3-dev; "
            "Fedora: dnf install python3-devel)"
        )
    return folder
