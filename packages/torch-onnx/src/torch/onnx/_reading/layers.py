"""Layers: products, convolutions, pooling, normalisation, images."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from . import reader
from .shapes import ints


@reader("Gemm")
def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    a, b = a.t() if transA else a, b.t() if transB else b
    found = a @ b if alpha == 1 else alpha * (a @ b)
    return found if c is None else found + (c if beta == 1 else beta * c)


def _pads(x, kernel, strides, dilations, pads, auto):
    """Padding at both ends of each spatial dim; same padding by the sizes of the input."""
    n = len(kernel)
    if auto in ("NOTSET", "VALID"):
        pads = [0] * (2 * n) if pads is None or auto == "VALID" else pads
        return pads[:n], pads[n:]
    total = [
        max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
        for size, k, s, d in zip(x.shape[-n:], kernel, strides, dilations, strict=True)
    ]
    less, more = [t // 2 for t in total], [t - t // 2 for t in total]
    return (less, more) if auto == "SAME_UPPER" else (more, less)


def _padded(x, low, high, value=0.0):
    """The padding that an operator of torch takes, and the input with what it does not."""
    if low == high:
        return x, list(low)
    row = [amount for pair in zip(reversed(low), reversed(high), strict=True) for amount in pair]
    return F.pad(x, row, value=value), [0] * len(low)


@reader("Conv")
def conv(x, w, b=None, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None):
    n = w.dim() - 2
    strides, dilations = strides or [1] * n, dilations or [1] * n
    x, padding = _padded(x, *_pads(x, w.shape[2:], strides, dilations, pads, auto_pad))
    return (F.conv1d, F.conv2d, F.conv3d)[n - 1](x, w, b, strides, padding, dilations, group)


@reader("ConvTranspose")
def conv_transpose(x, w, b=None, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, output_padding=None, output_shape=None,
                   pads=None, strides=None):  # fmt: skip
    n = w.dim() - 2
    pads = pads or [0] * (2 * n)
    if auto_pad != "NOTSET" or output_shape is not None or pads[:n] != pads[n:]:
        raise NotImplementedError("onnx.load: ConvTranspose with automatic or uneven padding")
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
    return function(x, w, b, strides or [1] * n, pads[:n], output_padding or [0] * n, group, dilations or [1] * n)


@reader("MaxPool")
def max_pool(
    x,
    auto_pad="NOTSET",
    ceil_mode=0,
    dilations=None,
    kernel_shape=None,
    pads=None,
    storage_order=0,
    strides=None,
    *,
    outputs,
):
    n = len(kernel_shape)
    strides, dilations = strides or [1] * n, dilations or [1] * n
    planes = x.shape[-n:].numel()
    padded, padding = _padded(x, *_pads(x, kernel_shape, strides, dilations, pads, auto_pad), value=-float("inf"))
    if outputs > 1 and padded is not x:
        raise NotImplementedError("onnx.load: places of MaxPool with uneven padding")
    function = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[n - 1]
    found = function(padded, kernel_shape, strides, padding, dilations, bool(ceil_mode), outputs > 1)
    if outputs == 1:
        return found
    start = torch.arange(x.shape[:-n].numel()).reshape(*x.shape[:-n], *[1] * n) * planes
    return found[0], found[1] + start


@reader("AveragePool")
def avg_pool(
    x, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0, dilations=None, kernel_shape=None, pads=None, strides=None
):
    n = len(kernel_shape)
    strides = strides or [1] * n
    if dilations is not None and set(dilations) != {1}:
        raise NotImplementedError("onnx.load: AveragePool with dilations")
    low, high = _pads(x, kernel_shape, strides, [1] * n, pads, auto_pad)
    if low != high and not count_include_pad:
        raise NotImplementedError("onnx.load: AveragePool with uneven padding that does not count")
    x, padding = _padded(x, low, high)
    return (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[n - 1](
        x, kernel_shape, strides, padding, bool(ceil_mode), bool(count_include_pad)
    )


@reader("GlobalAveragePool")
def global_avg_pool(x):
    return x.mean(list(range(2, x.dim())), keepdim=True)


@reader("GlobalLpPool")
def global_lp_pool(x, p=2):
    return x.abs().pow(p).sum(list(range(2, x.dim())), keepdim=True).pow(1 / p)


@reader("LpPool")
def lp_pool(x, auto_pad="NOTSET", ceil_mode=0, dilations=None, kernel_shape=None, p=2, pads=None, strides=None):
    if dilations is not None and set(dilations) != {1}:
        raise NotImplementedError("onnx.load: LpPool with dilations")
    total = avg_pool(x.abs().pow(p), auto_pad, ceil_mode, 1, None, kernel_shape, pads, strides)
    count = 1
    for size in kernel_shape:
        count *= size
    return (total * count).pow(1 / p)


@reader("MaxUnpool")
def max_unpool(x, places, shape=None, kernel_shape=None, pads=None, strides=None):
    n = len(kernel_shape)
    strides, pads = strides or [1] * n, pads or [0] * (2 * n)
    sizes = [
        (s - 1) * t + k - a - b
        for s, t, k, a, b in zip(x.shape[2:], strides, kernel_shape, pads[:n], pads[n:], strict=True)
    ]
    sizes = [*x.shape[:2], *sizes]
    flat = torch.zeros(sizes, dtype=x.dtype).reshape(-1).scatter(0, places.reshape(-1), x.reshape(-1)).reshape(sizes)
    if shape is None or ints(shape) == sizes:
        return flat
    whole = torch.zeros(ints(shape), dtype=x.dtype)
    whole[tuple(slice(0, s) for s in sizes)] = flat
    return whole


@reader("GlobalMaxPool")
def global_max_pool(x):
    return x.amax(list(range(2, x.dim())), keepdim=True)


# --- normalisation ---


@reader("BatchNormalization")
def batch_norm(x, scale, bias, mean, var, epsilon=1e-5, momentum=0.9, training_mode=0, spatial=1):
    if training_mode:
        raise NotImplementedError("onnx.load: BatchNormalization in training mode")
    return F.batch_norm(x, mean, var, scale, bias, False, 0.1, epsilon)


@reader("InstanceNormalization")
def instance_norm(x, scale, bias, epsilon=1e-5):
    return F.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


@reader("LayerNormalization")
def layer_norm(x, scale, bias=None, axis=-1, epsilon=1e-5, stash_type=1):
    shape = list(x.shape[axis:])
    return F.layer_norm(x, shape, scale.expand(shape), None if bias is None else bias.expand(shape), epsilon)


@reader("RMSNormalization")
def rms_norm(x, scale, axis=-1, epsilon=1e-5, stash_type=1):
    return F.rms_norm(x, list(x.shape[axis:]), scale, epsilon)


@reader("GroupNormalization")
def group_norm(x, scale, bias, epsilon=1e-5, num_groups=1, stash_type=1):
    if scale.numel() == num_groups != x.shape[1]:  # before opset 21
        scale, bias = (p.repeat_interleave(x.shape[1] // num_groups) for p in (scale, bias))
    return F.group_norm(x, num_groups, scale, bias, epsilon)


@reader("LRN")
def local_response_norm(x, size, alpha=1e-4, beta=0.75, bias=1.0):
    return F.local_response_norm(x, size, alpha, beta, bias)


@reader("MeanVarianceNormalization")
def mean_variance(x, axes=(0, 2, 3)):
    dims = list(axes)
    y = x - x.mean(dims, keepdim=True)
    return y / (y.square().mean(dims, keepdim=True).sqrt() + 1e-9)


@reader("LpNormalization")
def lp_norm(x, axis=-1, p=2):
    return F.normalize(x, p, axis)


@reader("Dropout")
def dropout(x, ratio=None, training=None, seed=None, *, outputs):
    on = training is not None and bool(training)
    found = F.dropout(x, 0.5 if ratio is None else float(ratio), on)
    return found if outputs == 1 else (found, torch.ones_like(x, dtype=torch.bool) if not on else found != 0)


@reader("NegativeLogLikelihoodLoss")
def nll_loss(x, target, weight=None, ignore_index=-100, reduction="mean"):
    return F.nll_loss(x, target, weight, ignore_index=ignore_index, reduction=reduction)


@reader("SoftmaxCrossEntropyLoss")
def cross_entropy(x, target, weight=None, ignore_index=-100, reduction="mean", *, outputs):
    logs = torch.log_softmax(x, 1)
    loss = F.nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    return loss if outputs == 1 else (loss, logs)


# --- images ---


@reader("Resize")
def resize(x, roi=None, scales=None, sizes=None, mode="nearest", coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_floor",
           cubic_coeff_a=-0.75, antialias=0, **other):  # fmt: skip
    n = x.dim() - 2
    place = (coordinate_transformation_mode, nearest_mode)
    if mode == "nearest":
        kinds = {("asymmetric", "floor"): "nearest", ("half_pixel", "round_prefer_ceil"): "nearest-exact"}
        kind = kinds.get(place)
    else:
        kind = "bicubic" if mode == "cubic" else ("linear", "bilinear", "trilinear")[n - 1]
        if place[0] not in ("half_pixel", "pytorch_half_pixel", "align_corners") or (
            mode == "cubic" and cubic_coeff_a != -0.75
        ):
            kind = None
    if kind is None or other.get("axes") is not None:
        raise NotImplementedError(f"onnx.load: Resize with {mode}, {coordinate_transformation_mode}, {nearest_mode}")
    options = {"align_corners": place[0] == "align_corners"} if mode != "nearest" else {}
    if sizes is not None:
        return F.interpolate(x, ints(sizes)[2:], mode=kind, antialias=bool(antialias), **options)
    return F.interpolate(x, scale_factor=ints(scales)[2:], mode=kind, antialias=bool(antialias), **options)


@reader("GridSample")
def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=0):
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    return F.grid_sample(x, grid, mode, padding_mode, bool(align_corners))


@reader("Upsample")
def upsample(x, scales=None, mode="nearest", *, width_scale=None, height_scale=None):
    """Of opsets before 10: each output is the input at its place divided by the scale, rounded down."""
    factors = [1.0, 1.0, height_scale, width_scale] if scales is None else ints(scales)
    if list(factors[:2]) != [1.0, 1.0]:
        raise NotImplementedError(f"onnx.load: Upsample of batches or channels, by {factors}")
    if mode == "nearest":
        return F.interpolate(x, scale_factor=factors[2:], mode="nearest")
    for dim, factor in enumerate(factors[2:], 2):
        place = torch.arange(int(x.shape[dim] * factor), dtype=torch.float32) / factor
        low = place.floor().long().clamp(max=x.shape[dim] - 1)
        share = (place - low).to(x.dtype).reshape([-1 if d == dim else 1 for d in range(x.dim())])
        high = (low + 1).clamp(max=x.shape[dim] - 1)
        x = x.index_select(dim, low) * (1 - share) + x.index_select(dim, high) * share
    return x


@reader("SpaceToDepth")
def space_to_depth(x, blocksize):
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize).permute(0, 3, 5, 1, 2, 4)
    return x.reshape(n, c * blocksize**2, h // blocksize, w // blocksize)


@reader("DepthToSpace")
def depth_to_space(x, blocksize, mode="DCR"):
    if mode == "CRD":
        return F.pixel_shuffle(x, blocksize)
    n, c, h, w = x.shape
    x = x.reshape(n, blocksize, blocksize, c // blocksize**2, h, w).permute(0, 3, 4, 1, 5, 2)
    return x.reshape(n, c // blocksize**2, h * blocksize, w * blocksize)
