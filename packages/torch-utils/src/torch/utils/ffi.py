"""Functions in C that take tensors, through cffi and the C interface of torch-core (``torch/c/torch.h``).

The way of 2017, on a C interface that does not change with the library's insides: a function takes ``torch_tensor *``
where it once took ``THFloatTensor *``. Those of then compile, too: ``TH/TH.h`` has the types, and the functions that
were called most. For C++ there is `torch.utils.cpp_extension`.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import torch
from torch import _seams

# What a header of functions may name.
DECLARATIONS = """
typedef struct torch_tensor torch_tensor;
typedef enum { TORCH_OK, ... } torch_status;
const char *torch_last_error(void);
"""

# Tensors of 2017 by the names of their types; TH/TH.h has the functions.
OLD = {
    "THFloatTensor": "float32", "THDoubleTensor": "float64", "THLongTensor": "int64", "THIntTensor": "int32",
    "THShortTensor": "int16", "THCharTensor": "int8", "THByteTensor": "uint8",
}  # fmt: skip
OLD_DECLARATIONS = "\n".join(f"typedef struct {name} {name};" for name in OLD) + "\nextern int torch_th_failed;\n"

PACKAGE = '''"""Made by torch.utils.ffi.create_extension."""

from torch.utils.ffi import load_functions

from .{module} import ffi, lib

globals().update(load_functions(ffi, lib))
'''


def create_extension(
    name: str,
    headers: str | list[str],
    sources: list[str],
    verbose: bool = True,
    with_cuda: bool = False,
    package: bool = False,
    relative_to: str = ".",
    **kwargs,
):
    """Describe an extension in C; ``.build()`` of what is returned compiles it.

    Args:
        name: of the module, with dots for the package that it is put in: ``"_ext.gates"`` becomes ``_ext/gates/``
        headers: files that declare the functions, without preprocessor directives that cffi would need
        sources: C files, which ``#include <torch/c/torch.h>``
        verbose: print what the compiler says
        package: build for setuptools (``cffi_modules=["build.py:ffi"]``) instead of into the folder of `relative_to`
        relative_to: a file, usually ``__file__``, beside which paths begin
        kwargs: for cffi's ``set_source``: include_dirs, define_macros, libraries, ...

    The functions take Tensors for ``torch_tensor *``, numbers and strings. A ``torch_tensor *`` that one returns is taken
    over as a Tensor, a ``char *`` is copied into a str; a ``torch_status`` other than TORCH_OK is raised with the text of ``torch_last_error()``.

    >>> torch.utils.ffi.create_extension("mine", "missing.h", ["missing.c"])
    Traceback (most recent call last):
        ...
    FileNotFoundError: create_extension: there is no file ...
    """
    try:
        import cffi
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("create_extension needs cffi: pip install cffi", name=error.name) from None
    import torch_core

    from .cpp_extension import toolchain

    if with_cuda:
        raise NotImplementedError(
            "create_extension: with_cuda=True is for functions over THCTensor of 2017, which do not exist here; "
            "torch.utils.cpp_extension.load takes sources of CUDA"
        )
    if not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"create_extension: name must be a dotted module name, got {name!r}")
    base = Path(relative_to).resolve()
    base = base.parent if base.is_file() else base
    headers = [headers] if isinstance(headers, str) else list(headers)
    _require(base / h for h in headers)
    texts = [(base / h).read_text() for h in headers]
    old = {name for text in texts for name in re.findall(r"\bTH\w*Tensor\b", text)}
    if unknown := sorted(old - set(OLD)):
        raise NotImplementedError(
            f"create_extension: of the C library of 2017 there is no {unknown[0]} here, but {', '.join(OLD)}; functions may "
            "take torch_tensor * of torch/c/torch.h, and C++ functions torch::Tensor (torch.utils.cpp_extension)"
        )
    last = name.rpartition(".")[2]
    ffi = cffi.FFI()
    ffi.cdef(DECLARATIONS + (OLD_DECLARATIONS if old else "") + "\n".join(map(_declarations, texts)))
    library = toolchain.library()
    includes = "\n".join(f"#include {_quoted(base / h)}" for h in headers)
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), str(base), torch_core.get_include()]
    if old:
        kwargs["include_dirs"].append(str(Path(__file__).parent / "th"))
    kwargs["extra_link_args"] = [*kwargs.get("extra_link_args", []), str(library)]
    shim = "int torch_th_failed;\n#include <TH/TH.h>\n" if old else ""
    ffi.set_source(
        f"{name}._{last}",
        f"#include <torch/c/torch.h>\n{shim}{includes}",
        sources=[str(base / s) for s in sources],
        **kwargs,
    )
    folder = base.joinpath(*name.split("."))
    if package:
        _write_package(folder, last)
        return ffi
    return _Extension(ffi, folder, base, last, [base / s for s in sources], verbose)


def _require(files) -> None:
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(f"create_extension: there is no file {file}; paths begin beside relative_to")


class _Extension:
    """What `create_extension` describes."""

    def __init__(self, ffi, folder: Path, base: Path, last: str, sources: list[Path], verbose: bool):
        self.ffi = ffi
        self._folder = folder
        self._base = base
        self._last = last
        self._sources = sources
        self._verbose = verbose

    def build(self) -> str:
        """Compile into the package's folder; returns the path of the library."""
        _require(self._sources)
        _write_package(self._folder, self._last)
        for parent in self._folder.parents:
            if parent == self._base:
                break
            (parent / "__init__.py").touch()
        return self.ffi.compile(tmpdir=str(self._base), verbose=self._verbose)


def _write_package(folder: Path, last: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text(PACKAGE.format(module=f"_{last}"))


def _declarations(text: str) -> str:
    """A header without what cffi's parser does not take: directives, and the braces of ``extern "C"``."""
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.M)


def _quoted(path: Path) -> str:
    return '"' + os.fspath(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


ERRORS = (
    RuntimeError,
    IndexError,
    TypeError,
    ValueError,
    NotImplementedError,
    MemoryError,
    OverflowError,
)  # in the order of torch_status, from TORCH_ERROR_RUNTIME


_one_at_a_time = threading.Lock()


def load_functions(ffi, lib) -> dict:
    """The functions of a compiled cffi module, taking and giving Tensors."""
    found = {}
    for name in dir(lib):
        if name in ("torch_last_error", "torch_th_failed") or name.startswith("TORCH_"):
            continue
        value = getattr(lib, name)
        found[name] = _wrapped(ffi, lib, name, value) if ffi.typeof(value).kind == "function" else value
    return found


def _wrapped(ffi, lib, name: str, function):
    kind = ffi.typeof(function)
    tensor = ffi.typeof("torch_tensor *")
    old = {ffi.typeof(f"{name} *"): dtype for name, dtype in OLD.items()} if hasattr(lib, "torch_th_failed") else {}
    text = ffi.typeof("char *")
    takes_tensor = [argument is tensor or argument in old for argument in kind.args]
    gives_tensor, gives_status = kind.result is tensor or kind.result in old, kind.result.cname == "torch_status"

    def call(*args):
        if len(args) != len(takes_tensor):
            raise TypeError(f"{name} takes {len(takes_tensor)} arguments, got {len(args)}")
        passed = []
        for i, (argument, wanted) in enumerate(zip(args, takes_tensor)):
            if wanted:
                if not isinstance(argument, torch.Tensor):
                    raise TypeError(f"{name}: argument {i} must be a Tensor, got {type(argument).__name__}")
                if kind.args[i] in old and argument.dtype is not getattr(torch, old[kind.args[i]]):
                    raise TypeError(f"{name}: argument {i} must be of {old[kind.args[i]]}, got {argument.dtype}")
                argument = ffi.cast(kind.args[i], _seams.handle(argument))
            elif isinstance(argument, str):
                argument = argument.encode()
            passed.append(argument)
        try:
            if old:
                with _one_at_a_time:  # what failed is kept in the extension
                    lib.torch_th_failed = 0
                    result, failed = function(*passed), lib.torch_th_failed
            else:
                result, failed = function(*passed), 0
        except (TypeError, OverflowError) as error:  # of cffi, which names neither the function nor the argument
            raise type(error)(f"{name}: {error}; it is declared as {call.__doc__}") from None
        if failed:
            raise ERRORS[failed - 1](f"{name}: {_last_error(ffi, lib)}")
        if gives_tensor:
            if result == ffi.NULL:
                raise RuntimeError(f"{name}: {_last_error(ffi, lib)}")
            return _seams.from_handle(int(ffi.cast("uintptr_t", result)))
        if gives_status and result:
            raise ERRORS[int(result) - 1](f"{name}: {_last_error(ffi, lib)}")
        if kind.result is text:
            return None if result == ffi.NULL else ffi.string(result).decode()
        return None if gives_status else result

    call.__name__ = call.__qualname__ = name
    call.__doc__ = str(kind.cname).replace("(*)", f" {name}", 1)
    return call


def _last_error(ffi, lib) -> str:
    text = lib.torch_last_error()
    return ffi.string(text).decode() if text != ffi.NULL else "no reason was given"
