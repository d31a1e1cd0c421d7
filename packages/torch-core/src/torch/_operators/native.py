"""Operators below the functions that users know, which some programs call by name: norms that also give the statistics
they used, and reductions of segments.
"""

from __future__ import annotations

from .. import _C
from .out import check_tensor, into

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


_op = _C._operator


def native_norm(self: Tensor, p: float = 2) -> Tensor:
    """The norm of all elements.

    >>> torch.native_norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return self.norm(p)


def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two int8 matrices in int32; the first may be of uint8.

    >>> torch._int_mm(torch.full((2, 3), 100, dtype=torch.int8), torch.full((3, 1), 100, dtype=torch.int8))
    tensor([[30000],
            [30000]], dtype=torch.int32)
    """
    if self.dtype not in (_C.int8, _C.uint8) or mat2.dtype != _C.int8:
        raise RuntimeError(
            f"_int_mm: expected a matrix of int8 or uint8 and one of int8, got {self.dtype} and {mat2.dtype}"
        )
    return _op("mm")(self.to(_C.int32), mat2.to(_C.int32))


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: Any, C: Any, HxW: Any, group: Any, eps: float
) -> Any:
    """Group norm of ``input`` (N, C, *), with the mean and the inverse deviation of each group (N, group)."""
    check_tensor("native_group_norm", input=input)
    if input.numel() != N * C * HxW or C % max(group, 1) or group < 1:
        raise RuntimeError(
            f"native_group_norm: input of shape {tuple(input.shape)} is not N={N} times C={C} times HxW={HxW} in group={group} groups"
        )
    if input.dtype in (_C.float16, _C.bfloat16):  # rounded once
        wide = [t if t is None else t.float() for t in (input, weight, bias)]
        return tuple(t.to(input.dtype) for t in native_group_norm(*wide, N, C, HxW, group, eps))
    groups = input.reshape(N, group, C // group * HxW)
    mean, deviation = _statistics(groups, 2, eps)
    normal = ((groups - mean.unsqueeze(2)) * deviation.unsqueeze(2)).reshape(N, C, HxW)
    return _affine(normal, weight, bias, 1).reshape(input.shape), mean, deviation


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: Any = None,
) -> Any:
    """Batch norm of ``input`` (N, C, *), with the mean and the inverse deviation of each channel that training used (none
    otherwise). Training moves the running statistics by ``momentum``."""
    check_tensor("native_batch_norm", input=input)
    if input.dim() < 2:
        raise RuntimeError(f"native_batch_norm: expected input (N, C, *), got shape {tuple(input.shape)}")
    given, others = input, [d for d in range(input.dim()) if d != 1]
    if input.dtype in (_C.float16, _C.bfloat16):
        input = input.float()
    if training:
        mean, deviation = _statistics(input, others, eps)
        count = input.numel() // max(input.shape[1], 1)
        for running, new in (
            (running_mean, mean),
            (running_var, input.var(others, correction=1) if count > 1 else None),
        ):
            if running is not None and new is not None:
                running.mul_(1 - momentum).add_(new.detach(), alpha=momentum)
        used, saved = (mean, deviation), (mean, deviation)
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError("native_batch_norm: running_mean and running_var must be given when not training")
        used, saved = (running_mean, (running_var + eps).rsqrt()), (input.new_empty(0), input.new_empty(0))
    shape = [-1 if d == 1 else 1 for d in range(input.dim())]
    normal = (input - used[0].reshape(shape)) * used[1].reshape(shape)
    like = given if running_mean is None else running_mean
    result = (_affine(normal, weight, bias, 1).to(given.dtype), *(s.detach().to(like.dtype) for s in saved))
    return result if out is None else tuple(into("native_batch_norm", r, o) for r, o in zip(result, out, strict=True))


def _native_batch_norm_legit(input, weight, bias, *arguments, out=None):
    """:func:`native_batch_norm`, where the running statistics may be left away."""
    if len(arguments) == 3:
        arguments = (None, None, *arguments)
    return native_batch_norm(input, weight, bias, *arguments, out=out)


def _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps):
    """:func:`native_batch_norm` by running statistics, which stay."""
    return native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)


def _statistics(x, dims, eps):
    return x.mean(dims), (x.var(dims, correction=0) + eps).rsqrt()


def _affine(x, weight, bias, dim):
    shape = [-1 if d == dim else 1 for d in range(x.dim())]
    x = x if weight is None else x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax by its input, from its result."""
    return _op("softmax_backward")(grad_output, output, dim).to(input_dtype)


#: reduction: its name in scatter_reduce, the result of no elements
SEGMENTS = {
    "sum": ("sum", 0),
    "mean": ("sum", 0),
    "prod": ("prod", 1),
    "max": ("amax", -float("inf")),
    "min": ("amin", float("inf")),
    "amax": ("amax", -float("inf")),
    "amin": ("amin", float("inf")),
}


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """Sums, means, products, maxima or minima of consecutive stretches of a dim, given by their lengths or by where they
    begin (and the last ends). ``lengths`` has the dims of ``data`` before ``axis``, too. ``initial`` takes part in each.

    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0]), "sum", lengths=torch.tensor([2, 0, 1]))
    tensor([3., 0., 3.])
    """
    check_tensor("segment_reduce", data=data)
    if reduce not in SEGMENTS:
        raise RuntimeError(f"segment_reduce: reduce must be one of {', '.join(SEGMENTS)}, got {reduce!r}")
    if indices is not None:
        raise NotImplementedError("segment_reduce: indices are not there; give lengths or offsets")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce: either lengths or offsets must be given, not both")
    if not data.dtype.is_floating_point:
        raise NotImplementedError(f"segment_reduce: not implemented for {data.dtype}")
    given = lengths if offsets is None else offsets
    if given.dtype not in (_C.int32, _C.int64):
        raise NotImplementedError(f"segment_reduce: lengths and offsets must be integers, got {given.dtype}")
    axis = axis + data.dim() if axis < 0 else axis
    if axis != given.dim() - 1 or axis >= data.dim() or given.shape[:-1] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce: axis must be the last dim of lengths or offsets, whose other dims are those of data before it; "
            f"got axis {axis}, shape {tuple(given.shape)} and data of shape {tuple(data.shape)}"
        )
    n = data.shape[axis]
    if offsets is not None:
        ends, lengths = offsets[..., 1:].long(), offsets.diff().long()
    else:
        lengths = lengths.long()
        ends = lengths.cumsum(-1)
    if not unsafe:
        if not _op("_holds")(lengths >= 0):
            raise RuntimeError(f"segment_reduce: lengths must not be negative, got {int(lengths.min())}")
        if not _op("_holds")(lengths.sum(-1) == n):
            raise RuntimeError(
                f"segment_reduce: the lengths of each row must sum to {n}, the size of dim {axis} of data"
            )
    count = lengths.shape[-1]
    places = _op("arange")(n, dtype=_C.int64, device=data.device).expand(*lengths.shape[:-1], n).contiguous()
    segment = _op("searchsorted")(ends.contiguous(), places, right=True)  # `count` for what belongs to none
    segment = segment.reshape(*segment.shape, *[1] * (data.dim() - axis - 1)).expand(data.shape)
    name, of_none = SEGMENTS[reduce]
    start = of_none if initial is None else initial
    begun = data.new_full((*data.shape[:axis], count + 1, *data.shape[axis + 1 :]), start)
    result = _op("scatter_reduce")(begun, axis, segment, data, name).narrow(axis, 0, count)
    if reduce != "mean":
        return result
    lengths = lengths.reshape(*lengths.shape, *[1] * (data.dim() - axis - 1))
    empty = float("nan") if initial is None else initial
    return _op("where")(lengths == 0, empty, result / lengths.clamp(min=1).to(data.dtype))


_segment_reduce = segment_reduce


def _within(input, indices):
    """The indices, each clamped into its dim."""
    return [i if i is None else i.clamp(-n, n - 1) for i, n in zip(indices, input.shape)]


def _unsafe_masked_index(input, mask, indices, fill):
    """``input[indices]`` where the mask is true and a number elsewhere, where indices may lie outside."""
    return _op("index")(input, _within(input, indices)).masked_fill(~mask, fill)


def _unsafe_masked_index_put_accumulate(input, mask, indices, values):
    """A copy of the input with values added at indices where the mask is true; elsewhere indices may lie outside."""
    return _op("index_put")(input, _within(input, indices), values.masked_fill(~mask, 0), True)
