"""Resized images in traces: one node each, which takes images of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from ._nodes import Number, is_plain, operator

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["resizing_in", "resizing_operator"]

_KINDS = {
    "nearest": "upsample_nearest{}d", "nearest-exact": "_upsample_nearest_exact{}d", "linear": "upsample_linear{}d",
    "bilinear": "upsample_bilinear{}d", "bicubic": "upsample_bicubic{}d", "trilinear": "upsample_trilinear{}d",
}  # fmt: skip


def resizing_operator(mode: str, dims: int, antialias: bool) -> str:
    """The name of PyTorch's operator that resizes images of so many dims."""
    name = _KINDS[mode].format(dims)
    return f"_{name}_aa" if antialias else name


def _number(entry: Any, kind: type) -> Any:
    if not isinstance(entry, Tensor):
        return kind(entry)
    return Number("Int" if kind is int else "Float", entry)


def _plain(entry: Any, kind: type) -> Any:
    return kind(entry.tensor.item()) if isinstance(entry, Number) else entry


def resizing_in(own: Callable[..., Tensor], tracer_of: Callable[[], Any], sizes_of: Callable[..., Any]) -> Any:
    """What resizes while a trace is recorded: ``own`` for what the trace does not know, and in lower precision."""

    def run(input: Tensor, size: Any, scale: Any, mode: str, corners: Any, again: Any, antialias: bool) -> Tensor:
        tracer = tracer_of()
        if not is_plain(tracer, input) or not tracer.has_value(input):
            return own(input, size, scale, mode, corners, again, antialias)
        given, dims = size if scale is None else scale, input.dim() - 2
        entries = list(given) if isinstance(given, (list, tuple)) else [given] * dims
        if len(entries) == 1:  # stands for each dim of how many there are
            entries *= dims
        if len(entries) != dims:
            return own(input, size, scale, mode, corners, again, antialias)  # says what is wrong
        if scale is not None and (again or mode == "area"):
            entries = [(have * by).floor().long() for have, by in zip(sizes_of(input, tracer)[2:], entries)]
            scale = None
        if mode == "area":
            return own(input, entries, None, mode, corners, None, antialias)
        kind = int if scale is None else float
        entries = [_number(each, kind) for each in entries]
        kept = (entries, None) if scale is None else (None, entries)
        numbers = [_plain(each, kind) for each in entries]
        asked = (numbers, None) if scale is None else (None, numbers)
        name = resizing_operator(mode, dims, antialias)
        more = [] if mode.startswith("nearest") else [bool(corners)]
        return operator(
            tracer, f"aten::{name}", [input, kept[0], *more, kept[1]],
            lambda: own(input, *asked, mode, corners, None, antialias),
        )  # fmt: skip

    return run
