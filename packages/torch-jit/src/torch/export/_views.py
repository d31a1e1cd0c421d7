"""Views: which tensors share memory while a program is recorded, and what a write through one does to the others.

Tensors that share memory have one :class:`Root`; each of them is reached from it by steps. A write to any makes a new
value of the root, by the operator that undoes each step (``select`` is undone by ``select_scatter``); the others are
made anew from it when the program next reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch


@dataclass(frozen=True)
class Step:
    """One view: the operator, its arguments but for the tensor, and which of its results."""

    name: str
    arguments: dict[str, Any] = field(hash=False)
    index: int | None = None


@dataclass
class Root:
    """The memory of a tensor and all its views: the number of the value that it holds by now."""

    n: int
    tensor: torch.Tensor
    version: int = 0
    source: Any = None  # the name of a buffer, the index of an input, "constant", or None for a result


@dataclass
class Held:
    """A tensor of the program: its number, valid while its root has the version that is noted here."""

    tensor: torch.Tensor
    n: int
    root: Root
    path: tuple[Step, ...] = ()
    version: int = 0


#: views that keep each element, in order: undone by the shape that was there
SHAPES = {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "ravel", "reshape_as", "view_as", "atleast_1d", "atleast_2d", "atleast_3d"}  # fmt: skip


def undo(record: Any, old: int, new: int, step: Step) -> int:
    """The value ``old`` in which the part that the step views is ``new``."""
    a = step.arguments
    shape, rank = record.tape.values[old].shape, len(record.tape.values[old].shape)
    name = step.name
    if name in SHAPES:
        return record.emit("reshape", new, shape)
    if name in ("alias", "detach", "contiguous"):
        return new
    if name in ("transpose", "swapaxes", "swapdims"):
        one, two = (list(a.values()) + [None, None])[:2]
        return record.emit("transpose", new, one, two)
    if name == "T":
        return record.emit("permute", new, tuple(reversed(range(rank))))
    if name in ("t", "mT"):
        return new if rank < 2 else record.emit("transpose", new, -2, -1)
    if name == "permute":
        dims = [d % rank for d in a["dims"]]
        return record.emit("permute", new, tuple(dims.index(i) for i in range(rank)))
    if name == "select":
        return record.emit("select_scatter", old, new, a["dim"], a["index"])
    if name == "slice":
        return record.emit("slice_scatter", old, new, a["dim"], a["start"], a["end"], a["step"])
    if name == "narrow":
        return record.emit("slice_scatter", old, new, a["dim"], a["start"], a["start"] + a["length"], 1)
    if name in ("diagonal", "linalg_diagonal"):
        return record.emit("diagonal_scatter", old, new, a["offset"], a["dim1"], a["dim2"])
    if name == "unbind":
        return record.emit("select_scatter", old, new, a["dim"], step.index)
    if name in ("split", "split_with_sizes", "chunk", "tensor_split"):
        start, length = a["start_of_part"], record.tape.values[new].shape[a["dim"]]
        return record.emit("slice_scatter", old, new, a["dim"], start, start + length, 1)
    raise record.refuse(f"writes into what {name} gives, which shares memory with another tensor: clone it first")
