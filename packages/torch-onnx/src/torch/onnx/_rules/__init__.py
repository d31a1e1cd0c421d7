"""How operators are written: one small function per operator.

A rule gets the writer, the arguments by the names of the row, and the values that it has to give; it returns the name of
its result, or a tuple of names. ``rule("relu")`` puts it into the table; ``since`` is the opset that it needs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import import_module

import torch

from .._program import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._writer import Writer

FILES = (
    "activation", "complexes", "convolution", "counting", "creation", "factors", "fourier", "gamma", "indexing", "linear", "matrices", "normalization", "numbers", "places",
    "pointwise", "pooling", "recurrent", "reduction", "resizing", "running", "shapes", "sorting", "special",
)  # fmt: skip


@dataclass
class Rule:
    """A function that writes an operator, and the first opset that has what it writes."""

    write: Callable[..., Any]
    since: int


RULES: dict[str, Rule] = {}


@functools.cache
def table() -> dict[str, Rule]:
    """All rules by the name of the operator.

    >>> table()["relu"].since
    13
    """
    for name in FILES:
        import_module(f"{__name__}.{name}")
    return RULES


def rule(*names: str, since: int = 13) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that puts a function into the table."""

    def decorate(function):
        for name in names:
            RULES[name] = Rule(function, since)
        return function

    return decorate


# --- what rules have in common ---


def like(value: Any) -> Any:
    """Something of the same dtype, and without dims where the value has none, to ask torch about types."""
    if not isinstance(value, Value):
        return value
    if value.number:
        return 1.0 if value.is_float else 1
    return torch.empty((1,) * (len(value.shape) if value.shape is not None else 1), dtype=value.dtype)


def common(*values: Any) -> torch.dtype:
    """The dtype in which torch compares or adds these."""
    found = [like(v) for v in values]
    tensors = [f for f in found if isinstance(f, torch.Tensor)]
    if not tensors:
        return torch.int64 if all(isinstance(f, (int, bool)) for f in found) else torch.get_default_dtype()
    total, dtype = found[0], tensors[0].dtype
    for other in found[1:]:
        dtype = torch.result_type(total, other)
        total = torch.empty((1,) * max(getattr(total, "ndim", 0), getattr(other, "ndim", 0)), dtype=dtype)
    return dtype


def operands(w: Writer, dtype: torch.dtype, *values: Any) -> list[str]:
    """The names of values in one dtype."""
    return [w.cast(v, dtype) for v in values]


def dims(value: Any, rank: int) -> list[int]:
    """Dims as a sorted list of numbers that are not negative; None and nothing are all."""
    if value is None:
        return list(range(rank))
    listed = [value] if isinstance(value, int) else list(value)
    return sorted(d % max(rank, 1) for d in listed) if listed else list(range(rank))
