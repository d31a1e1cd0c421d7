"""Pooling: maxima, averages and norms over windows, and back."""

from __future__ import annotations

import math

import torch
from torch._seams import in_float32

from ._ops import ops
from ._sizes import check_batched, expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


__all__ = [
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "fractional_max_pool2d", "fractional_max_pool3d",
    "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d",
    "max_unpool3d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d_with_indices",
    "fractional_max_pool2d_with_indices", "fractional_max_pool3d_with_indices", "max_pool1d_with_indices",
    "max_pool2d_with_indices", "max_pool3d_with_indices",
]  # fmt: skip


def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """The maximum of each window of ``input`` (N, C, L); the windows step by ``stride``, by default their size.

    >>> max_pool1d(torch.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2)
    tensor([[[3., 4.]]])
    """
    op = ops.max_pool1d_with_indices if return_indices else ops.max_pool1d
    return op(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """The maximum of each window of ``input`` (N, C, H, W); with ``return_indices`` also where in H * W it stood.

    >>> torch.nn.functional.max_pool2d(torch.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    op = ops.max_pool2d_with_indices if return_indices else ops.max_pool2d
    return op(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """The maximum of each window of ``input`` (N, C, D, H, W).

    >>> torch.nn.functional.max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    op = ops.max_pool3d_with_indices if return_indices else ops.max_pool3d
    return op(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """:func:`max_pool1d` with indices."""
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """:func:`max_pool2d` with indices."""
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """:func:`max_pool3d` with indices."""
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def _output_size(op, input, output_size, n):
    """``output_size`` with its Nones (keep the size) filled in."""
    if input.dim() not in (n + 1, n + 2):
        kind = ValueError if n > 1 and input.dim() <= n else RuntimeError
        raise kind(f"{op}: input must have {n + 1} or {n + 2} dims, got shape {tuple(input.shape)}")
    size = expand(output_size, n, "output_size")
    return tuple(have if want is None else want for want, have in zip(size, input.shape[-n:]))


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """Averages over as many windows as ``output_size`` (H, W) says; None keeps a size.

    >>> torch.nn.functional.adaptive_avg_pool2d(torch.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    return ops.adaptive_avg_pool2d(input, _output_size("adaptive_avg_pool2d", input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """Averages over as many windows as ``output_size`` (D, H, W) says; None keeps a size.

    >>> torch.nn.functional.adaptive_avg_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 1)
    tensor([[[[3.5000]]]])
    """
    return ops.adaptive_avg_pool3d(input, _output_size("adaptive_avg_pool3d", input, output_size, 3))


def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Tensor:
    """Maxima of ``output_size`` windows of ``input`` (N, C, L).

    >>> torch.nn.functional.adaptive_max_pool1d(torch.arange(6.0).view(1, 6), 2)
    tensor([[2., 5.]])
    """
    result = ops.adaptive_max_pool1d(input, _output_size("adaptive_max_pool1d", input, output_size, 1))
    return result if return_indices else result[0]


def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Tensor:
    """Maxima over as many windows as ``output_size`` (H, W) says; None keeps a size.

    >>> torch.nn.functional.adaptive_max_pool2d(torch.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    result = ops.adaptive_max_pool2d(input, _output_size("adaptive_max_pool2d", input, output_size, 2))
    return result if return_indices else result[0]


def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Tensor:
    """Maxima over as many windows as ``output_size`` (D, H, W) says; None keeps a size.

    >>> torch.nn.functional.adaptive_max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    result = ops.adaptive_max_pool3d(input, _output_size("adaptive_max_pool3d", input, output_size, 3))
    return result if return_indices else result[0]


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """:func:`adaptive_max_pool1d` with indices."""
    return adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """:func:`adaptive_max_pool2d` with indices."""
    return adaptive_max_pool2d(input, output_size, True)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """:func:`adaptive_max_pool3d` with indices."""
    return adaptive_max_pool3d(input, output_size, True)


def _lp_pool(n, input, norm_type, kernel_size, stride, ceil_mode):
    kernel = expand(kernel_size, n, "kernel_size")
    stride = () if stride is None else stride
    if norm_type == math.inf:
        return getattr(ops, f"max_pool{n}d")(input.abs(), kernel, stride, 0, 1, ceil_mode)
    average = getattr(ops, f"avg_pool{n}d")(input.pow(norm_type), kernel, stride, 0, ceil_mode)
    total = average * math.prod(kernel)
    # sign and relu keep the root away from the rounding below zero
    return (torch.sign(total) * ops.relu(total.abs())).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """``(sum of x^p)^(1/p)`` over each window of ``input`` (N, C, L); the greatest magnitude for ``p = inf``.

    >>> torch.nn.functional.lp_pool1d(torch.tensor([[[3.0, 4.0]]]), 2, 2)
    tensor([[[5.]]])
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """``(sum of x^p)^(1/p)`` over each window of ``input`` (N, C, H, W).

    >>> lp_pool2d(torch.tensor([[[[3.0, 4.0]]]]), 2, (1, 2))
    tensor([[[[5.]]]])
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """``(sum of x^p)^(1/p)`` over each window of ``input`` (N, C, D, H, W)."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _unpool(n, input, indices, kernel_size, stride, padding, output_size):
    op = f"max_unpool{n}d"
    x, batched = check_batched(op, input, n)
    if indices.dtype != torch.int64:
        raise RuntimeError(f"{op}: indices must be int64, got {indices.dtype}")
    if indices.shape != input.shape:
        raise RuntimeError(f"{op}: indices have shape {tuple(indices.shape)}, input has {tuple(input.shape)}")
    kernel = expand(kernel_size, n, "kernel_size")
    stride = kernel if stride is None else expand(stride, n, "stride")
    padding = expand(padding, n, "padding")
    if any(s <= 0 for s in stride):
        raise RuntimeError(f"{op}: stride must be positive, got {stride}")
    default = [(size - 1) * s - 2 * p + k for size, k, s, p in zip(x.shape[2:], kernel, stride, padding)]
    size = default if output_size is None else list(output_size)
    if len(size) == n + 2:
        size = size[2:]
    if len(size) != n:
        raise ValueError(f"{op}: output_size must have {n} or {n + 2} entries, got {tuple(output_size)}")
    for want, usual, s in zip(size, default, stride):
        if not usual - s < want < usual + s:
            raise ValueError(f"{op}: invalid output_size {tuple(size)}: each entry must be within stride of {default}")
    places = 1
    for want in size:
        places *= want
    if not ops._holds((indices >= 0) & (indices < places)):
        raise RuntimeError(f"{op}: found an invalid max index outside the output of size {tuple(size)}")
    output = getattr(ops, op)(x, indices.reshape(x.shape), size)
    return output if batched else output.squeeze(0)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: int | Sequence[int | None] | None = None,
) -> Tensor:
    """Put the maxima of :func:`max_pool1d` back where they stood; zeros elsewhere.

    >>> values, places = torch.nn.functional.max_pool1d(torch.tensor([[[1.0, 3.0, 4.0, 2.0]]]), 2, return_indices=True)
    >>> torch.nn.functional.max_unpool1d(values, places, 2)
    tensor([[[0., 3., 4., 0.]]])
    """
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: int | Sequence[int | None] | None = None,
) -> Tensor:
    """Put the maxima of :func:`max_pool2d` back where they stood; zeros elsewhere.

    >>> values, places = torch.nn.functional.max_pool2d(torch.arange(4.0).view(1, 1, 2, 2), 2, return_indices=True)
    >>> torch.nn.functional.max_unpool2d(values, places, 2)
    tensor([[[[0., 0.],
              [0., 3.]]]])
    """
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: int | Sequence[int | None] | None = None,
) -> Tensor:
    """Put the maxima of :func:`max_pool3d` back where they stood; zeros elsewhere.

    >>> values, places = torch.nn.functional.max_pool3d(torch.arange(8.0).view(1, 1, 2, 2, 2), 2, return_indices=True)
    >>> torch.nn.functional.max_unpool3d(values, places, 2).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


def _fractional_starts(sample, size, out, kernel):
    """Where the windows of one dim begin (Graham 2014, equation 4): a pseudo-random sequence with steps of a mean length.

    ``sample`` (N, C) in [0, 1).
    """
    if out <= 1:
        return torch.full((*sample.shape, out), size - kernel, dtype=torch.int64, device=sample.device)
    alpha = (size - kernel) / (out - 1)
    i = torch.arange(out - 1, device=sample.device, dtype=sample.dtype)
    u = sample.unsqueeze(-1)
    starts = ((i + u) * alpha).to(torch.int64) - (u * alpha).to(torch.int64)
    end = torch.full((*sample.shape, 1), size - kernel, dtype=torch.int64, device=sample.device)
    return torch.cat([starts, end], -1)


@in_float32
def _fractional(n, input, kernel_size, output_size, output_ratio, return_indices, samples):
    op = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{op}: give output_size or output_ratio")
    x, batched = check_batched(op, input, n)
    kernel = expand(kernel_size, n, "kernel_size")
    if output_size is None:
        ratio = expand(output_ratio, n, "output_ratio")
        if not all(0 < r < 1 for r in ratio):
            raise ValueError(f"{op}: output_ratio must be between 0 and 1, got {ratio}")
        output_size = tuple(int(size * r) for size, r in zip(x.shape[2:], ratio))
    output = expand(output_size, n, "output_size")
    for size, out, k in zip(x.shape[2:], output, kernel):
        if out < 0 or k < 1 or out + k - 1 > size:
            raise RuntimeError(f"{op}: output_size {output} and kernel_size {kernel} do not fit input {tuple(x.shape)}")
    batch, channels = x.shape[:2]
    if channels == 0:
        raise RuntimeError(f"{op}: expected input with channels, got shape {tuple(input.shape)}")
    if samples is None:
        samples = torch.rand(batch, channels, n, dtype=x.dtype, device=x.device)
    else:
        samples = samples[:batch]  # as in PyTorch there may be samples of more examples
    if tuple(samples.shape) != (batch, channels, n):
        raise RuntimeError(f"{op}: _random_samples must be {(batch, channels, n)}, got {tuple(samples.shape)}")
    # The flat index of every element of every window: (N, C, out..., kernel...).
    index = torch.zeros((), dtype=torch.int64, device=x.device)
    for i, (size, out, k) in enumerate(zip(x.shape[2:], output, kernel)):
        # PyTorch's samples name the last dim first for planes, and the first one first for volumes
        starts = _fractional_starts(samples[:, :, 1 - i if n == 2 else i], size, out, k)
        window = starts.unsqueeze(-1) + torch.arange(k, device=x.device)  # (N, C, out, k)
        shape = [batch, channels] + [1] * (2 * n)
        shape[2 + i], shape[2 + n + i] = out, k
        index = index * size + window.reshape(shape)
    windows = 1
    for k in kernel:
        windows *= k
    places = 1
    for out in output:
        places *= out
    index = index.reshape(batch, channels, places, windows)
    flat = x.flatten(2).gather(2, index.flatten(2))
    values = flat.reshape(index.shape)
    # the last of equal maxima would do as well; max takes the first
    best, which = values.max(-1)
    shape = (batch, channels, *output) if batched else (channels, *output)
    best = best.reshape(shape)
    return (best, index.gather(3, which.unsqueeze(-1)).reshape(shape)) if return_indices else best


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int | None] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    """Max pooling to a size that need not divide the input's, over windows at random places (Graham 2014).

    >>> torch.nn.functional.fractional_max_pool2d(torch.zeros(1, 3, 8, 8), 2, output_size=(4, 4)).shape
    torch.Size([1, 3, 4, 4])
    """
    return _fractional(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int | None] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    """:func:`fractional_max_pool2d` over three dims."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int | None] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """:func:`fractional_max_pool2d` with indices."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, True, _random_samples)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int | None] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """:func:`fractional_max_pool3d` with indices."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, True, _random_samples)
