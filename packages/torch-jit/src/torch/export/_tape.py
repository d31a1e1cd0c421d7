"""What a recording leaves: the calls of operators in their order, and what is known of each value.

A value is a number; a call's arguments and results name values by :class:`Ref`. Writes are gone: an operator in place
is the call of its plain form, whose result stands for the tensor from then on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch._seams import size_of_text
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.passes.shape_prop import _extract_tensor_metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from torch.fx.node import Node


@dataclass(frozen=True)
class Ref:
    """A tensor of the program."""

    n: int


@dataclass
class Value:
    """What a tensor of the program looks like."""

    shape: tuple
    dtype: torch.dtype | None
    device: torch.device | None
    #: what it was, where it is no tensor
    number: int | float | None = None
    stride: tuple | None = None

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Value:
        stride = tensor.stride() if tensor.layout is torch.strided else None
        return cls(tuple(tensor.shape), tensor.dtype, tensor.device, None, stride)


_MODE = FakeTensorMode()


def describe(node: Node, tensor: torch.Tensor, sizes: Iterable[Any], device: Any = "cpu") -> None:
    """Note what a node's tensor looks like, under the names that passes and tools read: as a fake tensor."""
    sizes = tuple(sizes)
    val = fake(tensor, sizes, device)
    node.meta.update(val=val, tensor_meta=_extract_tensor_metadata(val), sizes=sizes)


def fake(tensor: torch.Tensor, sizes: Iterable[Any], device: Any = "cpu") -> FakeTensor:
    """A fake tensor whose sizes are numbers, or formulas over names where they are texts."""
    if isinstance(tensor, FakeTensor):
        tensor, device = tensor._elem, tensor.fake_device
    named = [size_of_text(s, seen) if isinstance(s, str) else s for s, seen in zip(sizes, tensor.shape, strict=True)]
    symbolic = any(isinstance(s, str) for s in sizes)
    return FakeTensor(_MODE, tensor, device, sizes=named if symbolic else None)


def faked(value: Any) -> Any:
    """What a call gives on the Meta device, as a node's ``meta["val"]`` has it."""
    if isinstance(value, (list, tuple)):
        return [faked(v) for v in value]
    return fake(value, value.shape) if isinstance(value, torch.Tensor) else value


def bare(value: Any) -> Any:
    """What a node's ``meta["val"]`` is beneath: a tensor of the Meta device, of the sizes of the example, or a number."""
    if isinstance(value, FakeTensor):
        return value._elem
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return value.node.hint
    return [bare(v) for v in value] if isinstance(value, list) else value


def hollow(shape: Sequence[int], stride: Sequence[int] | None, dtype: torch.dtype) -> torch.Tensor:
    """A tensor of the Meta device."""
    if stride is None:
        return torch.empty(shape, dtype=dtype, device="meta")
    return torch.empty_strided(shape, stride, dtype=dtype, device="meta")


@dataclass
class Place:
    """Where in the user's program: the frames outside of torch, the innermost last, and the path of modules."""

    frames: tuple[tuple[str, int, str], ...]
    modules: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """
        >>> str(Place((("model.py", 3, "forward"),), ()))
        'model.py:3 in forward'
        """
        return "{}:{} in {}".format(*self.frames[-1]) if self.frames else "(inside torch)"

    def trace(self) -> str:
        """The frames as a traceback prints them."""
        import linecache

        lines = []
        for file, line, function in self.frames:
            lines.append(f'  File "{file}", line {line}, in {function}')
            if text := linecache.getline(file, line).strip():
                lines.append(f"    {text}")
        return "\n".join(lines)


@dataclass
class Call:
    """One operator: its name and what is called, arguments by parameter, and the values that it gives.

    ``defaults`` are those of the operator, and the words of a check. ``results`` has None where a result is no tensor; ``single`` says that the result is one tensor and no tuple.
    """

    name: str
    target: Callable
    arguments: dict[str, Any]
    keywords: frozenset[str]
    defaults: dict[str, Any]
    results: list[int | None]
    single: bool
    place: Place
    #: whether gradients are recorded there, and what the program called: ("relu_1", "function.relu")
    grad: bool = True
    function: tuple[str, str] | None = None


@dataclass
class Unknown:
    """A number that only values tell: the value that it is, or whose size along ``dim`` it is, and what it was in this run."""

    name: str
    n: int
    dim: int | None
    seen: int | float
    place: Place


def where(tensor: torch.Tensor) -> Any:
    """What tells the memory of a tensor, and how it lies there, from others; None for one without memory."""
    if tensor.layout is not torch.strided or not tensor.numel():
        return None
    return tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride()


@dataclass
class Tape:
    """A recording."""

    calls: list[Call] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    #: numbers of the program's inputs, by the index among the leaves of the arguments
    inputs: dict[int, int] = field(default_factory=dict)
    #: numbers of parameters and buffers by name
    named: dict[str, int] = field(default_factory=dict)
    #: tensors that were found on the way, and are neither
    constants: dict[int, torch.Tensor] = field(default_factory=dict)
    #: where those lay when they were found
    origins: dict[int, Any] = field(default_factory=dict)
    #: leaves of the result: Ref or a constant
    outputs: list[Any] = field(default_factory=list)
    out_spec: Any = None
    #: what was written to: names, or indices of leaves, with the value at the end
    written_buffers: dict[str, int] = field(default_factory=dict)
    written_inputs: dict[int, int] = field(default_factory=dict)
    #: calls of modules whose form is kept: arguments, their form, results, their form
    module_calls: dict[str, tuple[list, Any, list, Any]] = field(default_factory=dict)
    #: names of all modules that were called
    modules: list[str] = field(default_factory=list)
    #: numbers that only values tell, in the order in which they were met
    unknown: list[Unknown] = field(default_factory=list)
    #: whether gradients were recorded around the program
    grad: bool = True
    #: the bounds that the program states for them
    bounds: dict[str, list[float]] = field(default_factory=dict)

    def new(self, tensor: torch.Tensor) -> int:
        """Number a tensor."""
        self.values.append(Value.of(tensor))
        return len(self.values) - 1

    def new_number(self, number: int | float) -> int:
        """Number a value that is no tensor."""
        self.values.append(Value((), None, None, number))
        return len(self.values) - 1
