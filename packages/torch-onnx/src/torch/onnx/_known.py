"""The values of a script's walk: what they are on the example, and what stands for them in the file."""

from __future__ import annotations

from typing import Any

import torch

from ._program import Value

__all__ = ["Known", "constant", "deep", "holds_tensors", "leaves", "operand", "value_of"]


class Known:
    """A value of the walk: what it is on the example, and what stands for it in the file (None: a constant)."""

    def __init__(self, concrete: Any, value: Value | None = None, depth: int = 0) -> None:
        self.concrete, self.value = concrete, value
        self.depth = depth  # of the block that made it
        self.origin: tuple[Known, str, dict] | None = None  # of a view: what it is one of, by which operator
        self.stacked: Known | None = None  # of a list that a loop has filled: its elements, one after another

    @classmethod
    def of(cls, constant: Any) -> Known:
        """A constant; what is in a list or tuple is a value of its own."""
        return cls([cls.of(each) for each in constant] if type(constant) in (list, tuple) else constant)

    @property
    def root(self) -> Known:
        """What has the memory that this is a view of."""
        return self if self.origin is None else self.origin[0].root


def deep(known):
    if isinstance(known, Known):
        return [deep(k) for k in known.concrete] if isinstance(known.concrete, list) else known.concrete
    return known


def constant(number):
    made = torch.as_tensor(number)
    return Value("constant", made.dtype, tuple(made.shape), constant=made)


def leaves(known):
    """The values within lists, tuples and dicts, one after another."""
    inner = known.concrete
    if not isinstance(inner, (list, dict)):
        return [known]
    return [leaf for each in (inner.values() if isinstance(inner, dict) else inner) for leaf in leaves(each)]


def holds_tensors(known):
    return isinstance(known.concrete, list) and any(isinstance(deep(k), torch.Tensor) for k in known.concrete)


def value_of(known):
    """An argument of a step."""
    if known.value is not None:
        return known.value
    return (
        [value_of(k) for k in known.concrete]
        if isinstance(known.concrete, list) and any(isinstance(k, Known) for k in known.concrete)
        else known.concrete
    )


def operand(known):
    """What a block takes or gives: constants have their dtype there, and numbers are double."""
    if known.value is None and isinstance(known.concrete, float):
        return torch.tensor(known.concrete, dtype=torch.float64)
    return known.value if known.value is not None else known.concrete
