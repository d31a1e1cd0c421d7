"""If, Loop and Scan as modules: their graphs are children, and what these take from outside comes as further inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from .._types import DTYPES


class Stacked(NamedTuple):
    """An output that has one entry for each turn: its name, and how they are put together."""

    name: str
    dtype: torch.dtype | None
    shape: list[int]  # of one entry, as the file declares it: 0 where it leaves a size open
    axis: int = 0
    reverse: bool = False

    def together(self, where: str, entries: list[torch.Tensor]) -> torch.Tensor:
        """The entries as one tensor; RuntimeError when their shapes differ."""
        if not entries:
            if self.dtype is None:
                raise RuntimeError(
                    f"onnx.load: {where}: no turn was taken, and the file does not say which type {self.name!r} has"
                )
            axis = self.axis % (len(self.shape) + 1)
            return torch.empty([*self.shape[:axis], 0, *self.shape[axis:]], dtype=self.dtype)
        for turn, entry in enumerate(entries):
            if entry.shape != entries[0].shape:
                raise RuntimeError(
                    f"onnx.load: {where}: {self.name!r} has shape {tuple(entries[0].shape)} in turn 0 "
                    f"and {tuple(entry.shape)} in turn {turn}; all must be equal to be stacked"
                )
        return torch.stack(entries[::-1] if self.reverse else entries, self.axis)


def stacked(value: Any, axis: int = 0, reverse: bool = False) -> Stacked:
    """What a file declares of an output of a body."""
    kind = value.type.tensor_type
    return Stacked(value.name, DTYPES.get(kind.elem_type), [dim.dim_value for dim in kind.shape.dim], axis, reverse)


def _one(where, what, value):
    if value.numel() != 1:
        raise RuntimeError(f"onnx.load: {where}: {what} must be a single value, got shape {tuple(value.shape)}")
    return value.item()


def _truth(where, value):
    if value.dtype != torch.bool:
        raise RuntimeError(f"onnx.load: {where}: the condition must be bool, got {value.dtype}")
    return _one(where, "the condition", value)


class If(nn.Module):
    """One of two graphs, by a condition."""

    def __init__(self, where: str, then_branch: nn.Module, else_branch: nn.Module) -> None:
        super().__init__()
        self.where, self.then_branch, self.else_branch = where, then_branch, else_branch

    def forward(self, condition: torch.Tensor, *outer: Any) -> tuple[Any, ...]:
        return (self.then_branch if _truth(self.where, condition) else self.else_branch)(*outer)


class Loop(nn.Module):
    """A graph again and again, for a number of turns and as long as its condition holds."""

    def __init__(self, where: str, body: nn.Module, carried: int, outputs: list[Stacked]) -> None:
        super().__init__()
        self.where, self.body, self.carried, self.outputs = where, body, carried, outputs

    def forward(self, count: torch.Tensor | None, condition: torch.Tensor | None, *values: Any) -> tuple[Any, ...]:
        state, outer = values[: self.carried], values[self.carried :]
        limit = None if count is None else _one(self.where, "the number of turns", count)
        going = condition is None or _truth(self.where, condition)
        entries: list[list[torch.Tensor]] = [[] for _ in self.outputs]
        turn = 0
        while going and (limit is None or turn < limit):
            holds, *found = self.body(torch.tensor(turn), torch.tensor(True), *state, *outer)
            state = found[: self.carried]
            for row, entry in zip(entries, found[self.carried :], strict=True):
                row.append(entry)
            going = _truth(self.where, holds)
            turn += 1
        return (*state, *(o.together(self.where, row) for o, row in zip(self.outputs, entries, strict=True)))


class Scan(nn.Module):
    """A graph for each entry of its inputs along an axis."""

    def __init__(self, where: str, body: nn.Module, carried: int, inputs: list[tuple[str, int, bool]], outputs: list[Stacked]) -> None:  # fmt: skip
        super().__init__()
        self.where, self.body, self.carried, self.inputs, self.outputs = where, body, carried, inputs, outputs

    def forward(self, *values: Any) -> tuple[Any, ...]:
        last = self.carried + len(self.inputs)
        state, outer = values[: self.carried], values[last:]
        rows = []
        for (name, axis, reverse), value in zip(self.inputs, values[self.carried : last], strict=True):
            if not -value.dim() <= axis < value.dim():
                raise RuntimeError(
                    f"onnx.load: {self.where}: {name!r} has shape {tuple(value.shape)}, and axis {axis} to go along"
                )
            rows.append(value.unbind(axis)[:: -1 if reverse else 1])
        if len({len(row) for row in rows}) > 1:
            sizes = ", ".join(f"{name!r} {len(row)}" for (name, *_), row in zip(self.inputs, rows, strict=True))
            raise RuntimeError(f"onnx.load: {self.where}: its inputs must have equally many entries, got {sizes}")
        entries: list[list[torch.Tensor]] = [[] for _ in self.outputs]
        for parts in zip(*rows, strict=True):
            found = self.body(*state, *parts, *outer)
            state = found[: self.carried]
            for row, entry in zip(entries, found[self.carried :], strict=True):
                row.append(entry)
        return (*state, *(o.together(self.where, row) for o, row in zip(self.outputs, entries, strict=True)))
