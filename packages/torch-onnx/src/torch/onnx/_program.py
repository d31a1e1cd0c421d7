"""What is exported, whoever recorded it: steps in their order, the values between them, and the tensors it starts with.

Rules see only this form. :mod:`._exported` makes it of an exported program; a front end more is a module more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import torch


@dataclass(eq=False)
class Value:
    """A tensor, or a number that is computed from sizes (``number``).

    ``shape`` has a name where a size may change, and is None where nothing is known.
    """

    name: str
    dtype: torch.dtype | None = None
    shape: tuple[int | str, ...] | None = None
    number: bool = False
    constant: torch.Tensor | None = None

    @property
    def rank(self) -> int:
        """How many dims; ValueError when that is not known."""
        if self.shape is None:
            raise ValueError(f"{self.name}: the number of dims is not known")
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype is not None and self.dtype.is_floating_point


@dataclass
class Step:
    """One operator: arguments by parameter (Values, constants, lists of them) and the values that it gives."""

    name: str
    arguments: dict[str, Any]
    results: list[Value]
    target: Any = None
    place: str = ""
    trace: str = ""
    scope: str = ""
    library: str = "aten"
    blocks: list[Block] = field(default_factory=list)


@dataclass
class Block:
    """Steps that run inside another: its inputs, and what it gives."""

    inputs: list[Value]
    steps: list[Step]
    outputs: list[Value]


@dataclass
class Program:
    """The whole: ``held`` are tensors that the program starts with, by name; parameters are those in ``parameters``."""

    inputs: list[Value]
    steps: list[Step]
    outputs: list[Value]
    held: list[Value] = field(default_factory=list)
    parameters: set[str] = field(default_factory=set)

    def needed(self) -> set[Value]:
        """The values that the outputs are computed from, they among them."""
        found = set(self.outputs)
        for step in reversed(self.steps):
            if not found.isdisjoint(step.results):
                found |= set(_read([step]))
        return found


def _read(steps: list[Step]) -> Iterator[Value]:
    """What steps and those in their blocks are given, and what the blocks give."""
    for step in steps:
        yield from _values([step.arguments, *(block.outputs for block in step.blocks)])
        for block in step.blocks:
            yield from _read(block.steps)


def _values(given: Any) -> Iterator[Value]:
    if isinstance(given, Value):
        yield given
    elif isinstance(given, (list, tuple, dict)):
        for each in given.values() if isinstance(given, dict) else given:
            yield from _values(each)
