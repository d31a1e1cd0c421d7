"""Resized images in traces: a call of a program, which takes images of any size."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from . import _ir as ir

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["resizing_in"]


@functools.cache
def _program(size: Any, scale: Any, mode: str, corners: bool | None, again: bool | None) -> Any:
    """The compiled call; ``...`` stands for sizes or scales that are tensors, which it takes as a list."""
    resize = torch.nn.functional.interpolate
    if size is ...:

        def resized_to(input: Tensor, sizes: list[Tensor]):
            return resize(input, [int(each) for each in sizes], None, mode, corners, again)

        return torch.jit.script(resized_to)
    if scale is ...:

        def resized_by(input: Tensor, scales: list[Tensor]):
            return resize(input, None, [float(each) for each in scales], mode, corners, again)

        return torch.jit.script(resized_by)

    def resized(input: Tensor):
        return resize(input, size, scale, mode, corners, again)

    return torch.jit.script(resized)


def resizing_in(own: Callable[..., Tensor], tracer_of: Callable[[], Any], sizes_of: Callable[..., Any]) -> Any:
    """What resizes while a trace is recorded: ``own`` for what the trace does not know, and in lower precision."""
    from torch import _seams

    def run(input: Tensor, size: Any, scale: Any, mode: str, corners: Any, again: Any, antialias: bool) -> Tensor:
        tracer = tracer_of() if ir._native._tracing() else None
        if tracer is None or not tracer.has_value(input) or _seams.is_casting() or antialias:
            return own(input, size, scale, mode, corners, again, antialias)
        given = size if scale is None else scale
        entries = list(given) if isinstance(given, (list, tuple)) else [given] * (input.dim() - 2)
        if mode == "area":
            if scale is not None:
                entries = [(have * by).floor().long() for have, by in zip(sizes_of(input, tracer)[2:], entries)]
            return own(input, entries, None, mode, corners, None, antialias)
        if any(isinstance(each, Tensor) for each in entries):
            tensors = [each if isinstance(each, Tensor) else torch.tensor(each) for each in entries]
            return _program(None if size is None else ..., None if scale is None else ..., mode, corners, again)(
                input, tensors
            )
        given = tuple(entries)
        return _program(None if size is None else given, None if scale is None else given, mode, corners, again)(input)

    return run
