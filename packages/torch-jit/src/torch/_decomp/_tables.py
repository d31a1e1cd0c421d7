"""Which functions stand for which operators."""

from __future__ import annotations

from typing import Any

from torch._seams import OpOverload, OpOverloadPacket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: functions by operator: those of a result after the derivative, before it, and on the Meta device
global_decomposition_table: dict[str, dict[Any, Callable[..., Any]]] = {
    "post_autograd": {},
    "pre_autograd": {},
    "meta": {},
}
decomposition_table = global_decomposition_table["post_autograd"]
pre_autograd_decomposition_table = global_decomposition_table["pre_autograd"]
meta_table = global_decomposition_table["meta"]


def _overloads(operator: Any, asker: str) -> list[Any]:
    """The operators that are meant: one, all of a name, or those in a list."""
    if isinstance(operator, (list, tuple, set)):
        return [each for one in operator for each in _overloads(one, asker)]
    if isinstance(operator, OpOverloadPacket):
        return [getattr(operator, name) for name in operator.overloads()]
    if isinstance(operator, OpOverload):
        return [operator]
    raise TypeError(f"{asker}: expected an operator of torch.ops, got {operator!r}")


def register_decomposition(
    aten_op: Any, registry: dict[Any, Any] | None = None, *, type: str = "post_autograd", unsafe: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that makes a function the decomposition of an operator, or of several, in a table.

    ValueError for a ``type`` that is none; RuntimeError for an operator that has one already.

    >>> from torch._decomp import register_decomposition
    >>> table = {}
    >>> @register_decomposition(torch.ops.aten.square, table)
    ... def square(x):
    ...     return x * x
    >>> table[torch.ops.aten.square.default] is square
    True
    """
    if type not in global_decomposition_table:
        raise ValueError(
            f"register_decomposition: type is {', '.join(map(repr, global_decomposition_table))}, got {type!r}"
        )
    table = global_decomposition_table[type] if registry is None else registry
    operators = _overloads(aten_op, "register_decomposition")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for operator in operators:
            if operator in table:
                raise RuntimeError(f"register_decomposition: {operator} has a decomposition already")
        table.update(dict.fromkeys(operators, function))
        return function

    return register


def get_decompositions(aten_ops: Sequence[Any], type: str = "post_autograd") -> dict[Any, Callable[..., Any]]:
    """The decompositions of these operators, as a table; those that have none are left out.

    >>> from torch._decomp import get_decompositions
    >>> [str(op) for op in get_decompositions([torch.ops.aten.square, torch.ops.aten.conv2d])]
    ['aten.square.default']
    """
    table = global_decomposition_table[type]
    return {op: table[op] for op in _overloads(list(aten_ops), "get_decompositions") if op in table}


def remove_decompositions(decompositions: dict[Any, Any], aten_ops: Iterable[Any]) -> None:
    """Take operators out of a table."""
    for operator in _overloads(list(aten_ops), "remove_decompositions"):
        decompositions.pop(operator, None)
