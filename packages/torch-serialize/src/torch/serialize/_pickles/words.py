"""The names that every file may use: what each may be given, and what comes of it.

This table is all that the data-only reader knows of calls. A name that is not in it, and that the user did not allow
(`safe`), is refused; a call that gives a name something else is refused before anything is made. In the second column
a word is a kind of argument (`KINDS`), ``a|b`` one of two kinds, and brackets may be left out. ``-`` stands for a
class that is data, such as the kind of a tensor, and is not called. `globals` and `numpy_pickles` have the functions
whose names stand in the last column; what a file may change after it was made is in `rules`.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

from .._errors import brief
from .plain import as_bytearray, as_text, encode


class Mark:
    """What a compiler had noted at a tensor: nothing here follows from it."""

    def __setstate__(self, state):
        pass


TABLE: tuple[tuple[str, str, str, Any], ...] = (
    # name, what it is given, what comes of it, what makes that
    ("builtins.list", "[series]", "list", list),
    ("builtins.tuple", "[series]", "tuple", tuple),
    ("builtins.set", "[keys]", "set", set),
    ("builtins.frozenset", "[keys]", "frozenset", frozenset),
    ("builtins.dict", "[pairs]", "dict", dict),
    ("builtins.bytes", "", "bytes", bytes),
    ("builtins.bytearray", "[text|bytes] [text]", "bytearray", as_bytearray),
    ("builtins.str", "[text]", "text", as_text),
    ("torch.torch_version.TorchVersion", "text", "text", as_text),
    ("builtins.int", "[number]", "int", int),
    ("builtins.float", "[number]", "float", float),
    ("builtins.bool", "[number]", "flag", bool),
    ("builtins.complex", "[real] [real]", "complex", complex),
    ("builtins.slice", "edge [edge] [edge]", "slice", slice),
    ("builtins.getattr", "any text", "class", "member"),  # how protocols below 4 name a class within a class
    ("_codecs.encode", "text [text]", "bytes", encode),
    ("collections.OrderedDict", "[pairs]", "dict", collections.OrderedDict),
    ("collections.Counter", "[dict]", "dict", collections.Counter),
    ("collections.defaultdict", "[factory] [pairs]", "dict", collections.defaultdict),
    ("collections.deque", "[series] [length]", "deque", collections.deque),
    ("torch._utils._rebuild_tensor", "storage int dims dims", "tensor", "rebuild_tensor"),
    ("torch._utils._rebuild_tensor_v2", "storage int dims dims flag hooks [metadata]", "tensor", "rebuild_tensor_v2"),
    ("torch._utils._rebuild_tensor_v3", "storage int dims dims flag hooks dtype [metadata]", "tensor", "rebuild_tensor_v3"),
    ("torch._utils._rebuild_parameter", "tensor flag hooks", "tensor", "rebuild_parameter"),
    ("torch._utils._rebuild_parameter_with_state", "tensor flag hooks state", "tensor", "rebuild_parameter_with_state"),
    ("torch._utils._rebuild_sparse_tensor", "layout sparse", "tensor", "rebuild_sparse_tensor"),
    ("torch._utils._rebuild_device_tensor_from_numpy", "array any any flag", "tensor", "rebuild_from_numpy"),
    ("torch._tensor._rebuild_from_type_v2", "function class args state", "tensor", "rebuild_from_type"),
    ("torch._utils._rebuild_meta_tensor_no_storage", "dtype dims dims flag", "tensor", "rebuild_meta_tensor"),
    ("torch._utils._rebuild_qtensor", "storage int dims dims quantizer flag hooks", "tensor", "rebuild_qtensor"),
    ("torch._utils._rebuild_nested_tensor", "tensor tensor tensor tensor", "tensor", "rebuild_nested"),
    ("torch.nested._internal.nested_tensor._rebuild_njt", "dict", "tensor", "rebuild_jagged"),
    ("torch.nested._internal.nested_tensor.NestedTensor", "-", "tensor", None),
    ("torch._dynamo.decorators._DimRange", "", "mark", Mark),  # among attributes of a jagged tensor's lengths
    ("torch._utils._rebuild_wrapper_subclass", "class dtype dims dims int layout any flag", "tensor", "rebuild_wrapper"),
    ("torch.serialization._get_layout", "text", "layout", "layout"),
    ("torch.storage._load_from_bytes", "bytes", "any", "nested"),
    ("torch.Size", "[dims]", "dims", "size"),
    ("torch.device", "text [index]", "device", "device"),
    ("torch.Tensor", "tensor", "tensor", "variable"),
    ("torch._tensor.Tensor", "tensor", "tensor", "variable"),
    ("torch.tensor.Tensor", "tensor", "tensor", "variable"),
    ("torch.autograd.variable.Variable", "tensor", "tensor", "variable"),
    ("torch.nn.parameter.Parameter", "tensor [flag]", "tensor", "parameter"),
    ("torch.nn.parameter.Buffer", "-", "tensor", None),
    ("numpy.ndarray", "-", "array", None),
    ("numpy.dtype", "text [flag] [flag]", "npdtype", "dtype"),
    ("numpy.core.multiarray._reconstruct", "ndarray dims any", "array", "reconstruct"),
    ("numpy._core.multiarray._reconstruct", "ndarray dims any", "array", "reconstruct"),
    ("numpy.core.multiarray.scalar", "npdtype bytes|text", "scalar", "scalar"),
    ("numpy._core.multiarray.scalar", "npdtype bytes|text", "scalar", "scalar"),
    ("numpy.core.numeric._frombuffer", "bytes|bytearray npdtype dims text", "array", "frombuffer"),
    ("numpy._core.numeric._frombuffer", "bytes|bytearray npdtype dims text", "array", "frombuffer"),
)  # fmt: skip

SERIES = frozenset({list, tuple, set, frozenset, collections.deque})
NESTING = (collections.deque, collections.defaultdict)  # types whose chains Python frees by recursion
_FACTORIES = (None, list, dict, set, int, float, str, tuple, bool)
_FAR, _MAX_DIMS = 1 << 63, 64
_MAX_DIGITS = 400


class Kind(NamedTuple):
    """A kind of argument: `fits(obj)` looks at nothing but types and built-in values; a `sized` one is copied, and paid for by
    its length; a `hashed` one becomes keys."""

    fits: Callable[[Any], bool]
    sized: bool = False
    hashed: bool = False


def _of(*types: type) -> Callable[[Any], bool]:
    return lambda obj: type(obj) in types


def is_int(obj) -> bool:
    return type(obj) is int and -_FAR <= obj < _FAR


def is_dims(obj) -> bool:
    """Whether these are sizes or strides: a tuple, also a torch.Size, or a list."""
    return (type(obj) in (tuple, list) or _is_size(type(obj))) and len(obj) <= _MAX_DIMS and all(map(is_int, obj))


def _is_size(kind: type) -> bool:
    return kind.__base__ is tuple and kind.__name__ == "Size" and kind.__module__ == "torch"


def _is_pairs(obj) -> bool:
    return type(obj) is dict or (
        type(obj) in SERIES and all(type(pair) in (tuple, list) and len(pair) == 2 for pair in obj)
    )


def _is_number(obj) -> bool:
    return type(obj) in (int, float, bool) or (type(obj) is str and len(obj) <= _MAX_DIGITS)


def _is_hooks(obj) -> bool:
    return obj is None or type(obj) in (dict, collections.OrderedDict)


def _is_metadata(obj) -> bool:
    return obj is None or (
        type(obj) is dict and obj.keys() <= {"conj", "neg"} and all(type(value) is bool for value in obj.values())
    )


def _is_state(obj) -> bool:
    parts = obj if type(obj) is tuple and len(obj) == 2 else (obj,)
    return all(part is None or type(part) is dict for part in parts)


# Kinds that do not depend on what tensors are; `globals` adds those that do.
KINDS: dict[str, Kind] = {
    "any": Kind(lambda obj: True),
    "int": Kind(is_int),
    "index": Kind(lambda obj: type(obj) is int and 0 <= obj < 1 << 15),
    "length": Kind(lambda obj: obj is None or (type(obj) is int and 0 <= obj < _FAR)),
    "edge": Kind(lambda obj: obj is None or type(obj) in (int, float, str, bool)),
    "flag": Kind(_of(bool)),
    "number": Kind(_is_number),
    "real": Kind(_of(int, float, bool)),
    "text": Kind(_of(str), sized=True),
    "bytes": Kind(_of(bytes), sized=True),
    "bytearray": Kind(_of(bytearray), sized=True),
    "dims": Kind(is_dims),
    "series": Kind(lambda obj: type(obj) in SERIES, sized=True),
    "keys": Kind(lambda obj: type(obj) in SERIES, sized=True, hashed=True),
    "pairs": Kind(_is_pairs, sized=True, hashed=True),
    "dict": Kind(_of(dict), sized=True),
    "factory": Kind(lambda obj: any(obj is factory for factory in _FACTORIES)),
    "class": Kind(lambda obj: isinstance(obj, type) or (type(obj) is Word and obj.takes in ("-", "tensor", "tensor [flag]"))),
    "args": Kind(_of(tuple)),
    "hooks": Kind(_is_hooks),
    "metadata": Kind(_is_metadata),
    "state": Kind(_is_state),
}  # fmt: skip


class Refused(Exception):
    """A word was given what it does not take."""


class Word:
    """A row of the table in the hands of one reader: `make(*args)` after a look at the arguments.

    A file holds the word itself where its name stands for a function, so nothing that can be called gets out, and
    `value` where it stands for a class. `proven(storage, offset, size, stride, requires_grad)` makes what arguments
    give that were checked when they were read.
    """

    __slots__ = ("_kinds", "_least", "make", "name", "proven", "takes", "value")

    def __init__(self, name: str, takes: str, make: Callable | None, kinds: dict[str, Kind], value=None):
        self.name = name
        self.takes = takes
        self.make = make
        self.value = self if value is None else value
        self.proven: Callable | None = None
        wanted = [part.strip("[]") for part in takes.split()]
        self._least = sum(not part.startswith("[") for part in takes.split())
        self._kinds = [[(part, kinds[part]) for part in one.split("|")] for one in wanted if one not in ("...", "-")]

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def made(self, args: tuple, pay: Callable[[int], None], check_keys: Callable[[Any, Any], Any]):
        """What the word makes of `args`, or `Refused`; `pay` and `check_keys` are those of `rules`."""
        if self.make is None:
            raise Refused(f"it calls {self.name}, which is data here")
        if not args and self._least == 0:
            return self.make()
        if self.takes != "...":
            self.check(args, pay, check_keys)
        return self.make(*args)

    def check(self, args: tuple, pay, check_keys) -> None:
        """Raises unless every argument is of its kind; pays for those that are copied."""
        if not self._least <= len(args) <= len(self._kinds):
            raise Refused(f"it gives {self.name} {len(args)} arguments; it takes: {self.takes or 'none'}")
        for i, (arg, kinds) in enumerate(zip(args, self._kinds)):
            for _, kind in kinds:
                if kind.fits(arg):
                    break
            else:
                raise Refused(f"it gives {self.name} {brief(arg)} as argument {i + 1}; it takes: {self.takes}")
            if kind.sized:
                pay(len(arg))
            if kind.hashed:  # keys of a dict as well: an OrderedDict hashes them once more
                pairs = kinds[0][0] == "pairs"
                check_keys(
                    [pair[0] for pair in arg] if pairs and type(arg) is not dict else arg, {} if pairs else set()
                )


# The words of plain Python, which are the same for all readers, by name. Types among them are data too.
PLAIN = {
    name: Word(name, takes, make if callable(make) else None, KINDS, make if isinstance(make, type) else None)
    for name, takes, _, make in TABLE
    if callable(make)
}
for _name, _kind in (("str", str), ("bytearray", bytearray)):
    PLAIN[f"builtins.{_name}"].value = _kind
PLAIN["builtins.getattr"] = Word("builtins.getattr", "any text", None, KINDS)  # by `rules`, which knows the classes
