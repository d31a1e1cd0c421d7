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


def _padded(x, low, high, value=0.0, most=None):
    """The padding that an operator of torch takes, at most half of a kernel, and the input with what it does not."""
    if low == high and (most is None or all(2 * amount <= kernel for amount, kernel in zip(low, most, strict=True))):
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
    strides, dilations, more = strides or [1] * n, dilations or [1] * n, output_padding or [0] * n
    if auto_pad.startswith("SAME"):
        output_shape = [size * stride for size, stride in zip(x.shape[2:], strides, strict=True)]
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
    if output_shape is None and pads[:n] == pads[n:]:
        return function(x, w, b, strides, pads[:n], more, group, dilations)
    whole = function(x, w, b, strides, [0] * n, more, group, dilations)
    if output_shape is not None:
        short = [max(size - have, 0) for size, have in zip(output_shape, whole.shape[2:], strict=True)]
        if any(short):
            more = [a + b for a, b in zip(more, short, strict=True)]
            whole = function(x, w, b, strides, [0] * n, more, group, dilations)
    for axis, (low, high) in enumerate(zip(pads[:n], pads[n:], strict=True), 2):
        if output_shape is not None:
            total = whole.shape[axis] - output_shape[axis - 2]
            low = total - total // 2 if auto_pad != "SAME_UPPER" else total // 2
            high = total - low
        whole = whole.narrow(axis, low, whole.shape[axis] - low - high)
    return whole


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
    padded, padding = _padded(
        x, *_pads(x, kernel_shape, strides, dilations, pads, auto_pad), -float("inf"), kernel_shape
    )
    if outputs > 1 and padded is not x:
        raise NotImplementedError("onnx.load: places of MaxPool with uneven padding")
    function = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[n - 1]
    found = function(padded, kernel_shape, strides, padding, dilations, bool(ceil_mode), outputs > 1)
    if outputs == 1:
        return found
    start = torch.arange(x.shape[:-n].numel()).reshape(*x.shape[:-n], *[1] * n) * planes
    places = found[1]
    if storage_order:  # counted with the first dim fastest
        total, step = torch.zeros_like(places), 1
        for size, place in zip(x.shape[-n:], torch.unravel_index(places, x.shape[-n:]), strict=True):
            total, step = total + place * step, step * size
        places = total
    return found[0], places + start


@reader("AveragePool")
def avg_pool(
    x, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0, dilations=None, kernel_shape=None, pads=None, strides=None
):
    n = len(kernel_shape)
    strides, dilations = strides or [1] * n, dilations or [1] * n
    low, high = _pads(x, kernel_shape, strides, dilations, pads, auto_pad)
    if set(dilations) == {1} and low == high and all(2 * a <= k for a, k in zip(low, kernel_shape, strict=True)):
        return (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[n - 1](
            x, kernel_shape, strides, low, bool(ceil_mode), bool(count_include_pad)
        )
    total = _sums(x, kernel_shape, strides, dilations, low, high, ceil_mode)
    places = torch.ones_like(x[:1, :1])
    if count_include_pad:
        places, low, high = _padded(places, low, high, 1.0, [0] * n)[0], [0] * n, [0] * n
    return total / _sums(places, kernel_shape, strides, dilations, low, high, ceil_mode)


def _sums(x, kernel, strides, dilations, low, high, ceil_mode):
    """The sum in each window, as a convolution with ones; windows of the last line may go past the end."""
    n, high = len(kernel), list(high)
    for i in range(n):
        span = dilations[i] * (kernel[i] - 1) + 1
        past = (x.shape[2 + i] + low[i] + high[i] - span) % strides[i]
        starts = (x.shape[2 + i] + low[i] + high[i] - span) // strides[i] + 1
        if ceil_mode and past and starts * strides[i] < x.shape[2 + i] + low[i]:
            high[i] += strides[i] - past
    row = [amount for pair in zip(reversed(low), reversed(high), strict=True) for amount in pair]
    planes = F.pad(x, row).reshape(-1, 1, *[size + a + b for size, a, b in zip(x.shape[2:], low, high, strict=True)])
    found = (F.conv1d, F.conv2d, F.conv3d)[n - 1](planes, x.new_ones(1, 1, *kernel), None, strides, 0, dilations)
    return found.reshape(*x.shape[:2], *found.shape[2:])


@reader("GlobalAveragePool")
def global_avg_pool(x):
    return x.mean(list(range(2, x.dim())), keepdim=True)


@reader("GlobalLpPool")
def global_lp_pool(x, p=2):
    return x.abs().pow(p).sum(list(range(2, x.dim())), keepdim=True).pow(1 / p)


@reader("LpPool")
def lp_pool(x, auto_pad="NOTSET", ceil_mode=0, dilations=None, kernel_shape=None, p=2, pads=None, strides=None):
    strides, dilations = strides or [1] * len(kernel_shape), dilations or [1] * len(kernel_shape)
    low, high = _pads(x, kernel_shape, strides, dilations, pads, auto_pad)
    return _sums(x.abs().pow(p), kernel_shape, strides, dilations, low, high, ceil_mode).pow(1 / p)


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
def batch_norm(x, scale, bias, mean, var, epsilon=1e-5, momentum=0.9, training_mode=0, spatial=1, *, outputs):
    if training_mode:
        dims = [d for d in range(x.dim()) if d != 1]
        own, spread = x.mean(dims), x.var(dims, unbiased=False)
        y = F.batch_norm(x, own, spread, scale, bias, False, 0.1, epsilon)
        kept = [old * momentum + new * (1 - momentum) for old, new in ((mean, own), (var, spread))]
        return y if outputs == 1 else (y, *kept)
    return F.batch_norm(x, mean, var, scale, bias, False, 0.1, epsilon)


@reader("InstanceNormalization")
def instance_norm(x, scale, bias, epsilon=1e-5):
    return F.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


@reader("LayerNormalization")
def layer_norm(x, scale, bias=None, axis=-1, epsilon=1e-5, stash_type=1, *, outputs):
    shape = list(x.shape[axis:])
    y = F.layer_norm(x, shape, scale.expand(shape), None if bias is None else bias.expand(shape), epsilon)
    if outputs == 1:
        return y
    dims, wide = list(range(x.dim()))[axis:], x.float() if stash_type == 1 else x
    mean = wide.mean(dims, keepdim=True)
    return y, mean, (wide.var(dims, unbiased=False, keepdim=True) + epsilon).rsqrt()


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
def space_to_depth(x, blocksize, mode="DCR"):
    if mode == "CRD":
        return F.pixel_unshuffle(x, blocksize)
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
