"""Writes torch/__init__.pyi from the operators' rows: the schema is the only place where a signature is typed.

    python -m torch_core.stubs OUT.pyi

What is not a row (constructors, settings, methods written in Python) is taken from the living module; the few names whose
types users lean on are written out in TENSOR and MODULE below.
"""

import inspect
import re
import sys
from importlib.util import find_spec
from pathlib import Path

HEADER = '''\
"""Written by torch_core.stubs from the rows of the operators; changes here are lost."""

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, SupportsIndex, overload

from typing_extensions import Self

Number = builtins.int | builtins.float | builtins.complex | builtins.bool
# Tensor has attributes of these names, which would hide the classes.
_dtype = dtype
_layout = layout
_memory_format = memory_format
_device_class = device
_device = device | builtins.str | builtins.int
'''

# Written with Python's own names; inside the stub `torch.float` and friends hide them.
KINDS = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "Number": "Tensor | Number",
    "Scalar": "Number",
    "int": "builtins.int",
    "bool": "builtins.bool",
    "float": "builtins.float",
    "str": "builtins.str",
    "dtype": "_dtype",
    "device": "_device",
    "layout": "_layout",
    "memory_format": "_memory_format",
    "Generator": "Generator",
    "generator": "Generator",
    "any": "Any",
}
EXTRA = {
    "out": "Any",
    "layout": "_layout | None",
    "requires_grad": "builtins.bool",
    "pin_memory": "builtins.bool",
}
RESULTS = {"Tensor": "Tensor", "Tensor[]": "builtins.tuple[Tensor, ...]", "Scalar": "Number", "()": "None"}

CLASSES = """\
class dtype:
    is_floating_point: builtins.bool
    is_complex: builtins.bool
    is_signed: builtins.bool
    itemsize: builtins.int

class layout: ...
class memory_format: ...

class device:
    type: builtins.str
    index: builtins.int | None
    def __init__(self, device: device | builtins.str | builtins.int, index: builtins.int | None = None) -> None: ...

class Size(builtins.tuple[builtins.int, ...]):
    def numel(self) -> builtins.int: ...

class Generator:
    device: _device_class
    def __init__(self, device: _device = "cpu") -> None: ...
    def manual_seed(self, seed: builtins.int) -> Generator: ...
    def initial_seed(self) -> builtins.int: ...
    def seed(self) -> builtins.int: ...
    def get_state(self) -> Tensor: ...
    def set_state(self, new_state: Tensor) -> Generator: ...

class UntypedStorage:
    device: _device_class
    def __init__(self, size: builtins.int = 0, device: _device | None = None) -> None: ...
    def nbytes(self) -> builtins.int: ...
    def size(self) -> builtins.int: ...
    def data_ptr(self) -> builtins.int: ...
    def is_shared(self) -> builtins.bool: ...
    def __len__(self) -> builtins.int: ...
"""

TENSOR = """\
    dtype: _dtype
    device: _device_class
    layout: _layout
    shape: Size
    data: Tensor
    grad: Tensor | None
    grad_fn: Any
    requires_grad: builtins.bool
    is_leaf: builtins.bool
    ndim: builtins.int
    itemsize: builtins.int
    nbytes: builtins.int
    T: Tensor
    mT: Tensor
    H: Tensor
    mH: Tensor
    real: Tensor
    imag: Tensor
    is_cuda: builtins.bool
    is_cpu: builtins.bool
    is_meta: builtins.bool
    is_sparse: builtins.bool
    is_sparse_csr: builtins.bool
    is_quantized: builtins.bool
    __hash__: ClassVar[Callable[[Tensor], builtins.int]]  # type: ignore[assignment]
    def __init__(self, *args: Any, device: Any = None) -> None: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Tensor | Number) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, element: Tensor | Number) -> builtins.bool: ...
    def __bool__(self) -> builtins.bool: ...
    def __int__(self) -> builtins.int: ...
    def __float__(self) -> builtins.float: ...
    def __complex__(self) -> builtins.complex: ...
    def __index__(self) -> builtins.int: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
    @overload
    def size(self) -> Size: ...
    @overload
    def size(self, dim: builtins.int) -> builtins.int: ...
    @overload
    def stride(self) -> builtins.tuple[builtins.int, ...]: ...
    @overload
    def stride(self, dim: builtins.int) -> builtins.int: ...
    def item(self) -> Any: ...
    def tolist(self) -> Any: ...
    def numpy(self, *, force: builtins.bool = False) -> Any: ...
    def numel(self) -> builtins.int: ...
    def dim(self) -> builtins.int: ...
    def data_ptr(self) -> builtins.int: ...
    def element_size(self) -> builtins.int: ...
    def storage_offset(self) -> builtins.int: ...
    def is_contiguous(self, memory_format: _memory_format = ...) -> builtins.bool: ...
    def is_floating_point(self) -> builtins.bool: ...
    def is_complex(self) -> builtins.bool: ...
    def is_shared(self) -> builtins.bool: ...
    def backward(self, gradient: Tensor | None = None, retain_graph: builtins.bool | None = None, create_graph: builtins.bool = False, inputs: Any = None) -> None: ...
    def requires_grad_(self, requires_grad: builtins.bool = True) -> Self: ...
    def register_hook(self, hook: Callable[[Tensor], Any]) -> Any: ...
    def retain_grad(self) -> None: ...
    def detach_(self) -> Self: ...
    def to(self, *args: Any, **kwargs: Any) -> Self: ...
    def cpu(self) -> Self: ...
    def cuda(self, device: Any = None, non_blocking: builtins.bool = False) -> Self: ...
    def share_memory_(self) -> Self: ...
    def untyped_storage(self) -> UntypedStorage: ...
    def get_device(self) -> builtins.int: ...
    @overload
    def type(self, dtype: None = None) -> builtins.str: ...
    @overload
    def type(self, dtype: Any, non_blocking: builtins.bool = False) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor: ...
    def new_tensor(self, data: Any, *, dtype: _dtype | None = None, device: _device | None = None, requires_grad: builtins.bool = False) -> Tensor: ...
    def new(self, *args: Any) -> Tensor: ...
    def fft(self, signal_ndim: builtins.int, normalized: builtins.bool = False) -> Tensor: ...
    def ifft(self, signal_ndim: builtins.int, normalized: builtins.bool = False) -> Tensor: ...
    def rfft(self, signal_ndim: builtins.int, normalized: builtins.bool = False, onesided: builtins.bool = True) -> Tensor: ...
    def irfft(self, signal_ndim: builtins.int, normalized: builtins.bool = False, onesided: builtins.bool = True, signal_sizes: Any = None) -> Tensor: ...
    def __array__(self, dtype: Any = None) -> Any: ...
    def __dlpack__(self, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> builtins.tuple[builtins.int, builtins.int]: ...
"""
CASTS = ["float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "cfloat", "cdouble"]
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"]
ORDERED = ["lt", "le", "gt", "ge"]

MODULE = """\
def tensor(data: Any, *, dtype: _dtype | None = None, device: _device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor: ...
def as_tensor(data: Any, dtype: _dtype | None = None, device: _device | None = None) -> Tensor: ...
def from_numpy(ndarray: Any) -> Tensor: ...
def from_dlpack(ext_tensor: Any) -> Tensor: ...
def frombuffer(buffer: Any, *, dtype: _dtype, count: builtins.int = -1, offset: builtins.int = 0, requires_grad: builtins.bool = False) -> Tensor: ...
def asarray(obj: Any, *, dtype: _dtype | None = None, device: _device | None = None, copy: builtins.bool | None = None, requires_grad: builtins.bool = False) -> Tensor: ...
def manual_seed(seed: builtins.int) -> Generator: ...
def initial_seed() -> builtins.int: ...
def seed() -> builtins.int: ...
def get_rng_state() -> Tensor: ...
def set_rng_state(new_state: Tensor) -> None: ...
def get_num_threads() -> builtins.int: ...
def set_num_threads(threads: builtins.int) -> None: ...
def get_default_dtype() -> _dtype: ...
def set_default_dtype(d: _dtype) -> None: ...
def is_tensor(obj: object) -> builtins.bool: ...
"""

WRITTEN = {a or b for a, b in re.findall(r"def (\w+)|^    (\w+):", TENSOR, re.M)} | set(CASTS)
FUNCTIONS = set(re.findall(r"^def (\w+)", MODULE, re.M))
KEYWORDS = {"from", "lambda", "in", "is", "not", "and", "or", "if", "else"}


def split(text: str) -> list[str]:
    """Cut at the commas that are outside brackets and quotes.

    >>> split("Tensor self, int[2] dims=[0, 1], str mode='a,b'")
    ['Tensor self', 'int[2] dims=[0, 1]', "str mode='a,b'"]
    """
    return [part.strip() for part in re.findall(r"(?:\[[^\]]*\]|\([^)]*\)|'[^']*'|[^,])+", text) if part.strip()]


def kind(text: str, variadic: bool = False) -> str:
    """A kind of the schema as Python's type.

    >>> kind("Tensor?"), kind("Tensor(a!)"), kind("int[2]"), kind("int[]")
    ('Tensor | None', 'Tensor', 'builtins.int | Sequence[builtins.int]', 'Sequence[builtins.int]')
    >>> kind("int[]?")
    'builtins.int | Sequence[builtins.int] | None'
    """
    text = re.sub(r"\([a-z]!?\)", "", text)
    if text.endswith("?"):
        sure = kind(text[:-1])
        if sure == "Sequence[builtins.int]":  # dims: one may stand for a list of one
            sure = f"builtins.int | {sure}"
        return f"{sure} | None"
    if listed := re.fullmatch(r"(\w+)\[(\d*)\]", text):
        if listed[1] == "Tensor":
            return "Sequence[Tensor]"
        many = f"Sequence[{KINDS[listed[1]]}]"
        return f"{KINDS[listed[1]]} | {many}" if listed[2] else many
    return KINDS[text]


def result(schema: str, named: dict[str, str]) -> str:
    """The type that a row returns; results with names become a class of their own."""
    text = re.sub(r"\([a-z]!?\)", "", schema.split(" -> ")[1].strip())
    if not text.startswith("("):
        return RESULTS.get(text) or kind(text)
    fields = [part.split() for part in split(text[1:-1])]
    if not fields:
        return "None"
    if any(len(f) < 2 for f in fields):
        return f"builtins.tuple[{', '.join(kind(f[0]) for f in fields)}]"
    name = "_" + "_".join(f[1] for f in fields)
    named[name] = f"class {name}(NamedTuple):\n" + "".join(f"    {f[1]}: {kind(f[0])}\n" for f in fields)
    return name


def signatures(schema: str, spoken: str, method: bool) -> list[str]:
    """Parameter lists of a row: names and order as the parser takes them, types from the schema.

    >>> signatures("f(Tensor self, int[] size, *, bool keep=False) -> Tensor", "(input, size, *, keep=False)", True)
    ['self, size: Sequence[builtins.int], *, keep: builtins.bool = False', 'self, *size: builtins.int, keep: builtins.bool = False']
    """
    kinds = [
        part.split("=")[0].split()[0]
        for part in split(schema[schema.index("(") + 1 : schema.index(") -> ")])
        if part != "*"
    ]
    names = split(spoken[1:-1])
    typed, at = [], 0
    taken = False
    for name in names:
        if name == "*":
            typed.append("*")
            continue
        plain, _, default = name.partition("=")
        if plain in KEYWORDS:
            plain = "_" + plain
        extra = at >= len(kinds)
        if (
            not extra
            and method
            and not taken
            and re.fullmatch(r"(Tensor(\(\w!?\))?|Number)", kinds[at])
            and plain in ("input", "self")
        ):
            typed.append("self")
            taken = True
        elif extra:
            typed.append(f"{plain}: {EXTRA.get(plain, 'Any')} = {default}")
        else:
            text = kind(kinds[at])
            if default == "None" and "None" not in text:
                text += " | None"
            default = re.sub(r"^\[.*\]$|^float\(.*\)$", "...", default)
            typed.append(f"{plain}: {text}" + (f" = {default}" if default else ""))
        at += 1
    found = [", ".join(typed)]
    first = typed[1] if method and taken and len(typed) > 1 else typed[0] if typed else ""
    if first.endswith(": Sequence[builtins.int]"):  # view(2, 3) as well as view((2, 3))
        spread = [t if t != first else f"*{first.split(':')[0]}: builtins.int" for t in typed if t != "*"]
        found.append(", ".join(spread))
    return found


def functions(name: str, operator, method: bool, named: dict[str, str], indent: str = "") -> list[str]:
    """The lines that declare one operator, an overload for each way to call it."""
    own = operator.__name__  # of an alias, the name of the operator behind it
    spoken = [line[len(own) :] for line in (operator.__doc__ or "").splitlines() if line.startswith(own + "(")]
    declared = []
    for schema, text in zip(operator.schemas, spoken):
        returned = result(schema, named)
        if method and name.endswith("_") and not name.endswith("__"):
            returned = "Self"
        for signature in signatures(schema, text, method):
            if method and not signature.startswith("self"):
                continue
            declared.append(f"{indent}def {name}({signature}) -> {returned}: ...")
    declared = list(dict.fromkeys(declared))
    return [line for d in declared for line in ([f"{indent}@overload", d] if len(declared) > 1 else [d])]


def by_hand(name: str, value, method: bool, indent: str = "") -> str:
    """The declaration of something that is not a row, as far as Python can tell."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        parameters = None
    if parameters is None or (method and (not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY)):
        start = "self, " if method else ""
        return f"{indent}def {name}({start}*args: Any, **kwargs: Any) -> Any: ..."
    typed, star = [], False
    for i, p in enumerate(parameters):
        if method and i == 0:
            typed.append("self")
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            typed.append("*")
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        lead = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        typed.append(f"{lead}{p.name}: Any" + ("" if p.default is p.empty or lead else " = ..."))
    return f"{indent}def {name}({', '.join(typed)}) -> Any: ..."


def tensor_lines(torch, named: dict[str, str]) -> list[str]:
    lines = ["class Tensor:", TENSOR.rstrip("\n")]
    for name in BINARY:
        lines += [f"    def __{side}{name}__(self, other: Any) -> Tensor: ..." for side in ("", "r", "i")]
    lines += [f"    def __{name}__(self, other: Any) -> Tensor: ..." for name in ORDERED]
    lines += [f"    def {name}(self) -> Tensor: ..." for name in CASTS]
    for name in sorted(vars(torch.Tensor)):
        if name.startswith("_") or name in WRITTEN:
            continue
        value = inspect.getattr_static(torch.Tensor, name)
        if hasattr(value, "schemas"):
            lines += functions(name, value, True, named, "    ")
        elif isinstance(value, property) or inspect.isgetsetdescriptor(value) or not callable(value):
            lines.append(f"    {name}: Any")
        else:
            lines.append(by_hand(name, value, True, "    "))
    return lines


def stub(torch) -> str:
    """The whole text, for an imported torch."""
    from torch import _parts

    named: dict[str, str] = {}
    tensor = tensor_lines(torch, named)
    lines = [MODULE]
    names = [n for n in [*vars(torch), *_parts.LAZY] if not n.startswith("_") and n not in FUNCTIONS]
    done = {
        "Tensor",
        "dtype",
        "layout",
        "memory_format",
        "device",
        "Size",
        "Generator",
        "UntypedStorage",
        *_parts.PARTS,
    }
    modules = [f"from . import {m} as {m}" for m in _parts.MODULES if find_spec(f"torch.{m}")]
    for name in sorted(set(names) - done):
        value = getattr(torch, name)
        if inspect.ismodule(value):
            continue
        if hasattr(value, "schemas"):
            lines += functions(name, value, False, named)
        elif isinstance(value, type):
            bases = (
                "RuntimeError"
                if issubclass(value, RuntimeError)
                else "Tensor"
                if issubclass(value, torch.Tensor)
                else ""
            )
            lines.append(f"class {name}({bases}):" if bases else f"class {name}:")
            if not bases:
                lines.append("    def __init__(self, *args: Any, **kwargs: Any) -> None: ...")
                lines.append("    def __getattr__(self, name: builtins.str) -> Any: ...")
            lines.append("    ...\n")
        elif callable(value):
            lines.append(by_hand(name, value, False))
        else:
            owner = type(value).__name__
            known = (
                owner
                if owner in done
                else f"builtins.{owner}"
                if type(value).__module__ == "builtins" and value is not None
                else "Any"
            )
            lines.append(f"{name}: {known}")
    lines += [f"{t}Tensor: Any" for t in _parts.TYPED if f"{t}Tensor" not in names]
    parts = [f"from . import {part} as {part}" for part in _parts.PARTS]
    parts += [f"from .{part} import {name} as {name}" for name, part in _parts.ATTRIBUTES.items()]
    version = "__version__: builtins.str\n__all__: builtins.list[builtins.str]\n"
    imports = "\n".join(sorted([*parts, *modules]))
    body = "\n".join([CLASSES, *sorted(named.values()), *tensor, "", *lines])
    return f"{HEADER}\n{imports}\n\n{version}\n{body}\n"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    import torch

    Path(sys.argv[1]).write_text(stub(torch))


if __name__ == "__main__":
    main()
