"""Arguments of a call: their number, types and places are checked before anything is compiled."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch.tc._program import Program
from torch.tc._source import Source
from torch.tc._syntax import Definition


def tensors(source: Source, one: Definition, inputs: Sequence[Any]) -> list[Any]:
    """The arguments as contiguous tensors of the types that the definition names; numbers become tensors without dims."""
    if len(inputs) != len(one.parameters):
        names = ", ".join(p.name for p in one.parameters)
        raise TypeError(f"{one.name}: expected {len(one.parameters)} arguments ({names}), got {len(inputs)}")
    found = []
    for p, given in zip(one.parameters, inputs, strict=True):
        dtype = getattr(torch, p.dtype)
        if isinstance(given, int | float) and not p.dims:
            given = torch.tensor(given, dtype=dtype)
        if not isinstance(given, torch.Tensor):
            raise TypeError(source.shown(p.at, f"{one.name}: {p.name} expected a tensor, got {type(given).__name__}"))
        if given.dtype != dtype:
            text = f"{one.name}: {p.name} is {p.dtype}, got a tensor of {str(given.dtype).removeprefix('torch.')}"
            raise TypeError(source.shown(p.at, f"{text}: call .to(torch.{p.dtype})"))
        if given.layout != torch.strided or given.device.type != "cpu":
            what = str(given.layout) if given.layout != torch.strided else f"device {given.device}"
            raise NotImplementedError(
                source.shown(p.at, f"{one.name}: {p.name} has {what}; programs run on dense tensors of the CPU")
            )
        found.append(given.detach().contiguous())
    return found


def shapes(inputs: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(t.shape) for t in inputs)


def targets(name: str, program: Program, outputs: Any) -> list[Any] | None:
    """Tensors of the caller's to write to, or None."""
    if outputs is None:
        return None
    given = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
    if not given:
        return None
    if len(given) != len(program.results):
        raise TypeError(f"{name}: outputs expected {len(program.results)} tensors, got {len(given)}")
    for t, (result, dtype, shape) in zip(given, program.results, strict=True):
        if not isinstance(t, torch.Tensor):
            raise TypeError(f"{name}: outputs expected tensors, got {type(t).__name__}")
        if t.dtype != dtype or tuple(t.shape) != shape:
            text = f"{name}: {result} is a tensor of {dtype} and shape {shape}"
            raise ValueError(f"{text}, got outputs of {t.dtype} and shape {tuple(t.shape)}")
        if t.requires_grad:
            raise RuntimeError(f"{name}: outputs that need gradients cannot be written to")
    return given


def execute(name: str, program: Program, inputs: Sequence[Any], outputs: Any) -> list[Any]:
    """Run, and give the results: new tensors, or the caller's, which are written only by a run that succeeds."""
    given = targets(name, program, outputs)
    if given is None:
        fresh = program.empty()
        program.run(inputs, fresh)
        return fresh
    held = {t.untyped_storage().data_ptr() for t in inputs}
    places = [t.untyped_storage().data_ptr() for t in given]
    apart = [p not in held and places.count(p) == 1 for p in places]
    direct = [t if a and t.is_contiguous() and not program.checked else None for t, a in zip(given, apart, strict=True)]
    written = [
        d if d is not None else torch.empty(s, dtype=t) for d, (_, t, s) in zip(direct, program.results, strict=True)
    ]
    program.run(inputs, [w.detach() for w in written])
    for t, w in zip(given, written, strict=True):
        if t is not w:
            t.copy_(w)
        elif "torch.autograd" in sys.modules:  # the tape has to know of a write that it did not see
            torch.autograd.graph.increment_version(t)
    return given
