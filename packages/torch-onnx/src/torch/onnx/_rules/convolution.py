"""Convolutions."""

from __future__ import annotations

from . import rule


def _kernel(weight):
    """The sizes of a kernel; None where they may change: ONNX has them of the weight then."""
    sizes = list(weight.shape[2:])
    return sizes if all(isinstance(size, int) for size in sizes) else None


def _row(value, n):
    """One number for each spatial dim."""
    value = [value] if isinstance(value, int) else list(value)
    return value * n if len(value) == 1 else value


@rule("conv1d", "conv2d", "conv3d")
def conv(w, a, out):
    n = a.weight.rank - 2
    kernel, dilation = _kernel(a.weight), _row(a.dilation, n)
    if a.padding == "valid":
        pads = [0] * n * 2
    elif a.padding == "same":
        if kernel is None:
            raise NotImplementedError(
                f"{w.step.name} with padding='same' of a kernel whose sizes may change cannot be written"
            )
        total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        pads = [t // 2 for t in total] + [t - t // 2 for t in total]
    else:
        pads = _row(a.padding, n) * 2
    alone = a.input.rank == n + 1
    x = w.unsqueeze(a.input, 0) if alone else a.input
    found = w.op(
        "Conv",
        x,
        a.weight,
        a.bias,
        kernel_shape=kernel,
        strides=_row(a.stride, n),
        pads=pads,
        dilations=dilation,
        group=a.groups,
    )
    return w.squeeze(found, 0) if alone else found


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(w, a, out):
    n = a.weight.rank - 2
    alone = a.input.rank == n + 1
    x = w.unsqueeze(a.input, 0) if alone else a.input
    found = w.op(
        "ConvTranspose", x, a.weight, a.bias, kernel_shape=_kernel(a.weight), strides=_row(a.stride, n),
        pads=_row(a.padding, n) * 2, output_padding=_row(a.output_padding, n), dilations=_row(a.dilation, n), group=a.groups,
    )  # fmt: skip
    return w.squeeze(found, 0) if alone else found


@rule("convolution")
def convolution(w, a, out):
    return (conv_transpose if a.transposed else conv)(w, a, out)


@rule("conv_tbc")
def conv_tbc(w, a, out):
    x = w.op("Transpose", a.input, perm=[1, 2, 0])
    found = w.op("Conv", x, w.permute(a.weight, [2, 1, 0]), a.bias, pads=[a.pad, a.pad])
    return w.op("Transpose", found, perm=[2, 0, 1])
