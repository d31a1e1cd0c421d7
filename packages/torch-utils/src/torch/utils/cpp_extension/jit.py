"""Extensions compiled while the program runs."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import torch
from torch._seams import pull_registered as pull

from . import cuda, toolchain
from ._compile import Folder, digest, locked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_libraries: list = []  # those loaded without being Python modules


def load(
    name: str,
    sources: str | os.PathLike | list,
    extra_cflags: list[str] | None = None,
    extra_cuda_cflags: list[str] | None = None,
    extra_sycl_cflags: list[str] | None = None,
    extra_ldflags: list[str] | None = None,
    extra_include_paths: list | None = None,
    build_directory: str | os.PathLike | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
) -> Any:
    """Compile C++, C and CUDA files and import the result; compiled before from the same text, it is loaded at once.

    Args:
        name: of the module; `PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)` takes it
        sources: one file or several; those that end in .cu are compiled by nvcc, for the devices of this machine or those
            that ``$TORCH_CUDA_ARCH_LIST`` names
        with_cuda: also C++ files may include CUDA's headers (by default where there is a .cu)
        build_directory: where results are kept (default: ``$TORCH_EXTENSIONS_DIR`` or ~/.cache/torch_extensions)
        verbose: print commands and what the compiler says
        is_python_module: False loads the library without importing it and returns its path
        is_standalone: link a program of its own instead, and return its path
        keep_intermediates: False removes the objects after linking

    Any number of processes may ask for one extension at once: one builds, the others wait. `BuildError` (a RuntimeError)
    names the first error, its file and line, and the command. ``$CXX``, ``$CC`` and ``$MAX_JOBS`` are respected.

    >>> torch.utils.cpp_extension.load("mine", ["missing.cpp"])
    Traceback (most recent call last):
        ...
    FileNotFoundError: load: no source file ...
    """
    sources = _texts("load: sources", sources, (str, os.PathLike))
    if with_cuda is None:
        with_cuda = any(str(s).endswith(cuda.ENDINGS) for s in sources)
    if with_sycl or any(str(s).endswith(".sycl") for s in sources):
        raise NotImplementedError("load: SYCL sources are not supported; C++ sources run on the CPU")
    if not (isinstance(name, str) and name.isidentifier()):
        raise ValueError(f"load: name must be an identifier, as C++ and Python have it; got {name!r}")
    if not sources:
        raise ValueError("load: sources is empty")
    paths = [Path(s).resolve() for s in sources]
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"load: no source file {path}")
    folder = Path(build_directory) if build_directory else _folder(name)
    with locked(folder, verbose):
        built = _build(
            folder.resolve(), name, paths, extra_cflags, extra_ldflags, extra_include_paths, verbose, is_standalone,
            _words("load: extra_cuda_cflags", extra_cuda_cflags) if with_cuda else None,
        )  # fmt: skip
        if not keep_intermediates:
            shutil.rmtree(folder / "objects")
    if is_standalone:
        return str(built)
    return _opened(name, built, is_python_module)


def load_inline(
    name: str,
    cpp_sources: str | list[str],
    cuda_sources: str | list[str] | None = None,
    sycl_sources: str | list[str] | None = None,
    functions: str | list[str] | dict[str, str] | None = None,
    extra_cflags: list[str] | None = None,
    extra_cuda_cflags: list[str] | None = None,
    extra_sycl_cflags: list[str] | None = None,
    extra_ldflags: list[str] | None = None,
    extra_include_paths: list | None = None,
    build_directory: str | os.PathLike | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> Any:
    """As `load`, from C++ and CUDA in strings. ``#include <torch/extension.h>`` and the binding of `functions`, which the
    C++ declares, are added.

    Args:
        cpp_sources: one text or several, compiled as one file; errors count lines within each
        cuda_sources: the same of CUDA, after headers of CUDA and of the current stream
        functions: the names to bind; a dict gives each its docstring
        with_pytorch_error_handling: errors of the core become the Python errors of their kind in any case
        use_pch: without effect: a precompiled torch/extension.h has 160 MB and saves a quarter of 6 seconds
        no_implicit_headers: add no ``#include``

    Example:
        >>> source = "torch::Tensor twice(const torch::Tensor& x) { return x * 2; }"
        >>> module = load_inline("doc_twice", source, functions="twice")
        >>> module.twice(torch.ones(2))
        tensor([2., 2.])
    """
    if sycl_sources or with_sycl:
        raise NotImplementedError("load_inline: SYCL sources are not supported; C++ sources run on the CPU")
    if not (isinstance(name, str) and name.isidentifier()):
        raise ValueError(f"load_inline: name must be an identifier, as C++ and Python have it; got {name!r}")
    whole = _joined(name, "cpp_sources", cpp_sources, [] if no_implicit_headers else ["torch/extension.h"])
    if functions is not None:
        whole += _binding(functions) + "\n"
    written = [(whole, ".cpp")]
    if cuda_sources:
        includes = [] if no_implicit_headers else ["torch/extension.h", "cuda_runtime.h", "c10/cuda/CUDAStream.h"]
        written.append((_joined(name, "cuda_sources", cuda_sources, includes), ".cu"))
    folder = Path(build_directory) if build_directory else _folder(name)
    sources = []
    with locked(folder):
        for text, ending in written:
            source = folder / "sources" / f"{digest(text)}{ending}"
            sources.append(source)
            if not source.exists():
                source.parent.mkdir(exist_ok=True)
                half = source.with_suffix(".half")
                half.write_text(text)
                os.replace(half, source)
    return load(
        name, sources, extra_cflags, extra_cuda_cflags, None, extra_ldflags, extra_include_paths, folder, verbose, with_cuda, None,
        is_python_module, keep_intermediates=keep_intermediates,
    )  # fmt: skip


def _joined(name: str, argument: str, sources, includes: list[str]) -> str:
    texts = _texts(f"load_inline: {argument}", sources, str)
    pieces = [f"#include <{header}>" for header in includes]
    for i, text in enumerate(texts):
        place = f"{name}: {argument}" + (f"[{i}]" if len(texts) > 1 else "")
        pieces.append(f'#line 1 "{place}"\n{text}')
    return "\n".join(pieces) + "\n"


def _binding(functions) -> str:
    if isinstance(functions, str):
        functions = [functions]
    if not isinstance(functions, (list, tuple, dict)):
        raise ValueError(
            f"load_inline: functions is a list of names, or a dict of names and docstrings, got {functions!r}"
        )
    documented = functions if isinstance(functions, dict) else {f: f for f in functions}
    lines = ['#line 1 "binding of functions"', "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"]
    for function, doc in documented.items():
        quoted = '"' + doc.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        lines.append(f'  m.def("{function}", &{function}, {quoted});')
    return "\n".join([*lines, "}"])


def _root() -> Path:
    tag = f"{sys.implementation.cache_tag}-core{torch._C.interface}"
    return Path(os.environ.get("TORCH_EXTENSIONS_DIR") or toolchain.get_default_build_root(), tag)


def _folder(name: str) -> Path:
    return _root() / name


def _get_build_directory(name: str, verbose: bool) -> str:
    """Where :func:`load` keeps what it makes of a name; libraries look there for what they have compiled before."""
    folder = _folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    if verbose:
        print(f"{name} is compiled in {folder}")
    return str(folder)


def _jit_compile(
    name: str,
    sources: Any,
    extra_cflags: list[str] | None,
    extra_cuda_cflags: list[str] | None,
    extra_sycl_cflags: list[str] | None,
    extra_ldflags: list[str] | None,
    extra_include_paths: list | None,
    build_directory: str,
    verbose: bool,
    with_cuda: bool | None,
    with_sycl: bool | None,
    is_python_module: bool,
    is_standalone: bool,
    keep_intermediates: bool = True,
) -> Any:
    """:func:`load` by the name that it has within PyTorch, with every argument."""
    return load(**locals())


def _import_module_from_library(module_name: str, path: str, is_python_module: bool) -> Any:
    """What was compiled last into a folder under a name; see :func:`load`. ImportError where nothing was."""
    built = sorted(Path(path).glob(f"{module_name}-*.so"), key=os.path.getmtime)
    if not built:
        raise ImportError(f"{module_name} was not compiled into {path}: call load({module_name!r}, ...)")
    return _opened(module_name, built[-1], is_python_module)


def _flags(extra: list[str] | None, include: list | None, *, cplusplus: bool) -> list[str]:
    flags = [
        "-std=c++20" if cplusplus else "-std=c11",
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-fdiagnostics-color=never",
    ]
    flags += [
        f"-I{os.path.abspath(os.fspath(p).strip())}"
        for p in _texts("load: extra_include_paths", include or [], (str, os.PathLike))
    ]
    flags += [word for p in toolchain.include_paths() for word in ("-isystem", p)]
    return [*flags, *_words("load: extra_cflags", extra)]


def _texts(what: str, given, kinds) -> list:
    """One text, or several, as a list."""
    found = [given] if isinstance(given, kinds) else given
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, kinds) for one in found):
        raise TypeError(f"{what} is a str or a list of them, got {given!r}")
    return list(found)


def _words(what: str, given) -> list[str]:
    """Flags, of which one str may hold several: ``"-g -O0"``."""
    if given is not None and (isinstance(given, str) or not all(isinstance(flag, str) for flag in given)):
        raise TypeError(f"{what} is a list of str, got {given!r}")
    return [word for flag in given or [] for word in shlex.split(flag)]


def _identity(compiler: str) -> str:
    """All that decides on the result beside commands and sources."""
    import pybind11

    library = toolchain.library().stat()
    stamp = f"{library.st_size}.{library.st_mtime_ns}"
    return "\n".join([toolchain.identity(compiler)[1], pybind11.__version__, sys.version, stamp])


def _build(folder: Path, name: str, sources, cflags, ldflags, include, verbose, standalone, cuda_cflags) -> Path:
    with_cuda = cuda_cflags is not None
    compiler = toolchain.get_cxx_compiler()
    usable, version = toolchain.get_compiler_abi_compatibility_and_version(compiler)
    if not usable:
        raise RuntimeError(
            f"load: extensions need g++ 12 or clang++ 14 or newer, and {compiler!r} is "
            f"{toolchain.identity(compiler)[1] if shutil.which(compiler.split()[0]) else 'not on PATH'}; point CXX at one"
        )
    define = f"-DTORCH_EXTENSION_NAME={name}"
    commands = []
    for source in sources:
        plain_c = source.suffix == ".c"
        program = os.environ.get("CC", "cc") if plain_c else compiler
        flags = [*_flags(cflags, include, cplusplus=not plain_c), define]
        if with_cuda:
            flags += [word for p in cuda.headers() for word in ("-isystem", p)]
        if source.suffix in cuda.ENDINGS:
            command, instead = cuda.command(compiler, flags, cuda_cflags, source)
            if instead is not None:
                source = folder / f"{name}-{source.stem}.cpp"
                source.write_text(instead)
            commands.append((command, source))
        else:
            commands.append(([*program.split(), *flags], source))
    library = toolchain.library()
    link = [*compiler.split()]
    if standalone:
        link += [str(library), f"-Wl,-rpath,{library.parent}", "-pthread"]
    else:
        link += ["-shared", str(library)]
    if with_cuda:
        link += cuda.link_flags()
    link += _words("load: extra_ldflags", ldflags)
    work = Folder(folder, name, verbose)
    made_by = _identity(compiler) + (cuda.identity() if with_cuda else "")
    return work.build(commands, link, "" if standalone else ".so", made_by)


def _opened(name: str, built: Path, is_python_module: bool):
    if is_python_module:
        return _import(name, built)
    import ctypes

    _libraries.append(ctypes.CDLL(str(built)))
    pull()  # operators of TORCH_LIBRARY
    return str(built)


def _import(name: str, path: Path):
    toolchain.require_interface(path)
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise ImportError(_explained(str(error), name), name=name, path=str(path)) from None
    pull()  # operators of TORCH_LIBRARY
    return module


def _explained(text: str, name: str) -> str:
    if "PyInit_" in text:
        return (
            f"{text}: the sources define no module, PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ ... }}, called {name!r}"
        )
    symbol = re.search(r"undefined symbol: (_Z\w+)", text)
    if not symbol or not shutil.which("c++filt"):
        return text
    plain = subprocess.run(["c++filt", symbol[1]], capture_output=True, text=True).stdout.strip()
    return f"{text} ({plain}: declared, but defined in no source and no library that was linked)"


def remove_extension_h_precompiler_headers() -> None:
    """Does nothing: no precompiled headers are made (see ``use_pch`` of `load_inline`)."""
