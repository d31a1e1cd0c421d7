"""Writes packages/torch-core/src/torch/__init__.pyi from the operators' rows, so that type checkers and editors know them.

python ci/stubs.py            writes the file
python ci/stubs.py --check    exits with 1 when it is not what the rows say

Needs an environment in which torch-core is installed or built in place.
"""

import argparse
import inspect
import keyword
import re
import sys
from pathlib import Path

TARGET = Path(__file__).parents[1] / "packages/torch-core/src/torch/__init__.pyi"

TYPES = {
    "Tensor": "Tensor", "Number": "Tensor | Number", "Scalar": "Number", "int": "int", "bool": "_bool", "float": "_float", "str": "str",
    "dtype": "dtype", "device": "DeviceLike", "layout": "layout", "memory_format": "memory_format", "generator": "Generator",
    "Tensor[]": "Sequence[Tensor]", "int[]": "Sequence[_int] | _int",
}  # fmt: skip
RESULTS = {"Tensor": "Tensor", "Tensor[]": "tuple[Tensor, ...]", "int": "_int", "bool": "_bool", "float": "_float", "dtype": "dtype", "Scalar": "Number", "int[]": "Size"}

HEAD = '''\
# Written by ci/stubs.py from the operators' rows: do not edit.
# ruff: noqa
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, overload

import torch
from torch import autograd as autograd
from torch import multiprocessing as multiprocessing
from torch import nn as nn
from torch import optim as optim
from torch import serialize as serialize
from torch import utils as utils
from torch.autograd import enable_grad as enable_grad
from torch.autograd import inference_mode as inference_mode
from torch.autograd import is_grad_enabled as is_grad_enabled
from torch.autograd import no_grad as no_grad
from torch.autograd import set_grad_enabled as set_grad_enabled
from torch.serialize import load as load
from torch.serialize import save as save

from . import backends as backends
from . import cuda as cuda
from . import memory as memory
from ._limits import finfo as finfo
from ._limits import iinfo as iinfo
from ._printing import get_printoptions as get_printoptions
from ._printing import printoptions as printoptions
from ._printing import set_printoptions as set_printoptions

_int = int
_float = float
_bool = bool
Number = int | float | bool | complex
DeviceLike = device | str | int

__version__: str
inf: float
nan: float
pi: float
e: float
newaxis: None

class dtype:
    is_floating_point: _bool
    is_complex: _bool
    is_signed: _bool
    itemsize: int
    def to_complex(self) -> dtype: ...
    def to_real(self) -> dtype: ...

class layout: ...
class memory_format: ...

class device:
    type: str
    index: int | None
    def __init__(self, type: device | str | int, index: int | None = ...) -> None: ...

class Size(tuple[int, ...]):
    def numel(self) -> int: ...

class UntypedStorage:
    device: torch.device
    def __init__(self, size: int = ..., device: DeviceLike | None = ...) -> None: ...
    def nbytes(self) -> int: ...
    def size(self) -> int: ...
    def data_ptr(self) -> int: ...
    def is_shared(self) -> _bool: ...
    def __len__(self) -> int: ...

class Generator:
    device: torch.device
    def __init__(self, device: DeviceLike = ...) -> None: ...
    def manual_seed(self, seed: int) -> Generator: ...
    def initial_seed(self) -> int: ...
    def seed(self) -> int: ...
    def get_state(self) -> Tensor: ...
    def set_state(self, new_state: Tensor) -> Generator: ...

class OutOfMemoryError(RuntimeError): ...

strided: layout
sparse_coo: layout
contiguous_format: memory_format
preserve_format: memory_format
channels_last: memory_format
channels_last_3d: memory_format
'''

TENSOR_HEAD = '''\
class Tensor:
    shape: Size
    dtype: torch.dtype
    device: torch.device
    layout: torch.layout
    ndim: _int
    itemsize: _int
    nbytes: _int
    requires_grad: _bool
    is_leaf: _bool
    grad: Tensor | None
    grad_fn: Any
    data: Tensor
    is_cpu: _bool
    is_cuda: _bool
    is_meta: _bool
    is_sparse: _bool
    is_quantized: _bool
    T: Tensor
    mT: Tensor
    H: Tensor
    mH: Tensor
    real: Tensor
    imag: Tensor
    _version: _int
    _base: Tensor | None
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @overload
    def size(self, dim: None = ...) -> Size: ...
    @overload
    def size(self, dim: _int) -> _int: ...
    @overload
    def stride(self, dim: None = ...) -> tuple[_int, ...]: ...
    @overload
    def stride(self, dim: _int) -> _int: ...
    def dim(self) -> _int: ...
    def ndimension(self) -> _int: ...
    def numel(self) -> _int: ...
    def nelement(self) -> _int: ...
    def element_size(self) -> _int: ...
    def storage_offset(self) -> _int: ...
    def untyped_storage(self) -> UntypedStorage: ...
    def data_ptr(self) -> _int: ...
    def item(self) -> Any: ...
    def tolist(self) -> Any: ...
    def numpy(self, *, force: _bool = ...) -> Any: ...
    def is_contiguous(self, memory_format: torch.memory_format = ...) -> _bool: ...
    def is_floating_point(self) -> _bool: ...
    def is_complex(self) -> _bool: ...
    def is_signed(self) -> _bool: ...
    def is_shared(self) -> _bool: ...
    def is_same_size(self, other: Tensor) -> _bool: ...
    def get_device(self) -> _int: ...
    def to(self, *args: Any, **kwargs: Any) -> Tensor: ...
    @overload
    def type(self, dtype: None = ...) -> str: ...
    @overload
    def type(self, dtype: Any, non_blocking: _bool = ...) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor: ...
    def cpu(self) -> Tensor: ...
    def cuda(self, device: DeviceLike | None = ...) -> Tensor: ...
    def float(self) -> Tensor: ...
    def double(self) -> Tensor: ...
    def half(self) -> Tensor: ...
    def bfloat16(self) -> Tensor: ...
    def int(self) -> Tensor: ...
    def long(self) -> Tensor: ...
    def short(self) -> Tensor: ...
    def char(self) -> Tensor: ...
    def byte(self) -> Tensor: ...
    def bool(self) -> Tensor: ...
    def new(self, *args: Any) -> Tensor: ...
    def new_tensor(self, data: Any, *, dtype: torch.dtype | None = ..., device: DeviceLike | None = ..., requires_grad: _bool = ...) -> Tensor: ...
    def share_memory_(self) -> Tensor: ...
    def backward(self, gradient: Tensor | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Any = ...) -> None: ...
    def requires_grad_(self, requires_grad: _bool = ...) -> Tensor: ...
    def register_hook(self, hook: Callable[[Tensor], Any]) -> Any: ...
    def retain_grad(self) -> None: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __len__(self) -> _int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, element: Any) -> _bool: ...
    def __bool__(self) -> _bool: ...
    def __int__(self) -> _int: ...
    def __float__(self) -> _float: ...
    def __index__(self) -> _int: ...
    def __complex__(self) -> complex: ...
    def __array__(self, dtype: Any = ...) -> Any: ...
    def __dlpack__(self, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __matmul__(self, other: Tensor) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
'''
ARITHMETIC = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()
ORDER = "lt le gt ge".split()

TAIL = '''\
def tensor(data: Any, *, dtype: dtype | None = ..., device: DeviceLike | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor: ...
def as_tensor(data: Any, dtype: dtype | None = ..., device: DeviceLike | None = ...) -> Tensor: ...
def asarray(obj: Any, *, dtype: dtype | None = ..., device: DeviceLike | None = ..., copy: _bool | None = ..., requires_grad: _bool = ...) -> Tensor: ...
def from_numpy(ndarray: Any) -> Tensor: ...
def from_dlpack(ext_tensor: Any) -> Tensor: ...
def frombuffer(buffer: Any, *, dtype: dtype, count: int = ..., offset: int = ..., requires_grad: _bool = ...) -> Tensor: ...
def is_tensor(obj: Any) -> _bool: ...
def get_num_threads() -> int: ...
def set_num_threads(int: int) -> None: ...
def get_default_dtype() -> dtype: ...
def set_default_dtype(d: dtype) -> None: ...
def manual_seed(seed: int) -> Generator: ...
def initial_seed() -> int: ...
def seed() -> int: ...
def get_rng_state() -> Tensor: ...
def set_rng_state(new_state: Tensor) -> None: ...
'''


def split(parameters: str) -> list[str]:
    return [p.strip() for p in re.split(r",\s*(?![^\[]*\])", parameters)] if parameters else []


def annotation(kind: str, in_class: bool) -> str:
    optional = kind.endswith("?")
    kind = re.sub(r"\(a!?\)|\?$", "", kind)
    text = TYPES[re.sub(r"\[\d+\]", "[]", kind)]
    if in_class:  # Tensor has attributes of these names
        text = re.sub(r"\b(dtype|layout|device)\b", r"torch.\1", text)
    return (text + " | None" if optional else text).replace("int |", "_int |") if text != "int" else ("_int | None" if optional else "_int")


def parameters(schema: str, method: bool) -> tuple[list[str], bool]:
    """Annotated parameters, and whether the last positional one may be spread: view(2, 3)."""
    head = schema[schema.index("(") + 1 : schema.rindex(") -> ")]
    out, star, spread = [], False, False
    items = split(head)
    for i, item in enumerate(items):
        if item == "*":
            star = True
            out.append("*")
            continue
        kind, name = item.split(" ", 1)
        name, has_default, _ = name.partition("=")
        if i == 0 and method:
            out.append("self")
            continue
        name = "input" if name == "self" else name
        if keyword.iskeyword(name):
            name += "_"
        last = not star and (i + 1 == len(items) or items[i + 1] == "*")
        spread = spread or (last and kind == "int[]")
        out.append(f"{name}: {annotation(kind, method)}" + (" = ..." if has_default else ""))
    return out, spread


def result(schema: str) -> str:
    text = schema[schema.rindex(" -> ") + 4 :]
    if text == "()":
        return "None"
    if text.startswith("("):
        return f"tuple[{', '.join('Tensor' for _ in split(text[1:-1]))}]"
    return RESULTS[re.sub(r"\(a!?\)", "", text.split(" ")[0])]


def extras(schema: str, listed: list[str]) -> list[str]:
    """Keywords that the binding adds: out= for new tensors, requires_grad= and so on for factories."""
    written, head = "(a" in schema, schema[: schema.rindex(" -> ")]
    more = []
    if not written and result(schema) in ("Tensor",) or (not written and result(schema).startswith("tuple[Tensor, ")):
        more.append("out: Any = ...")
    if "device? device" in head:
        more += ["layout: Any = ...", "requires_grad: _bool = ...", "pin_memory: _bool = ..."]
    if more and not any(p == "*" for p in listed):
        more.insert(0, "*")
    return more


def definitions(name: str, schemas: list[str], method: bool) -> list[str]:
    if keyword.iskeyword(name):
        return []
    signatures = []
    for schema in schemas:
        listed, spread = parameters(schema, method)
        tail = extras(schema, listed)
        signatures.append((listed + tail, result(schema)))
        if spread:
            at = next(i for i in range(len(listed) - 1, -1, -1) if "Sequence[_int]" in listed[i])
            varied = listed[:at] + [f"*{listed[at].partition(':')[0]}: _int"] + [p for p in listed[at + 1 :] + tail if p != "*"]
            signatures.append((varied, result(schema)))
    indent = "    " if method else ""
    lines = []
    for listed, gives in signatures:
        if len(signatures) > 1:
            lines.append(f"{indent}@overload")
        lines.append(f"{indent}def {name}({', '.join(listed)}) -> {gives}: ...")
    return lines


def stub() -> str:
    from torch import _C

    rows = _C._rows()
    functions: dict[str, list[str]] = {}
    methods: dict[str, list[str]] = {}
    for row in rows:
        name = row["schema"].partition("(")[0]
        if row["function"] and not row["hidden"] and row["module"] is None:
            functions.setdefault(name, []).append(row["schema"])
        if row["method"]:
            methods.setdefault(name, []).append(row["schema"])
    out = [HEAD]
    out += [f"{name}: dtype" for name in sorted(n for n, v in vars(_C).items() if isinstance(v, _C.dtype))]
    out += ["", TENSOR_HEAD.rstrip()]
    for name in ARITHMETIC:
        out += [f"    def __{p}{name}__(self, other: Any) -> Tensor: ..." for p in ("", "r", "i")]
    out += [f"    def __{name}__(self, other: Any) -> Tensor: ..." for name in ORDER]
    taken = set(re.findall(r"^    (?:def )?(\w+)", TENSOR_HEAD, re.M))
    for name in sorted(methods):
        if name not in taken:
            out += definitions(name, methods[name], True)
    out += ["", TAIL.rstrip()]
    for name in sorted(functions):
        out += definitions(name, functions[name], False)
    out += [f"class {n}Tensor(Tensor): ..." for n in "Float Double Half BFloat16 Byte Char Short Int Long Bool".split()]
    return "\n".join(out) + "\n"


def main() -> int:
    options = argparse.ArgumentParser(description=inspect.cleandoc(__doc__).partition("\n")[0])
    options.add_argument("--check", action="store_true", help="compare instead of writing")
    if not options.parse_args().check:
        TARGET.write_text(stub())
        return 0
    if TARGET.exists() and TARGET.read_text() == stub():
        return 0
    print(f"{TARGET} is not what the rows say: run python ci/stubs.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
