"""Functions of one's own that write operators, as libraries of PyTorch register them.

Such a function gets a graph ``g`` and the operator's arguments in their order, and returns what it wrote:
``g.op("Relu", x)``, with attributes that name their type (``g.op("Elu", x, alpha_f=1.0)``). Operators of another domain
are named ``domain::Name``.
"""

from __future__ import annotations

from typing import Any

import torch

from . import _types
from ._program import Step, Value
from ._rules import Rule

#: (name, opset) -> function
SYMBOLS: dict[tuple[str, int], Any] = {}


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Let a function write the operator ``namespace::name`` in an opset and those after it. ValueError for another name.

    >>> torch.onnx.register_custom_op_symbolic("mine::twice", lambda g, x: g.op("Add", x, x), 17)
    >>> torch.onnx.unregister_custom_op_symbolic("mine::twice", 17)
    """
    if symbolic_name.count("::") != 1:
        raise ValueError(f"register_custom_op_symbolic: expected 'namespace::name', got {symbolic_name!r}")
    if not callable(symbolic_fn):
        raise TypeError(f"register_custom_op_symbolic: expected a function, got {type(symbolic_fn).__name__}")
    SYMBOLS[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget the function."""
    SYMBOLS.pop((symbolic_name, opset_version), None)


def rule(step: Step, opset: int, own: dict) -> Rule | None:
    """The registered function for a step, as a rule; ``own`` are those of one export."""
    name = f"{step.library}::{step.name}"
    known = {**SYMBOLS, **{(n, 0): f for n, f in own.items()}}
    fitting = sorted((v for n, v in known if n == name and v <= opset), reverse=True)
    if not fitting:
        return None
    function = known[name, fitting[0]]

    def write(w, a, out):
        g = GraphContext(w, step, out)
        found = function(g, *(g.wrap(v) for v in vars(a).values()))
        parts = found if isinstance(found, (tuple, list)) else (found,)
        return tuple(g.unwrap(p) for p in parts)

    return Rule(write, 0)


class Type:
    """What ``value.type()`` answers: the questions that such functions ask."""

    def __init__(self, dtype: torch.dtype | None, shape: tuple | None) -> None:
        self._dtype, self._shape = dtype, shape

    def sizes(self) -> list | None:
        """The sizes; None in place of one that may change."""
        return None if self._shape is None else [s if isinstance(s, int) else None for s in self._shape]

    varyingSizes = sizes

    def dim(self) -> int | None:
        return None if self._shape is None else len(self._shape)

    def dtype(self) -> torch.dtype | None:
        return self._dtype

    def scalarType(self) -> str | None:
        """The name of 2018: Float, Long, ..."""
        from .symbolic_helper import NAMES

        return NAMES.get(self._dtype)

    def with_sizes(self, sizes: Any) -> Type:
        return Type(self._dtype, tuple(sizes) if sizes is not None else None)

    def with_dtype(self, dtype: torch.dtype) -> Type:
        return Type(dtype, self._shape)

    def kind(self) -> str:
        return "TensorType"

    def isSubtypeOf(self, other: Any) -> bool:
        return True


class Operand:
    """A value in the hands of such a function: a tensor by its name in the graph, or a constant."""

    def __init__(self, name: str | None, kind: Type, constant: Any = None, is_constant: bool = False) -> None:
        self.name, self._type, self.constant, self.is_constant = name, kind, constant, is_constant

    def type(self) -> Type:
        return self._type

    def setType(self, kind: Type) -> Operand:
        self._type = kind
        return self

    def isCompleteTensor(self) -> bool:
        return self._type.sizes() is not None and None not in self._type.sizes()

    def node(self) -> Operand:
        return self

    def kind(self) -> str:
        """The kind of node that gives it."""
        if self.is_constant:
            return "prim::ListConstruct" if isinstance(self.constant, (list, tuple)) else "prim::Constant"
        return "onnx::Value"

    def mustBeNone(self) -> bool:
        return self.is_constant and self.constant is None

    def debugName(self) -> str:
        return self.name or repr(self.constant)

    def __repr__(self) -> str:
        return f"<{self.debugName()}>"


_KINDS = {"i": int, "f": float, "s": str, "t": None, "is": int, "fs": float, "ss": str, "ts": None, "v": None}


class GraphContext:
    """What such a function writes to."""

    def __init__(self, w: Any, step: Step, out: list[Value]) -> None:
        self._w, self._step, self._out = w, step, out
        self.opset = w.opset
        self.original_node = self
        self.params_dict: dict = {}
        self.env: dict = {}

    def op(self, name: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Write a node; attributes end in ``_i``, ``_f``, ``_s``, ``_t``, or those with another ``s`` for lists."""
        domain, _, kind = name.rpartition("::")
        domain = "" if domain in ("onnx", "") else domain
        values = {}
        for key, value in attributes.items():
            word, _, mark = key.rpartition("_")
            if mark not in _KINDS:
                raise ValueError(
                    f"g.op({name}): the attribute {key!r} must end in _i, _f, _s, _t, _is, _fs, _ss or _ts"
                )
            values[word] = _attribute(mark, value)
        if kind == "Constant" and not domain:
            (constant,) = attributes.values()
            tensor = constant if isinstance(constant, torch.Tensor) else torch.tensor(constant)
            return Operand(self._w.const(tensor), Type(tensor.dtype, tuple(tensor.shape)), tensor, False)
        names = [None if x is None else self.unwrap(x) for x in inputs]
        found = self._w.op(kind, *names, outputs=outputs, domain=domain, **values)
        if outputs > 1:
            return tuple(Operand(n, Type(None, None)) for n in found)
        same = self._out[0] if self._out else None
        return Operand(found, Type(same.dtype if same else None, None))

    def at(self, name: str, *args: Any, **attributes: Any) -> Any:
        """PyTorch's fallback to operators of its own in a file. NotImplementedError."""
        raise NotImplementedError(f"g.at({name}): files with operators of ATen are not written")

    def wrap(self, value: Any) -> Any:
        """An argument as such functions get it."""
        if isinstance(value, Value):
            return Operand(self._w.name(value), Type(value.dtype, value.shape))
        if isinstance(value, list) and any(isinstance(v, Value) for v in value):
            return Operand(None, Type(None, None), [self.wrap(v) for v in value], True)
        return Operand(None, Type(None, ()), value, True)

    def unwrap(self, value: Any) -> str:
        """The name of what such a function gives or hands on."""
        if isinstance(value, Operand):
            if value.name is not None:
                return value.name
            value = value.constant
        if isinstance(value, str):
            return value
        if isinstance(value, (list, tuple)) and all(isinstance(v, Operand) for v in value):
            return self._w.op("Concat", *(self._w.reshape(self.unwrap(v), [-1]) for v in value), axis=0)
        return self._w.const(value)


def _attribute(mark, value):
    if mark in ("t", "ts") and isinstance(value, (list, tuple)):
        return [_attribute("t", each) for each in value]
    if mark == "t":
        return _types.proto(value if isinstance(value, torch.Tensor) else torch.tensor(value), "value")
    if isinstance(value, torch.dtype):
        return _types.number(value)
    kind = _KINDS[mark[0]]
    # As in PyTorch, a list says itself that it is one.
    return [kind(each) for each in value] if len(mark) == 2 or isinstance(value, (list, tuple)) else kind(value)
