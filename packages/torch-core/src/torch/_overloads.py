"""Operators as ``torch.ops`` names them, an overload each: ``torch.ops.aten.add.Tensor``.

An operator of this stack sorts its arguments out itself; its overloads are names for calls of one kind, by which programs
with ``__torch_dispatch__`` tell them apart. Which name a call has follows from the arguments that it is given.
"""

from __future__ import annotations

import functools

from . import _C
from ._schemas import Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

#: names of operators that have one overload, which is not called "default"
FIXED = {
    "empty": "memory_format", "index": "Tensor", "scatter_reduce": "two", "scatter_reduce_": "two", "frexp": "Tensor",
    "transpose": "int", "select": "int", "slice": "Tensor", "unbind": "int", "unflatten": "int", "movedim": "intlist",
    "moveaxis": "intlist", "flatten": "using_ints", "ldexp": "Tensor", "result_type": "Tensor", "softmax": "int",
    "log_softmax": "int", "bucketize": "Tensor", "searchsorted": "Tensor", "isin": "Tensor_Tensor",
    "float_power": "Tensor_Tensor", "slice_backward": "default",
}  # fmt: skip

_NUMBER = "rsub eq ne lt le gt ge remainder fmod bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift lerp masked_fill fill"  # fmt: skip
#: the last operand of these is a tensor or a number, which names the overload
OPERAND = {name + suffix for name in _NUMBER.split() for suffix in ("", "_")}
#: here a number stands for a tensor
FIXED |= {name + suffix: "Tensor" for name in ("add", "sub", "mul") for suffix in ("", "_")}

#: what calls of some rows are called: products by the dims of what is multiplied
RENAMED = {"true_divide": "div", "true_divide_": "div_", "vector_norm": "linalg_vector_norm"}
PRODUCTS = {(2, 2): "mm", (2, 1): "mv", (1, 1): "dot"}

#: operator: which argument, when it is given, names which overload; the first that fits
BY_ARGUMENT = {
    "sum": (("dim", "dim_IntList"),), "mean": (("dim", "dim"),), "prod": (("dim", "dim_int"),),
    "nansum": (), "count_nonzero": (("dim", "dim_IntList"),),
    "any": (("dim", "dim"),), "all": (("dim", "dim"),),
    "max": (("other", "other"), ("dim", "dim")), "min": (("other", "other"), ("dim", "dim")),
    "median": (("dim", "dim"),), "nanmedian": (("dim", "dim"),),
    "var": (("correction", "correction"), ("dim", "dim")), "std": (("correction", "correction"), ("dim", "dim")),
    "var_mean": (("correction", "correction"), ("dim", "dim")), "std_mean": (("correction", "correction"), ("dim", "dim")),
    "norm": (("dtype", "ScalarOpt_dim_dtype"), ("dim", "ScalarOpt_dim"), ("p", "Scalar")),
    "squeeze": (("dim", "dim"),), "squeeze_": (("dim", "dim"),),
    "sort": (("stable", "stable"),), "argsort": (("stable", "stable"),),
    "round": (("decimals", "decimals"),), "round_": (("decimals", "decimals"),),
    "div": (("rounding_mode", "Tensor_mode"), ("", "Tensor")), "div_": (("rounding_mode", "Tensor_mode"), ("", "Tensor")),
    "where": (("self", "self"),), "split": (("split_size", "Tensor"),), "view": (("dtype", "dtype"),),
    "scatter": (("reduce", "reduce"), ("src", "src"), ("value", "value")),
    "scatter_": (("reduce", "reduce"), ("src", "src"), ("value", "value")),
    "repeat_interleave": (("dim", "self_int"), ("self", "self_int"), ("repeats", "Tensor")),
    "arange": (("step", "start_step"), ("start", "start")), "eye": (("m", "m"),),
    "linspace": (), "logspace": (), "tensor_split": (("indices", "indices"), ("sections", "sections")),
    "rand": (("generator", "generator"),), "randn": (("generator", "generator"),), "randperm": (("generator", "generator"),),
    "randint": (("low", "low"),), "bernoulli_": (("p", "float"),), "bernoulli": (("p", "p"),),
    "random_": (("from", "from"), ("to", "to")), "normal": (("std", "Tensor_Tensor"), ("mean", "Tensor_float")),
    "index_fill": (("value", "int_{}"),), "index_fill_": (("value", "int_{}"),), "quantile": (("q", "scalar"),),
    "set_": (("size", "source_Tensor_storage_offset"), ("source", "source_Tensor")),
}  # fmt: skip


#: schemas of what has no row and is seen by __torch_dispatch__
COMPOSED = {
    "_local_scalar_dense": ("_local_scalar_dense(Tensor self) -> Scalar",),
    "lift_fresh": ("lift_fresh(Tensor(a) self) -> Tensor(a)",),
    "lift_fresh_copy": ("lift_fresh_copy(Tensor self) -> Tensor",),
    "_softmax": ("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",),
    "_log_softmax": ("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",),
}

#: rows that PyTorch composes of a conversion and an operator of its own, which is what classes and modes see
BENEATH = {"softmax": "_softmax", "log_softmax": "_log_softmax"}

#: operators that programs brought, by the text of their row
IN_ROWS: dict[str, Any] = {}


class OperatorBase:
    """What operators of ``torch.ops`` are."""


class OpOverloadPacket:
    """All overloads of a name: the base of what ``torch.ops.namespace.name`` is."""


class OpOverload(OperatorBase):
    """One overload of a name: the base of what ``torch.ops.namespace.name.overload`` is."""


_stand_ins: tuple[type, ...] = ()


def stands_in(kind: type) -> None:
    """From now on operators are called by ``__torch_function__`` of this class, where an instance is among their arguments, under their
    names here: a proxy of torch.fx notes them."""
    global _stand_ins
    if kind not in _stand_ins:
        _stand_ins = (*_stand_ins, kind)


def stand_in(values: Iterable[Any]) -> type | None:
    """The class of what stands in for a value among arguments, or None."""
    if not _stand_ins:
        return None
    for value in values:
        kind = type(value)
        if kind is tuple or kind is list:
            if (found := stand_in(value)) is not None:
                return found
        elif issubclass(kind, _stand_ins):
            return kind
    return None


class AtenOverload(OpOverload):
    """An overload of an operator of this stack.

    >>> op = torch.ops.aten.add.Tensor
    >>> op(torch.ones(2), torch.ones(2)), op.name(), op.overloadpacket is torch.ops.aten.add
    (tensor([2., 2.]), 'aten::add.Tensor', True)
    """

    namespace = "aten"
    tags: list[Any] = []

    def __init__(self, packet: Any, name: str, overload: str, function: Any) -> None:
        self._overloadpacket, self._opname, self._overloadname = packet, name, overload
        self._op = function
        self.__name__ = self.__qualname__ = f"{name}.{overload}"
        self.__module__ = "torch._ops.aten"
        self.__doc__ = getattr(function, "__doc__", None)

    overloadpacket = property(lambda self: self._overloadpacket)

    @functools.cached_property
    def _schema(self) -> Schema:
        return schema_of(self._opname, self._overloadname, self._op)

    @property
    def is_view(self) -> bool:
        """Whether the result shares memory with an argument."""
        returns = self._schema.returns
        return any(r.alias_info is not None and not r.alias_info.is_write for r in returns)

    def name(self) -> str:
        """As schemas name it: ``aten::add.Tensor``."""
        overload = self._overloadname
        return f"aten::{self._opname}" + ("" if overload == "default" else f".{overload}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _stand_ins and (found := stand_in(args) or stand_in(kwargs.values())) is not None:
            return found.__torch_function__(self, (found,), args, kwargs)
        return self._op(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"aten.{self._opname}.{self._overloadname}"

    def __deepcopy__(self, memo: Any) -> AtenOverload:
        return self

    def __reduce__(self) -> Any:
        return _find, (self._opname, self._overloadname)

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether the operator runs on a device of that name: all do on "CPU" and "Meta"."""
        return getattr(key, "name", key) in ("CPU", "Meta")

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplemented: what consists of other operators is seen as these."""
        return NotImplemented


def _find(name, overload):
    from .ops import aten

    return getattr(getattr(aten, name), overload)


# --- calls ---


class _Row:
    """What is needed to write a call of a row down."""

    def __init__(self, text):
        self.schema = text if isinstance(text, Schema) else Schema.parse(text)
        self.name = self.schema.name
        self.positional = [a for a in self.schema.arguments if not a.kwarg_only]
        self.named = [a for a in self.schema.arguments if a.kwarg_only]

    def split(self, values):
        """Arguments by place and by name, without those at the end, or with a name, that have their default."""
        places = len(self.positional)
        args, rest = list(values[:places]), values[places:]
        while args and _is_default(self.positional[len(args) - 1], args[-1]):
            args.pop()
        kwargs = {a.name: v for a, v in zip(self.named, rest, strict=True) if not _is_default(a, v)}
        return tuple(args), kwargs

    def names(self, args, kwargs):
        """The name of the operator as the call shows it, and that of its overload."""
        name = RENAMED.get(self.name, self.name)
        if name == "matmul":
            name = PRODUCTS.get((args[0].dim(), args[1].dim()), name)
        return name, self.overload(name, args, kwargs)

    def overload(self, name, args, kwargs):
        """The name of the call's overload."""
        if name in FIXED:
            return FIXED[name]
        if name in OPERAND:
            last = args[-1] if len(args) > 1 else next(iter(kwargs.values()), None)
            return "Tensor" if isinstance(last, _C.Tensor) else "Scalar"
        if name in ("pow", "pow_"):
            kinds = ["Tensor" if isinstance(a, _C.Tensor) else "Scalar" for a in args[:2]]
            if name == "pow_":
                return kinds[1]
            return "Scalar" if kinds[0] == "Scalar" else "_".join(kinds)
        if name in ("clamp", "clamp_"):
            return "Tensor" if _has_second_tensor(args, kwargs) else "default"
        given = {a.name for a, v in zip(self.positional, args, strict=False) if v is not None or not a.has_default}
        given |= set(kwargs) | {""}
        for argument, overload in BY_ARGUMENT.get(name, ()):
            if argument in given:
                return overload.format("Tensor" if _has_second_tensor(args, kwargs) else "Scalar")
        return "default"


def _has_second_tensor(args, kwargs):
    return any(isinstance(a, _C.Tensor) for a in (*args[1:], *kwargs.values()))


def _is_default(argument, value):
    if not argument.has_default or isinstance(value, _C.Tensor):
        return False
    default = argument.default_value
    if default is None or value is None:
        return value is default
    if isinstance(value, list):  # int[2] stride=1 stands for both
        return value == (list(default) if isinstance(default, (list, tuple)) else [default] * len(value))
    return type(value) in (type(default), int, float) and value == default


@functools.cache
def _row(text):
    return _Row(text)


def of_call(operator: Any, text: str, values: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The overload of a call of a row, its arguments by place, and those by name."""
    if (registered := IN_ROWS.get(text)) is not None:
        schema = registered._schema
        arguments = {a.name: v for a, v in zip(schema.arguments, values, strict=True)}
        return registered, schema.positional(arguments), schema.named(arguments)
    row = _row(text)
    args, kwargs = row.split(values)
    if row.name in BENEATH and not kwargs and len(args) == 2:  # without a dtype
        return _find(BENEATH[row.name], "default"), (*args, False), kwargs
    return _find(*row.names(args, kwargs)), args, kwargs


def of_schema(schema: Schema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The overload of a call of the operator that has a schema; tensors of any device stand for those of the call.

    >>> str(of_schema(Schema.parse("sum(Tensor self, int[]? dim=None) -> Tensor"), (torch.ones(2), [0]), {}))
    'aten.sum.dim_IntList'
    """
    row = _Row(schema)
    return _find(row.name, row.overload(row.name, args, kwargs))


def schema_of(name: str, overload: str, function: Any) -> Schema:
    """The schema of an overload: of the operator's row that such calls take, with the overload's name in it."""
    texts = getattr(function, "schemas", None) or COMPOSED.get(name)
    if texts is None:
        raise RuntimeError(f"aten::{name}: it is composed in Python, and has no schema")
    rows = [_row(text) for text in texts]
    chosen = next((r for r in rows if _fits(r, overload)), rows[0])
    text = texts[rows.index(chosen)]
    head, rest = text.split("(", 1)
    number = "Scalar" if overload in ("Scalar", "Tensor_Scalar", "Scalar_mode") else "Tensor"
    for ours, theirs in (("Number ", number + " "), ("dtype? ", "ScalarType? "), ("device? ", "Device? ")):
        rest = rest.replace(ours, theirs)
    for ours, theirs in (
        ("memory_format? ", "MemoryFormat? "),
        ("generator? ", "Generator? "),
        ("layout? ", "Layout? "),
    ):
        rest = rest.replace(ours, theirs)
    suffix = "" if overload == "default" else f".{overload}"
    schema = Schema.parse(f"{head}{suffix}({rest}")
    schema.name, schema.text = f"aten::{schema.name}", f"aten::{schema.text}"
    return schema


def _fits(row, overload):
    for argument, name in BY_ARGUMENT.get(row.name, ()):
        if name == overload:
            return argument in {a.name for a in row.schema.arguments}
    return True
