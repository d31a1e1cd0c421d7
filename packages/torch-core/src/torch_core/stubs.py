"""Writes torch/__init__.pyi from the operators' rows: the schema is the only place where a signature is typed.

    python -m torch_core.stubs torch/__init__.pyi

writes the stubs of torch.fft, torch.linalg and torch.special, whose operators are rows too, into the same folder. What is
not a row (constructors, settings, methods written in Python) is taken from the living module with its annotations; the few
names whose types users lean on and which have none are written out in TENSOR and MODULE below.
"""

import inspect
import re
import sys
from importlib.util import find_spec
from pathlib import Path

HEADER = '''\
"""Written by torch_core.stubs from the rows of the operators; changes here are lost."""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, Literal, NamedTuple, SupportsIndex, overload

import numpy as _numpy
from typing_extensions import Self, TypeIs

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
    def item(self) -> builtins.int | builtins.float | builtins.bool: ...
    def tolist(self) -> builtins.list[Any]: ...
    def numpy(self, *, force: builtins.bool = False) -> _numpy.ndarray[Any, Any]: ...
    def where(self, condition: Tensor, other: Tensor | Number) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> builtins.tuple[Tensor, ...]: ...
    def apply_(self, callable: Callable[[Any], Any]) -> Self: ...
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Self: ...
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Self: ...
    def pin_memory(self, device: _device | None = None) -> Tensor: ...
    def set_(self, source: Any = None, storage_offset: builtins.int = 0, size: Any = None, stride: Any = None) -> Self: ...
    def storage(self) -> _storage.TypedStorage: ...
    def storage_type(self) -> builtins.type[Any]: ...
    def element_size(self) -> builtins.int: ...
    def nelement(self) -> builtins.int: ...
    def ndimension(self) -> builtins.int: ...
    def dim_order(self) -> builtins.tuple[builtins.int, ...]: ...
    def is_conj(self) -> builtins.bool: ...
    def is_neg(self) -> builtins.bool: ...
    def is_inference(self) -> builtins.bool: ...
    def is_nonzero(self) -> builtins.bool: ...
    def is_pinned(self) -> builtins.bool: ...
    def is_same_size(self, other: Tensor) -> builtins.bool: ...
    def is_set_to(self, tensor: Tensor) -> builtins.bool: ...
    def is_signed(self) -> builtins.bool: ...
    def is_distributed(self) -> builtins.bool: ...
    def to_sparse_coo(self) -> Tensor: ...
    def to_sparse_csr(self, dense_dim: builtins.int | None = None) -> Tensor: ...
    def to_sparse_csc(self, dense_dim: builtins.int | None = None) -> Tensor: ...
    def to_sparse_bsr(self, blocksize: Any, dense_dim: builtins.int | None = None) -> Tensor: ...
    def to_sparse_bsc(self, blocksize: Any, dense_dim: builtins.int | None = None) -> Tensor: ...
    def resize_as(self, tensor: Tensor) -> Tensor: ...
    def resize(self, *sizes: builtins.int) -> Tensor: ...
    def reinforce(self, reward: Any) -> None: ...
    def __deepcopy__(self, memo: Any) -> Self: ...
    def __reversed__(self) -> Tensor: ...
    def __rdiv__(self, other: Any) -> Tensor: ...
    def numel(self) -> builtins.int: ...
    def dim(self) -> builtins.int: ...
    def data_ptr(self) -> builtins.int: ...
    def storage_offset(self) -> builtins.int: ...
    def is_contiguous(self, memory_format: _memory_format = ...) -> builtins.bool: ...
    def is_floating_point(self) -> builtins.bool: ...
    def is_complex(self) -> builtins.bool: ...
    def is_shared(self) -> builtins.bool: ...
    def backward(self, gradient: Tensor | None = None, retain_graph: builtins.bool | None = None, create_graph: builtins.bool = False, inputs: Any = None) -> None: ...
    def requires_grad_(self, requires_grad: builtins.bool = True) -> Self: ...
    def register_hook(self, hook: Callable[[Tensor], Any]) -> Any: ...
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], Any]) -> Any: ...
    is_ipu: builtins.bool
    is_maia: builtins.bool
    is_mkldnn: builtins.bool
    is_mps: builtins.bool
    is_mtia: builtins.bool
    is_nested: builtins.bool
    is_vulkan: builtins.bool
    is_xla: builtins.bool
    is_xpu: builtins.bool
    output_nr: builtins.int
    retains_grad: builtins.bool
    name: builtins.str | None
    volatile: builtins.bool
    _backward_hooks: Any
    _base: Tensor | None
    _grad: Tensor | None
    _version: builtins.int
    def retain_grad(self) -> None: ...
    def detach_(self) -> Self: ...
    def to(self, *args: Any, **kwargs: Any) -> Self: ...
    def cpu(self, memory_format: _memory_format = ...) -> Self: ...
    def cuda(self, device: Any = None, non_blocking: builtins.bool = False, memory_format: _memory_format = ...) -> Self: ...
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
CASTS = [
    "chalf",
    "float",
    "double",
    "half",
    "bfloat16",
    "int",
    "long",
    "short",
    "char",
    "byte",
    "bool",
    "cfloat",
    "cdouble",
]
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"]
ORDERED = ["lt", "le", "gt", "ge"]

MODULE = """\
def tensor(data: Any, *, dtype: _dtype | None = None, device: _device | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor: ...
def as_tensor(data: Any, dtype: _dtype | None = None, device: _device | None = None) -> Tensor: ...
def from_numpy(ndarray: Any) -> Tensor: ...
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: builtins.bool | None = None) -> Tensor: ...
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
def is_tensor(obj: object) -> TypeIs[Tensor]: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Any = None) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> builtins.tuple[Tensor, ...]: ...
def size(input: Tensor, dim: builtins.int | None = None) -> Any: ...
def stride(input: Tensor, dim: builtins.int | None = None) -> Any: ...
def is_signed(input: Tensor) -> builtins.bool: ...
def is_conj(input: Tensor) -> builtins.bool: ...
def is_neg(input: Tensor) -> builtins.bool: ...
def is_inference(input: Tensor) -> builtins.bool: ...
def is_distributed(input: Tensor) -> builtins.bool: ...
def get_device(input: Tensor) -> builtins.int: ...
def set_default_tensor_type(t: Any) -> None: ...
class finfo:
    bits: builtins.int
    dtype: builtins.str
    eps: builtins.float
    max: builtins.float
    min: builtins.float
    resolution: builtins.float
    smallest_normal: builtins.float
    tiny: builtins.float
    def __init__(self, type: _dtype = ...) -> None: ...
class iinfo:
    bits: builtins.int
    dtype: builtins.str
    max: builtins.int
    min: builtins.int
    def __init__(self, type: _dtype) -> None: ...
"""

# Operators that take their tensors one by one as well: meshgrid(x, y).
SPREAD = {"meshgrid", "broadcast_tensors", "block_diag", "cartesian_prod", "align_tensors"} | {
    f"atleast_{n}d" for n in (1, 2, 3)
}
# Functions that Python makes in a loop, by the module that does; and those of them that give several tensors.
MADE = {"torch._copies", "torch._sparse_tensors", "torch._misc", "torch._foreach"}
SEVERAL = re.compile(r"_foreach_.*[^_]|(unsafe_)?(split|split_with_sizes|unbind|chunk)(_copy)?")
MODULES = ["fft", "linalg", "special"]

WRITTEN = {a or b for a, b in re.findall(r"def (\w+)|^    (\w+):", TENSOR, re.M)} | set(CASTS)
FUNCTIONS = set(re.findall(r"^(?:def|class) (\w+)", MODULE, re.M))
KNOWN = {"builtins", "Any", "Callable", "Iterable", "Iterator", "Literal", "Mapping", "None", "Sequence"} | {
    "Generator", "ModuleType", "Size", "Tensor", "UntypedStorage",
}  # fmt: skip
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
    if text_of_first := re.fullmatch(r"(\w+): Sequence\[Tensor\]", typed[0] if typed else ""):
        if schema.partition("(")[0] in SPREAD:
            typed[0] = f"*{text_of_first[1]}: Tensor | Sequence[Tensor]"
            typed = [t for t in typed if t != "*"]
            return [", ".join(typed)]
    found = [", ".join(typed)]
    first = typed[1] if method and taken and len(typed) > 1 else typed[0] if typed else ""
    if first.endswith(": Sequence[builtins.int]"):  # view(2, 3) as well as view((2, 3))
        spread = [t if t != first else f"*{first.split(':')[0]}: builtins.int" for t in typed if t != "*"]
        found.append(", ".join(spread))
    return found


def functions(name: str, operator, method: bool, named: dict[str, str], indent: str = "") -> list[str]:
    """The lines that declare one operator, an overload for each way to call it."""
    own = operator.__name__  # of an alias, the name of the operator behind it
    spoken = [line[len(own) :] for line in operator._text.splitlines() if line.startswith(own + "(")]
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
        default = "" if p.default is p.empty or lead else " = ..."
        typed.append(f"{lead}{p.name}: {spelled(p.annotation)}{default}")
    returned = spelled(getattr(value, "__annotations__", {}).get("return"))
    if returned == "Any" and getattr(value, "__module__", "") in MADE:
        returned = "builtins.tuple[Tensor, ...]" if SEVERAL.fullmatch(name) else "Tensor"
    return f"{indent}def {name}({', '.join(typed)}) -> {returned}: ..."


def spelled(annotation) -> str:
    """An annotation as it is written inside the stub, where ``torch.int`` hides ``int``; Any for what has none.

    >>> spelled("int | Sequence[int] | None"), spelled("torch.dtype | None"), spelled("Mystery")
    ('builtins.int | Sequence[builtins.int] | None', '_dtype | None', 'Any')
    """
    if not isinstance(annotation, str):
        return "Any"
    text = annotation.replace("torch.device | str | int", "_device")
    text = re.sub(r"\btorch\.device\b", "_device_class", text)
    text = re.sub(r"\btorch\.(dtype|layout|memory_format)\b", r"_\1", text).replace("torch.", "")
    text = re.sub(
        r"(?<![\w.'\"])(int|float|bool|str|complex|list|tuple|dict|type|object|bytes)\b", r"builtins.\1", text
    )
    names = set(re.findall(r"(?<![\w.])[A-Za-z]\w*", re.sub(r"'[^']*'|\"[^\"]*\"", "", text)))
    return "Any" if names - KNOWN else text


def written_in_python(cls: type) -> bool:
    """Whether a type checker finds the class where it says it is from."""
    home = sys.modules.get(cls.__module__)
    found = cls.__module__.startswith("torch.") and getattr(home, cls.__name__, None) is cls
    return found and (getattr(home, "__file__", None) or "").endswith(".py") and "<locals>" not in cls.__qualname__


def tensor_lines(torch, named: dict[str, str]) -> list[str]:
    lines = ["class Tensor:", TENSOR.rstrip("\n")]
    for name in BINARY:
        sides = {"": "Tensor", "r": "Tensor", "i": "Self"}
        lines += [f"    def __{side}{name}__(self, other: Any) -> {what}: ..." for side, what in sides.items()]
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
    from torch import _names, _parts

    named: dict[str, str] = {}
    tensor = tensor_lines(torch, named)
    lines = [MODULE]
    names = [n for n in [*vars(torch), *_names.LAZY] if not n.startswith("_") and n not in FUNCTIONS]
    held = list(vars(torch).items())  # a module that loads what it is asked for may add names here
    names += [n for n, v in held if n.startswith("_") and not inspect.ismodule(v) and hasattr(v, "schemas")]
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
        *MODULES,
    }
    modules = [f"from . import {m} as {m}" for m in _names.MODULES if find_spec(f"torch.{m}")]
    for name in sorted(set(names) - done):
        try:
            value = getattr(torch, name)
        except ImportError:  # made of a class of another distribution, which does not have to be there
            lines.append(f"{name}: Any")
            continue
        if inspect.ismodule(value):
            continue
        if hasattr(value, "schemas"):
            lines += functions(name, value, False, named)
        elif isinstance(value, type) and written_in_python(value):
            lines.append(f"from {value.__module__.removeprefix('torch')} import {value.__name__} as {name}")
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
    lines += [f"{t}Tensor: Any" for t in _names.TYPED if f"{t}Tensor" not in names]
    parts = [f"from . import {part} as {part}" for part in _parts.PARTS]
    held = {
        name: f"{part}.functional" if name in _names.FUNCTIONAL else part for name, part in _names.ATTRIBUTES.items()
    }
    parts += [f"from .{module} import {name} as {name}" for name, module in held.items()]
    parts += ["from .utils import hub as hub", "from . import serialize as serialization"]
    version = "__version__: builtins.str\n__all__: builtins.list[builtins.str]\n"
    imports = "\n".join(sorted([*parts, *modules, "from . import storage as _storage"]))
    body = "\n".join([CLASSES, *sorted(named.values()), *tensor, "", *lines])
    return f"{HEADER}\n{imports}\n\n{version}\n{body}\n"


def of_module(module) -> str:
    """The stub of a module whose functions are rows."""
    named: dict[str, str] = {}
    lines = []
    for name, value in sorted(vars(module).items()):
        if hasattr(value, "schemas"):
            lines += functions(name, value, False, named)
        elif isinstance(value, type) and issubclass(value, Exception):
            lines.append(f"class {name}(RuntimeError): ...")
    if module.__name__ == "torch.fft":  # also the function of 2018
        lines.append(
            "def __call__(input: Tensor, signal_ndim: builtins.int, normalized: builtins.bool = False) -> Tensor: ..."
        )
    head = HEADER.partition("\nNumber")[0] + "\nfrom . import Generator, Number, Tensor\n"
    head += "from . import _device as _device, _dtype as _dtype, _layout as _layout, _memory_format as _memory_format\n"
    return head + "\n" + "\n".join([*sorted(named.values()), *lines]) + "\n"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    import torch

    out = Path(sys.argv[1])
    out.write_text(stub(torch))
    for name in MODULES:
        out.with_name(f"{name}.pyi").write_text(of_module(getattr(torch, name)))


if __name__ == "__main__":
    main()
