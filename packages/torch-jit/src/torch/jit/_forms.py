"""Graphs with the calls of operators as PyTorch writes them, for converters, which look at names and at numbers of arguments:
``aten::div`` where a program here has ``true_divide``, ``aten::to`` for conversions, and what makes tensors with a layout, a device
and ``pin_memory``. Such a graph is to be read: programs run by their own.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_pytorchs_form"]

_MAKERS = {
    "zeros", "ones", "full", "empty", "rand", "randn", "randint", "randperm", "arange", "linspace", "logspace", "eye", "zeros_like", "ones_like",
    "full_like", "empty_like", "rand_like", "randn_like", "new_zeros", "new_ones", "new_full", "new_empty",
}  # fmt: skip
_NUMBERS = ("IntType", "FloatType", "BoolType", "NumberType", "ComplexType")
_MAX = sys.maxsize


def in_pytorchs_form(graph: Any) -> Any:
    """The graph itself, changed.

    >>> halved = torch.jit.trace(lambda x: x / 2 + torch.zeros(2), (torch.ones(2),))
    >>> [n.kind() for n in halved.graph.nodes() if n.kind().startswith("aten::")]
    ['aten::true_divide', 'aten::zeros', 'aten::add']
    >>> [(n.kind(), n.inputsSize()) for n in halved.inlined_graph.nodes() if n.kind().startswith("aten::")]
    [('aten::div', 2), ('aten::zeros', 5), ('aten::add', 3)]
    """
    for node in list(_nodes(graph.block())):
        kind = node.kind()
        if not kind.startswith("aten::"):
            continue
        name = kind[6:]
        rule = _made if name in _MAKERS else _RULES.get(name)
        if (
            rule is not None
            and (name in _MAKERS or _is_of_tensors(node))
            and (parameters := _parameters(node)) is not None
        ):
            with graph.insert_point_guard(node):
                rule(_Call(graph, node, name, dict(zip(parameters, node.inputs()))))
    return graph


def _nodes(block):
    for node in block.nodes():
        for inner in node.blocks():
            yield from _nodes(inner)
        yield node


def _is_of_tensors(node):
    """Whether an operator is that of tensors, and not one of its name for lists, texts and numbers."""
    return any(value.type().kind() == "TensorType" for value in (*node.inputs(), *node.outputs()))


def _parameters(node):
    """The names of an operator's parameters; None where there are others than the node has inputs."""
    text = str(node.schema())
    inside = re.sub(r"\[[^\]]*\]|\([a-z]!?\)", "", text[text.index("(") + 1 : text.rindex(") -> ")])
    names = [p.split("=")[0].split()[-1] for p in inside.split(", ") if p and p != "*"]
    return names if len(names) == node.inputsSize() else None


class _Call:
    """A node that is to be written in another way."""

    def __init__(self, graph: Any, node: Any, name: str, inputs: dict[str, Any]) -> None:
        self.graph, self.node, self.name, self.inputs = graph, node, name, inputs

    def constant(self, value: Any) -> Any:
        """A constant before the node."""
        return self.graph.insertConstant(value)

    def known(self, name: str, otherwise: Any = ...) -> Any:
        """An input's value where that is a constant, or a list of constants."""
        node = self.inputs[name].node()
        if node.kind() == "prim::ListConstruct":
            items = [v.toIValue() if v.node().kind() == "prim::Constant" else otherwise for v in node.inputs()]
            return otherwise if otherwise in items else items
        return self.inputs[name].toIValue() if node.kind() == "prim::Constant" else otherwise

    def is_none(self, name: str) -> bool:
        """Whether an input is None."""
        return self.inputs[name].type().kind() == "NoneType"

    def becomes(self, name: str, *inputs: Any) -> Any:
        """Put another node in this one's place."""
        made = self.graph.create(f"aten::{name}", list(inputs), self.node.outputsSize())
        made.insertBefore(self.node)
        made.setScope(self.node.scopeName())
        if (at := self.node.location()) is not None:
            made.setSourceRange(*at)
        for old, new in zip(self.node.outputs(), made.outputs()):
            new.setType(old.type())
            old.replaceAllUsesWith(new)
        self.node.destroy()
        return made


def _made(call):
    """What makes a tensor: (..., dtype, layout, device, pin_memory)."""
    inputs = dict(call.inputs)
    dtype, device, format = (inputs.pop(name, None) for name in ("dtype", "device", "memory_format"))
    if (generator := inputs.pop("generator", None)) is not None and generator.type().kind() != "NoneType":
        return
    if "m" in inputs and call.is_none("m"):
        inputs.pop("m")
    if call.is_none("device") and "self" not in inputs:
        device = call.constant(torch.get_default_device())
    more = [format] if format is not None else []
    call.becomes(call.name, *inputs.values(), dtype, call.constant(None), device, call.constant(False), *more)


def _converted(call):
    own, dtype, device, format = (call.inputs[n] for n in ("self", "dtype", "device", "memory_format"))
    no = call.constant(False)
    if call.is_none("device"):
        call.becomes("to", own, dtype, no, no, format)
    elif call.is_none("dtype"):
        none = call.constant(None)
        call.becomes("to", own, dtype, none, device, none, no, no, format)
    else:
        call.becomes("to", own, device, dtype, no, no, format)


def _divided(call):
    own, other = call.inputs["self"], call.inputs["other"]
    if own.type().kind() not in _NUMBERS:
        call.becomes("div", own, other)
        return
    inverse = call.graph.create("aten::reciprocal", [other])
    inverse.insertBefore(call.node)
    inverse.setScope(call.node.scopeName())
    inverse.output().setType(call.node.output().type())
    call.becomes("mul", inverse.output(), own)


def _subtracted(call):
    if call.inputs["self"].type().kind() in _NUMBERS:
        call.becomes("rsub", call.inputs["other"], call.inputs["self"], call.inputs["alpha"])


def _sliced(call):
    own, dim, start, end, step = call.inputs.values()
    if call.is_none("start") or call.is_none("end"):
        start = call.constant(0) if call.is_none("start") else start
        end = call.constant(_MAX) if call.is_none("end") else end
        call.becomes("slice", own, dim, start, end, step)


def _squeezed(call):
    dims = call.known("dim")
    if call.is_none("dim"):
        call.becomes("squeeze", call.inputs["self"])
    elif isinstance(dims, list) and len(dims) == 1:
        call.becomes("squeeze", call.inputs["self"], call.constant(dims[0]))


def _asked(call):
    """``any`` and ``all``."""
    dims = call.known("dim")
    if call.is_none("dim"):
        call.becomes(call.name, call.inputs["self"])
    elif isinstance(dims, list) and len(dims) == 1:
        call.becomes(call.name, call.inputs["self"], call.constant(dims[0]), call.inputs["keepdim"])


def _multiplied(call):
    if call.is_none("dim"):
        call.becomes("prod", call.inputs["self"], call.inputs["dtype"])


def _rounded(call):
    if call.known("decimals") == 0:
        call.becomes("round", call.inputs["self"])


def _sorted(call):
    if call.known("stable") is False:
        call.becomes("sort", call.inputs["self"], call.inputs["dim"], call.inputs["descending"])


def _deviation(call):
    if not call.is_none("correction"):
        return
    if call.is_none("dim"):
        call.becomes(call.name, call.inputs["self"], call.constant(True))
    else:
        call.becomes(call.name, call.inputs["self"], call.inputs["dim"], call.constant(True), call.inputs["keepdim"])


def _renamed(name: str) -> Callable[[Any], None]:
    return lambda call: call.becomes(name, *call.inputs.values()) and None


_RULES: dict[str, Callable[[Any], None]] = {
    "true_divide": _divided, "_to_copy": _converted, "sub": _subtracted, "slice": _sliced, "squeeze": _squeezed, "any": _asked, "all": _asked,
    "prod": _multiplied, "round": _rounded, "sort": _sorted, "std": _deviation, "T": _renamed("numpy_T"), "vector_norm": _renamed("linalg_vector_norm"),
}  # fmt: skip
