"""Images of another size."""

from __future__ import annotations

import torch

from .._program import Value
from . import rule
from .pooling import adaptive_avg_pool


@rule("interpolate")
def interpolate(w, a, out):
    x, mode = a.input, a.mode
    n = x.rank - 2
    if mode == "area":
        a.output_size = list(out[0].shape[2:])
        w.step.name = f"adaptive_avg_pool{n}d"
        return adaptive_avg_pool(w, a, out)
    attributes = {"nearest": ("nearest", "asymmetric"), "nearest-exact": ("nearest", "half_pixel")}.get(mode)
    kind, place = attributes or (
        "cubic" if mode == "bicubic" else "linear",
        "align_corners" if a.align_corners else "half_pixel",
    )
    options = {"mode": kind, "coordinate_transformation_mode": place}
    if kind == "nearest":
        options["nearest_mode"] = "floor" if mode == "nearest" else "round_prefer_ceil"
    if kind == "cubic":
        options["cubic_coeff_a"] = -0.75
    if a.antialias:
        w.needs(18, "interpolate with antialias")
        # torch follows Pillow here: weights outside are left away, and the cubic one is Catmull and Rom's
        options |= {"antialias": 1, "exclude_outside": 1}
        if kind == "cubic":
            options["cubic_coeff_a"] = -0.5
    size, scale = a.size, a.scale_factor
    if size is None and not a.recompute_scale_factor:
        scales = [scale] * n if isinstance(scale, (int, float)) else list(scale)
        return w.op("Resize", x, None, w.const([1.0, 1.0, *map(float, scales)], torch.float32), None, **options)
    if size is None:
        size = list(out[0].shape[2:])
        if any(not isinstance(s, int) for s in size):
            raise NotImplementedError(
                "interpolate with recompute_scale_factor of sizes that may change cannot be written"
            )
    size = [size] * n if isinstance(size, (int, Value)) else list(size)
    return w.op("Resize", x, None, None, w.ints([w.size(x, 0), w.size(x, 1), *size]), **options)


_MODES = {
    **{f"upsample_nearest{n}d": "nearest" for n in (1, 2, 3)}, "upsample_linear1d": "linear", "upsample_bilinear2d": "bilinear",
    "upsample_bicubic2d": "bicubic", "upsample_trilinear3d": "trilinear",
}  # fmt: skip


@rule(*_MODES)
def upsample(w, a, out):
    """What `run_decompositions` makes of `interpolate`."""
    a.mode = _MODES[w.step.name]
    a.align_corners = None if a.mode == "nearest" else a.align_corners
    a.size, a.scale_factor, a.antialias, a.recompute_scale_factor = a.output_size, a.scale_factors, False, None
    return interpolate(w, a, out)


@rule("grid_sample", since=16)
def grid_sample(w, a, out):
    mode = a.mode if w.opset < 20 else {"bilinear": "linear", "bicubic": "cubic"}.get(a.mode, a.mode)
    return w.op(
        "GridSample", a.input, a.grid, mode=mode, padding_mode=a.padding_mode, align_corners=int(bool(a.align_corners))
    )


@rule("resample")
def resample(w, a, out):
    """One dim by a table: for each new place the sum of some old ones, each with its weight."""
    x, dim = a.input, a.dim % a.input.rank
    weights = w.cast(a.weights, x.dtype, a.weights.dtype)
    if behind := range(2, x.rank - dim + 1):
        weights = w.unsqueeze(weights, *behind)
    taken = w.op("Gather", x, a.indices, axis=dim)  # (..., taps, places, ...)
    return w.op("ReduceSum", w.op("Mul", taken, weights), w.ints([dim]), keepdims=0)
