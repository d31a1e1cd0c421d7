"""Resized images in traces: a call of a program, which takes images of any size."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from . import _ir as ir

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PLAIN", "resizing_in"]

#: what the programs of this file compute, by their names, as Python has it
PLAIN: dict[str, Callable[..., Tensor]] = {}


def _compiled(function: Callable[..., Tensor], **options: Any) -> Any:
    made = torch.jit.script(function)
    function.__dict__.update(options)  # of interpolate, for who reads programs
    PLAIN[made.qualified_name] = function
    return made


@functools.cache
def _program(resize: Any, given: Any, is_size: bool, mode: str, corners: bool | None) -> Any:
    """The compiled call; ``...`` stands for sizes or scales that are tensors, which it takes as a list."""
    if given is not ...:
        given = given[0] if len(given) == 1 else given  # a list of one stands for each dim of how many there are
        size, scale = (given, None) if is_size else (None, given)

        def resized(input: Tensor):
            return resize(input, size, scale, mode, corners, None, False)

        return _compiled(resized, size=size, scale_factor=scale, mode=mode, align_corners=corners)
    if is_size:

        def resized_to(input: Tensor, sizes: list[Tensor]):
            return resize(input, [int(each) for each in sizes], None, mode, corners, None, False)

        return _compiled(resized_to, size=..., scale_factor=None, mode=mode, align_corners=corners)

    def resized_by(input: Tensor, scales: list[Tensor]):
        return resize(input, None, [float(each) for each in scales], mode, corners, None, False)

    return _compiled(resized_by)


def resizing_in(
    own: Callable[..., Tensor], tracer_of: Callable[[], Any], sizes_of: Callable[..., Any], warn: Callable[..., None]
) -> Any:
    """What resizes while a trace is recorded: ``own`` for what the trace does not know, and in lower precision."""
    from torch import _seams

    def run(input: Tensor, size: Any, scale: Any, mode: str, corners: Any, again: Any, antialias: bool) -> Tensor:
        tracer = tracer_of() if ir._native._tracing() else None
        if antialias and tracer is not None and tracer.has_value(input):
            warn("Resizing an image with antialias, by tables for its size,", sys._getframe(2))
        if tracer is None or not tracer.has_value(input) or _seams.is_casting() or antialias:
            return own(input, size, scale, mode, corners, again, antialias)
        given = size if scale is None else scale
        entries = list(given) if isinstance(given, (list, tuple)) else [given] * (input.dim() - 2)
        if scale is not None and (again or mode == "area"):
            entries = [(have * by).floor().long() for have, by in zip(sizes_of(input, tracer)[2:], entries)]
            size = entries
        if mode == "area":
            return own(input, entries, None, mode, corners, None, antialias)
        nearest = mode.startswith("nearest")  # those are compiled as they are written, others are operators of scripts
        resize = own if nearest else torch.nn.functional.interpolate
        if any(isinstance(each, Tensor) for each in entries):
            tensors = [each if isinstance(each, Tensor) else torch.tensor(each) for each in entries]
            return _program(resize, ..., size is not None, mode, corners)(input, tensors)
        return _program(resize, tuple(entries), size is not None, mode, corners)(input)

    return run
