"""``torch.nn.functional.interpolate`` in scripts: PyTorch's operators, chosen while compiling by what is known, else by the run."""

from __future__ import annotations

import inspect
import math

import torch
import torch.nn.functional as F

from . import types
from .library import handles
from .values import Static

__all__ = []

_LINEAR = {"linear": ("linear1d", 1), "bilinear": ("bilinear2d", 2), "bicubic": ("bicubic2d", 2), "trilinear": ("trilinear3d", 3)}  # fmt: skip


@handles(F.interpolate)
def interpolate(emitter, *args, **kwargs):
    items = emitter.bind(inspect.signature(F.interpolate), list(args), kwargs, "interpolate")
    mode, antialias, again = (items[each] for each in ("mode", "antialias", "recompute_scale_factor"))
    known = all(isinstance(each, Static) for each in (mode, antialias, again)) and mode.value in _LINEAR
    dims = Static(_LINEAR[mode.value][1]) if known else None
    size = _for_each_dim(emitter, items["size"], dims, items["input"], int)
    scale = _for_each_dim(emitter, items["scale_factor"], dims, items["input"], float)
    if not known or again.value or (antialias.value and dims.value != 2) or _is_none(size) == _is_none(scale):
        given = {**items, "size": size, "scale_factor": scale}
        return emitter.inline(_resized, list(given.values()), {})
    name, corners = _LINEAR[mode.value][0], items["align_corners"]
    corners = Static(False) if _is_none(corners) else corners
    name = f"_upsample_{name}_aa" if antialias.value else f"upsample_{name}"
    return emitter.row(name, [items["input"], size, corners, scale], {})


def _row(name):
    """An operator as the functions below call it."""

    def call(*items):
        raise AssertionError(f"{name} is called in scripts only")

    @handles(call)
    def emit(emitter, *items):
        return emitter.row(name, list(items), {})

    return call


_average1d, _average2d, _average3d = (_row(f"adaptive_avg_pool{n}d") for n in (1, 2, 3))
_nearest1d, _nearest2d, _nearest3d = (_row(f"upsample_nearest{n}d") for n in (1, 2, 3))
_exact1d, _exact2d, _exact3d = (_row(f"_upsample_nearest_exact{n}d") for n in (1, 2, 3))
_linear, _bilinear, _bicubic, _trilinear = (_row(f"upsample_{name}") for name, _ in _LINEAR.values())
_bilinear_aa, _bicubic_aa = (_row(f"_upsample_{name}2d_aa") for name in ("bilinear", "bicubic"))


def _is_none(item):
    return isinstance(item, Static) and item.value is None


def _for_each_dim(emitter, item, dims, input, number):
    """A number for all dims, or one for each, as a list of floats or ints; None stays."""
    if _is_none(item):
        return item
    if isinstance(item, Static) and isinstance(item.value, (tuple, list, torch.Size)):
        return emitter.value(Static([_exactly(number, each) for each in item.value]))
    if isinstance(item, Static):
        item = emitter.constant(_exactly(number, item.value))
    known = emitter.unrolled(item)
    if known is not None:  # a tuple
        return emitter.list_of([_real(emitter, emitter.value(each), number) for each in known])
    value = emitter.value(item)
    optional = types.is_optional(value.type())
    if value.type().kind() == "ListType" or (optional and value.type().getElementType().kind() == "ListType"):
        return value
    if dims is None:
        dims = emitter.op("sub", emitter.op("dim", emitter.value(input)), emitter.constant(2))
    if optional:
        return emitter.inline(_as_many_ints if number is int else _as_many_floats, [value, dims], {})
    value = _real(emitter, value, number)
    if isinstance(dims, Static):
        return emitter.list_of([value] * dims.value)
    return emitter.op("mul", emitter.list_of([value]), dims)


def _as_many_ints(number: int | None, dims: int) -> list[int] | None:
    return None if number is None else [number] * dims


def _as_many_floats(number: float | None, dims: int) -> list[float] | None:
    return None if number is None else [number] * dims


def _exactly(number, value):
    return float(value) if number is float and type(value) is int else value


def _real(emitter, value, number):
    return emitter.op("Float", value) if number is float and value.type() == types.INT else value


def _resized(
    input,
    size: list[int] | None,
    scale_factor: list[float] | None,
    mode: str,
    align_corners: bool | None,
    recompute_scale_factor: bool | None,
    antialias: bool,
):
    dims = input.dim() - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    if dims < 1 or dims > 3:
        raise NotImplementedError(f"interpolate: input must have 3, 4 or 5 dims (N, C, ...), got {input.shape}")
    if size is not None and len(size) != dims:
        raise ValueError(f"interpolate: size must have {dims} entries for input {input.shape}, got {size}")
    again = recompute_scale_factor is not None and recompute_scale_factor
    if size is not None and again:
        raise ValueError("interpolate: recompute_scale_factor is not meaningful with an explicit size")
    if antialias and mode != "bilinear" and mode != "bicubic":
        raise ValueError(f"interpolate: antialias is for 'bilinear' and 'bicubic', not for '{mode}'")
    if scale_factor is not None and (again or mode == "area"):
        if len(scale_factor) != dims:
            raise ValueError(
                f"interpolate: scale_factor must have {dims} entries for input {input.shape}, got {scale_factor}"
            )
        whole = [math.floor(input.shape[i + 2] * scale_factor[i]) for i in range(dims)]
        return _by(input, whole, None, mode, align_corners, antialias, dims)
    return _by(input, size, scale_factor, mode, align_corners, antialias, dims)


def _by(input, size, scale, mode, align_corners, antialias, dims):
    if mode == "area" or mode == "nearest" or mode == "nearest-exact":
        if align_corners is not None:
            raise ValueError(
                f"interpolate: align_corners is for linear, bilinear, trilinear, bicubic, not for '{mode}'"
            )
        if mode == "area":
            return _averaged(input, size, dims)
        return _nearest(input, size, scale, dims) if mode == "nearest" else _nearest_exact(input, size, scale, dims)
    corners = align_corners is not None and align_corners
    if mode == "linear" and dims == 1:
        return _linear(input, size, corners, scale)
    if mode == "bilinear" and dims == 2:
        if antialias:
            return _bilinear_aa(input, size, corners, scale)
        return _bilinear(input, size, corners, scale)
    if mode == "bicubic" and dims == 2:
        if antialias:
            return _bicubic_aa(input, size, corners, scale)
        return _bicubic(input, size, corners, scale)
    if mode == "trilinear" and dims == 3:
        return _trilinear(input, size, corners, scale)
    raise NotImplementedError(f"interpolate: there is no mode '{mode}' for an input of {dims + 2} dims, {input.shape}")


def _averaged(input, size: list[int] | None, dims):
    assert size is not None
    if dims == 1:
        return _average1d(input, size)
    if dims == 2:
        return _average2d(input, size)
    return _average3d(input, size)


def _nearest(input, size, scale, dims):
    if dims == 1:
        return _nearest1d(input, size, scale)
    if dims == 2:
        return _nearest2d(input, size, scale)
    return _nearest3d(input, size, scale)


def _nearest_exact(input, size, scale, dims):
    if dims == 1:
        return _exact1d(input, size, scale)
    if dims == 2:
        return _exact2d(input, size, scale)
    return _exact3d(input, size, scale)
