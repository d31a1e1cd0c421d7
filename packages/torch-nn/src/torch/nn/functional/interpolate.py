"""Resizing images and sequences.

All modes but 'area' are separable: along one dim each output is a weighted sum of few inputs (1 for nearest, 2 for
linear, 4 for cubic, a whole window with ``antialias``).  ``_taps`` says which and with what weights, and the dims are
done one after another by the operator ``resample``, whose gradient is itself with the table turned around.
"""

from __future__ import annotations

import functools
import math
import warnings

import torch
from torch._prims_common import suggest_memory_format

from ._ops import ops
from ._sizes import expand
from .pooling import adaptive_avg_pool2d, adaptive_avg_pool3d

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
_NEAREST = ("nearest", "nearest-exact", "area")


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the spatial dims of ``input`` (N, C, ...) to ``size`` or by ``scale_factor``.

    ``mode``: 'nearest', 'nearest-exact', 'area', 'linear' (3 dims), 'bilinear', 'bicubic' (4 dims), 'trilinear' (5).
    With ``align_corners`` the centres of the corner pixels stay in place, else the edges of the image do.

    >>> interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    n = input.dim() - 2
    if n not in (1, 2, 3):
        given = size if size is not None else scale_factor
        spatial = max(input.dim() - 2, 0)
        kind = ValueError if isinstance(given, (list, tuple)) and len(given) != spatial else NotImplementedError
        raise kind(f"interpolate: input must have 3, 4 or 5 dims (N, C, ...), got {tuple(input.shape)}")
    if mode not in _LINEAR and mode not in _NEAREST:
        raise NotImplementedError(f"interpolate: unknown mode {mode!r}; use one of {', '.join((*_NEAREST, *_LINEAR))}")
    if mode in _LINEAR and _LINEAR[mode] != n:
        raise NotImplementedError(
            f"interpolate: mode {mode!r} is for {_LINEAR[mode] + 2} dims, got {tuple(input.shape)}"
        )
    if align_corners is not None and mode not in _LINEAR:
        raise ValueError(f"interpolate: align_corners is for {', '.join(_LINEAR)}, not for {mode!r}")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f"interpolate: antialias is for 'bilinear' and 'bicubic', not for {mode!r}")
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    if not torch.jit.is_scripting() and getattr(input, "is_quantized", False):  # compiled programs have no such images
        resized = _run(input.dequantize(), size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
        return torch.quantize_per_tensor(resized, input.q_scale(), input.q_zero_point(), input.dtype)
    return _run(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


def _run(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
    """Resize; a trace puts a program in the place of this function."""
    n = input.dim() - 2
    sizes, scales = _sizes(input, n, size, scale_factor, recompute_scale_factor)
    if any(s <= 0 for s in (*sizes, *input.shape[2:])):
        raise RuntimeError(
            f"interpolate: input and output sizes must be positive, got {tuple(input.shape[2:])}, {sizes}"
        )
    if mode == "area":
        return _area(input, sizes)
    kind = "cubic" if mode == "bicubic" else mode if mode in _NEAREST else "linear"
    image = input.dtype == torch.uint8 and kind not in _NEAREST
    if kind not in _NEAREST and not image and not input.is_floating_point():
        raise NotImplementedError(
            f"interpolate: mode {mode!r} is for floating point numbers and uint8, got {input.dtype}; convert input first"
        )
    # sums need more digits than pixels; nearest places are summed in the gradient
    half = input.dtype in (torch.float16, torch.bfloat16) and (kind not in _NEAREST or input.requires_grad)
    x = input.float() if half else input
    form = suggest_memory_format(input)
    last = form != torch.contiguous_format
    if last and kind in _NEAREST:  # rows of channels are chosen, and so are those of the gradient
        x = x.movedim(1, -1)
        for i in reversed(range(n)):
            x = _resize(x, 1 + i, sizes[i], scales[i], kind, False, False, False)
        return x.movedim(-1, 1).to(input.dtype)
    for i in reversed(range(n)):
        x = _resize(x, 2 + i, sizes[i], scales[i], kind, bool(align_corners), antialias, image)
        if image:  # it stays one after each pass
            x = (x + 0.5).floor().clamp(0, 255)
    x = x.to(input.dtype)
    return x.contiguous(memory_format=form) if last else x


def _sizes(input, n, size, scale_factor, recompute_scale_factor):
    """Output sizes, and for each dim the scale factor that maps places (None: the quotient of the sizes)."""
    if size is not None:
        if recompute_scale_factor:
            raise ValueError("interpolate: recompute_scale_factor is not meaningful with an explicit size")
        if isinstance(size, (list, tuple)) and len(size) != n:
            raise ValueError(
                f"interpolate: size must have {n} entries for input {tuple(input.shape)}, got {tuple(size)}"
            )
        sizes = expand(size, n, "size")
        if any(isinstance(s, float) for s in sizes):
            raise TypeError(f"interpolate: size must be whole numbers, got {size}; scale_factor takes fractions")
        return sizes, (None,) * n
    if isinstance(scale_factor, (list, tuple)) and len(scale_factor) != n:
        raise ValueError(
            f"interpolate: scale_factor must have {n} entries for input {tuple(input.shape)}, got {tuple(scale_factor)}"
        )
    scales = expand(scale_factor, n, "scale_factor")
    sizes = tuple(math.floor(have * scale) for have, scale in zip(input.shape[2:], scales))
    return sizes, (None,) * n if recompute_scale_factor else scales


def _area(input, sizes):
    if len(sizes) == 1:
        return ops.adaptive_avg_pool1d(input, sizes[0])
    return (adaptive_avg_pool2d if len(sizes) == 2 else adaptive_avg_pool3d)(input, sizes)


def _resize(x, dim, out, scale, kind, align_corners, antialias, image):
    size = x.shape[dim]
    if kind == "nearest" or kind == "nearest-exact":
        if torch.jit.is_scripting():  # compiled programs keep no tables
            return x.index_select(dim, _places(size, out, scale, kind).to(x.device))
        return x.index_select(dim, *_for(x, _nearest, size, out, scale, kind))
    floating = x if x.is_floating_point() else x.float()
    return ops.resample(floating, dim, *_for(x, _table, size, out, scale, kind, align_corners, antialias, image))


def _for(x, table, *key):
    """The table on the device of ``x``; of tensors of a class it is made anew, as the class may make it, and so that each
    trace records the same."""
    found = (table if type(x) is torch.Tensor and not torch.jit.is_tracing() else table.__wrapped__)(*key)
    return found if x.is_cpu else [t.to(x.device) for t in found]


def _kept(make):
    """Keeps what ``make`` returns, unless a mode or a transform around the call made it something else than tensors of
    the CPU with values."""
    tables = {}

    @functools.wraps(make)
    def table(*key):
        found = tables.get(key)
        if found is None:
            found = make(*key)
            if all(map(_is_plain, found)):
                if len(tables) == 256:
                    tables.clear()
                tables[key] = found
        return found

    return table


def _is_plain(t):
    try:
        return type(t) is torch.Tensor and t.is_cpu and t.data_ptr() != 0
    except RuntimeError:  # no memory of its own
        return False


def _places(size: int, out: int, scale: float | None, kind: str):
    """The source place of each output."""
    step = 1 / scale if scale is not None else size / out
    shift = 0.5 if kind == "nearest-exact" else 0.0
    places = torch.arange(out, dtype=torch.float32, device="cpu") + shift
    places = (places * torch.tensor(step, dtype=torch.float32, device="cpu")).floor()
    return places.to(torch.int64).clamp(max=size - 1)


@_kept
def _nearest(*key):
    return (_places(*key),)


@_kept
def _table(size, out, scale, kind, align_corners, antialias, image):
    """The source places and their weights, both (taps, out), as ``resample`` takes them.

    Weights for images are the 16-bit fixed-point numbers that Pillow and PyTorch use, so that ties round alike.
    """
    indices, weights = _taps(size, out, scale, kind, align_corners, antialias)
    indices, weights = torch.stack(list(indices)), torch.stack(list(weights))
    if image:
        unit = 2.0
        while unit < 2**22 and weights.max().item() * unit * 2 + 0.5 < 2**15:
            unit *= 2
        weights = (weights * unit).round() / unit
    return indices, weights


def _taps(size, out, scale, kind, align_corners, antialias):
    """For each tap the source places (out,) and weights (out,), in float64 on the CPU."""
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = 1 / scale if scale is not None else size / out
    places = torch.arange(out, dtype=torch.float64, device="cpu")
    support = {"linear": 1, "cubic": 2}[kind]
    if antialias:
        return _window_taps(places, size, out, step, support, kind, align_corners)
    centre = places * step if align_corners else (places + 0.5) * step - 0.5
    if kind == "linear":
        centre = centre.clamp(min=0)
    first = centre.floor()
    t = centre - first
    if kind == "linear":
        taps = [(0, 1 - t), (1, t)]
    else:
        a = -0.75
        taps = [(k, _cubic(t - k, a)) for k in (-1, 0, 1, 2)]
    return zip(*(((first + k).clamp(0, size - 1).to(torch.int64), weight) for k, weight in taps))


def _cubic(t, a):
    """Keys' cubic convolution kernel (1981, equation 15, with a for its -1/2)."""
    t = t.abs()
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * t * a - 4 * a
    return torch.where(t <= 1, near, torch.where(t < 2, far, 0 * t))  # NaN stays NaN


def _window_taps(places, size, out, step, support, kind, align_corners):
    """Antialiased: the kernel is stretched over the window that shrinks to one output, and normalised."""
    stretch = max(step, 1.0)
    reach = support * stretch
    centre = step * (places + 0.5)
    low = (centre - reach + 0.5).to(torch.int64).clamp(min=0)
    high = (centre + reach + 0.5).to(torch.int64).clamp(max=size)
    indices, weights = [], []
    for k in range(math.ceil(reach) * 2 + 1):
        index = low + k
        t = (index.to(torch.float64) - centre + 0.5) / stretch
        weight = (1 - t.abs()).clamp(min=0) if kind == "linear" else _cubic(t, -0.5)
        weights.append(torch.where(index < high, weight, torch.zeros_like(weight)))
        indices.append(index.clamp(max=size - 1))
    total = sum(weights)
    return indices, [weight / total for weight in weights]


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """:func:`interpolate` under its name of 2017.

    >>> torch.nn.functional.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """:func:`interpolate` with mode 'nearest'.

    >>> torch.nn.functional.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """:func:`interpolate` with mode 'bilinear' and ``align_corners=True``, as it was in 2017.

    >>> torch.nn.functional.upsample_bilinear(torch.tensor([[[[1.0, 3.0]]]]), (1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    warnings.warn("upsample_bilinear aligns corners; interpolate(mode='bilinear') says so explicitly", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
