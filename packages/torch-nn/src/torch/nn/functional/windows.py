"""The windows that a convolution sees, as columns of a matrix, and back."""

from __future__ import annotations

import torch

from ._ops import ops
from ._sizes import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = ["fold", "unfold"]


def _blocks(op, size, kernel, dilation, padding, stride):
    """How many positions the window takes along each dim."""
    for name, values, least in (("kernel_size", kernel, 1), ("dilation", dilation, 1), ("stride", stride, 1)):
        if any(v < least for v in values):
            raise RuntimeError(f"{op}: {name} must be at least {least}, got {values}")
    if any(p < 0 for p in padding):
        raise RuntimeError(f"{op}: padding must not be negative, got {padding}")
    blocks = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, kernel, dilation, padding, stride)]
    if any(b < 1 for b in blocks):
        raise RuntimeError(
            f"{op}: the window (kernel_size {kernel}, dilation {dilation}) is larger than the padded image {tuple(size)}"
        )
    return blocks


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The sliding windows of images (N, C, H, W), one column each: (N, C * kh * kw, number of windows).

    >>> unfold(torch.arange(9.0).view(1, 1, 3, 3), 2)[0, :, 0]
    tensor([0., 1., 3., 4.])
    """
    if input.dim() not in (3, 4):
        raise RuntimeError(f"unfold: input must be (N, C, H, W) or (C, H, W), got shape {tuple(input.shape)}")
    if input.dim() == 3:
        return unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    kernel, dilation = expand(kernel_size, 2, "kernel_size"), expand(dilation, 2, "dilation")
    padding, stride = expand(padding, 2, "padding"), expand(stride, 2, "stride")
    bh, bw = _blocks("unfold", input.shape[2:], kernel, dilation, padding, stride)
    if any(padding):
        input = ops.constant_pad_nd(input, (padding[1], padding[1], padding[0], padding[0]))
    for dim in (2, 3):  # (N, C, bh, bw, kh, kw)
        i = dim - 2
        input = input.unfold(dim, dilation[i] * (kernel[i] - 1) + 1, stride[i])
    input = input[..., :: dilation[0], :: dilation[1]]
    n, c = input.shape[:2]
    columns = input.permute(0, 1, 4, 5, 2, 3)
    # Windows of one row are a view with overlaps, which nobody could write to.
    return columns.clone(memory_format=torch.contiguous_format).reshape(n, c * kernel[0] * kernel[1], bh * bw)


def fold(
    input: Tensor,
    output_size: int | Sequence[int | None],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Sum windows (N, C * kh * kw, number of windows) back into images (N, C, H, W): the transpose of :func:`unfold`.

    >>> torch.nn.functional.fold(torch.ones(1, 4, 4), (3, 3), (2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"fold: input must be (N, C * kh * kw, L) or (C * kh * kw, L), got shape {tuple(input.shape)}"
        )
    if input.dim() == 2:
        return fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    size, kernel = expand(output_size, 2, "output_size"), expand(kernel_size, 2, "kernel_size")
    dilation, padding = expand(dilation, 2, "dilation"), expand(padding, 2, "padding")
    stride = expand(stride, 2, "stride")
    bh, bw = _blocks("fold", size, kernel, dilation, padding, stride)
    n, rows, columns = input.shape
    if rows % (kernel[0] * kernel[1]):
        raise RuntimeError(f"fold: dim 1 of input is {rows}, which kernel_size {kernel} does not divide")
    if columns != bh * bw:
        raise RuntimeError(
            f"fold: input has {columns} windows, but output_size {size} with kernel_size {kernel}, dilation {dilation}, "
            f"padding {padding}, stride {stride} has {bh} x {bw} = {bh * bw}"
        )
    c = rows // (kernel[0] * kernel[1])
    windows = input.reshape(n, c, kernel[0], kernel[1], bh, bw)
    image = input.new_zeros(n, c, size[0] + 2 * padding[0], size[1] + 2 * padding[1])
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilation[0], j * dilation[1]
            image[
                :,
                :,
                top : top + stride[0] * (bh - 1) + 1 : stride[0],
                left : left + stride[1] * (bw - 1) + 1 : stride[1],
            ] += windows[:, :, i, j]
    return image[:, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]].contiguous()
