"""Layers: products, convolutions, pooling, normalisation, recurrence, images."""

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


# --- recurrence ---

_ORDER = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}  # ONNX's gates in our order


@reader("LSTM", "GRU", "RNN")
def recurrent(x, w, r, b=None, lengths=None, *states, hidden_size=None, direction="forward", linear_before_reset=0, activations=None,
              layout=0, kind, **other):  # fmt: skip
    usual = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}[kind]
    ways = 2 if direction == "bidirectional" else 1
    relu = kind == "RNN" and activations == ["Relu"] * ways
    strange = direction == "reverse" or layout or lengths is not None or any(v not in (None, 0) for v in other.values())
    if (
        strange
        or (not relu and activations not in (None, usual * ways))
        or (kind == "GRU" and not linear_before_reset)
        or len(states) > 2
    ):
        raise NotImplementedError(
            f"onnx.load: {kind} of this kind (direction, layout, lengths, activations, peepholes or order of reset)"
        )
    from torch.export._leaves import recurrent

    def gates(part):
        return torch.cat([part.chunk(len(_ORDER[kind]), 0)[i] for i in _ORDER[kind]], 0)

    weights = []
    for way in range(ways):
        weights += [gates(w[way]), gates(r[way])]
        if b is not None:
            weights += [gates(half) for half in b[way].chunk(2)]
    count = 2 if kind == "LSTM" else 1
    zeros = x.new_zeros(ways, x.shape[1], r.shape[2])
    first = [s if s is not None else zeros for s in (*states, *[None] * count)][:count]
    mode = kind if kind != "RNN" else "RNN_RELU" if relu else "RNN_TANH"
    out, *last = recurrent(x, first, weights, mode, 1, ways == 2, b is not None)
    return (out.reshape(*out.shape[:2], ways, -1).transpose(1, 2), *last)


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


@reader("DepthToSpace")
def depth_to_space(x, blocksize, mode="DCR"):
    if mode == "CRD":
        return F.pixel_shuffle(x, blocksize)
    n, c, h, w = x.shape
    x = x.reshape(n, blocksize, blocksize, c // blocksize**2, h, w).permute(0, 3, 4, 1, 5, 2)
    return x.reshape(n, c // blocksize**2, h * blocksize, w * blocksize)
