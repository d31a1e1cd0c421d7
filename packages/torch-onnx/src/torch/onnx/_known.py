"""The values of a script's walk: what they are on the example, and what stands for them in the file."""

from __future__ import annotations

from typing import Any

import torch

from ._program import Value

__all__ = ["Computed", "Known", "constant", "deep", "holds_filled", "holds_tensors", "leaves", "operand", "value_of"]


class Computed(Exception):
    """What chooses how a program is written is a value that only a run tells."""


class Known:
    """A value of the walk: what it is on the example, and what stands for it in the file (None: a constant).

    ``example`` tells dtypes, numbers of dims and what comes next on the example; what the file is written by is ``fixed``.
    """

    def __init__(self, example: Any, value: Value | None = None, depth: int = 0, size: int | str | None = None) -> None:
        self.example, self.value = example, value
        self.size = size  # of a number: the name of the size that it is
        self.depth = depth  # of the block that made it
        self.origin: tuple[Known, str, dict] | None = None  # of a view: what it is one of, by which operator
        self.perhaps: Known | None = None  # what it has the memory of, or not, as sizes decide
        self.unsettled = ""  # a write that changed this, or not, as sizes decide
        self.parts: Any = None  # of a list: the step that takes apart what may have more or fewer parts
        self.stacked: Known | None = None  # of a list that a loop has filled: its elements, one after another

    @classmethod
    def of(cls, constant: Any, depth: int = 0) -> Known:
        """A constant; what is in a list, tuple or dict is a value of its own."""
        if type(constant) in (list, tuple):
            return cls([cls.of(each, depth) for each in constant], depth=depth)
        if type(constant) is dict:
            return cls({key: cls.of(each, depth) for key, each in constant.items()}, depth=depth)
        return cls(constant)

    @property
    def fixed(self) -> Any:
        """The constant that this is, or the list or dict; Computed where a run tells it."""
        if self.value is not None:
            raise Computed
        return self.example

    @property
    def moves(self) -> bool:
        """Whether the size of a dim may differ from the example's."""
        return self.value is not None and not all(type(size) is int for size in self.value.shape)

    @property
    def root(self) -> Known:
        """What has the memory that this is a view of."""
        return self if self.origin is None else self.origin[0].root


def deep(known):
    if isinstance(known, Known):
        return [deep(k) for k in known.example] if isinstance(known.example, list) else known.example
    return known


def constant(number):
    made = torch.as_tensor(number)
    return Value("constant", made.dtype, tuple(made.shape), constant=made)


def leaves(known):
    """The values within lists, tuples and dicts, one after another."""
    inner = known.example
    if not isinstance(inner, (list, dict)):
        return [known]
    parts = inner.values() if isinstance(inner, dict) else inner
    return [leaf for each in parts for leaf in leaves(each if isinstance(each, Known) else Known(each))]


def holds_filled(known):
    """Whether this is a list that a loop has filled, or has one within."""
    inner = known.example
    parts = inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
    return known.stacked is not None or any(isinstance(each, Known) and holds_filled(each) for each in parts)


def holds_tensors(known):
    return isinstance(known.example, list) and any(isinstance(deep(k), torch.Tensor) for k in known.example)


def value_of(known):
    """An argument of a step."""
    if known.value is not None:
        return known.value
    return (
        [value_of(k) for k in known.example]
        if isinstance(known.example, list) and any(isinstance(k, Known) for k in known.example)
        else known.example
    )


def operand(known):
    """What a block takes or gives: constants have their dtype there, and numbers are double."""
    if known.value is None and isinstance(known.example, float):
        return torch.tensor(known.example, dtype=torch.float64)
    return known.value if known.value is not None else known.example
