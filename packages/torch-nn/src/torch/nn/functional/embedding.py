"""Rows of a table, looked up by number."""

from __future__ import annotations

import torch
from torch._seams import of_tensors

from ._asking import asking
from ._ops import ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


__all__ = ["embedding", "embedding_bag", "embedding_renorm_", "one_hot"]


@asking(1)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Classes (*) as rows (*, num_classes) of zeros with a one at the class; as many classes as needed by default.

    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype != torch.int64:
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, got {tensor.dtype}")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("one_hot: an empty tensor has no classes to count; give num_classes")
    else:
        if not ops._holds(tensor >= 0):
            raise RuntimeError(f"one_hot: class values must be non-negative, got {int(tensor.min())}")
        if num_classes == -1:
            num_classes = int(tensor.max()) + 1
        elif num_classes < 1:
            raise RuntimeError(f"one_hot: num_classes should be positive, got {num_classes}")
        elif not ops._holds(tensor < num_classes):
            largest = int(tensor.max())
            raise RuntimeError(f"one_hot: class values must be smaller than num_classes: {largest} >= {num_classes}")
    return tensor.new_zeros(*tensor.shape, num_classes).scatter_(-1, tensor.unsqueeze(-1), 1)


def _renorm(weight, rows, max_norm, norm_type):
    """Scale the rows that are used down to ``max_norm``, in place."""
    if weight.is_meta:  # which rows are used is not known, and nothing is written
        return
    with torch.no_grad():
        weight = torch.autograd.forward_ad.unpack_dual(weight).primal  # a constant to tangents, as to gradients
        rows = torch.unique(rows)
        used = weight[rows]
        norms = torch.norm(used, p=norm_type, dim=1, keepdim=True)
        weight[rows] = torch.where(norms > max_norm, used * (max_norm / (norms + 1e-7)), used)


def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows of a table that ``indices`` names down to a norm of ``max_norm``, in place: ``torch.embedding_renorm_``.

    >>> torch.embedding_renorm_(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), torch.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000],
            [6.0000, 8.0000]])
    """
    _renorm(weight, indices.reshape(-1), max_norm, norm_type)
    return weight


def _check_padding(op, padding_idx, num, error=AssertionError):
    if padding_idx is None:
        return -1
    if not -num <= padding_idx < num:
        raise error(f"{op}: padding_idx {padding_idx} must be within num_embeddings {num}")
    return padding_idx % num


@of_tensors
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows ``input`` (*) of the table ``weight`` (V, D): (*, D).

    The row ``padding_idx`` gets no gradient; ``max_norm`` scales the rows used in place; ``scale_grad_by_freq`` divides
    gradients by how often a row is used.

    >>> embedding(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if weight.dim() != 2:
        raise RuntimeError(f"embedding: 'weight' must be 2-D (rows, width), got shape {tuple(weight.shape)}")
    padding_idx = _check_padding("embedding", padding_idx, weight.shape[0]) if padding_idx is not None else -1
    if max_norm is not None:
        _renorm(weight, input.reshape(-1), max_norm, norm_type)
    return ops.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse and weight.requires_grad)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of embeddings over bags: rows of ``input`` (B, N), or stretches of ``input`` (N) from ``offsets``.

    Empty bags give zeros.  ``per_sample_weights`` (only for 'sum') multiplies each embedding.

    >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([[0, 1], [2, 2]]), table, mode="sum")
    tensor([[ 4.,  6.],
            [10., 12.]])
    """
    if weight.dtype == torch.int64 and input.is_floating_point():  # 2018 had weight first
        input, weight = weight, input
    if weight.dim() != 2:
        raise ValueError(f"embedding_bag: weight has to be a 2D Tensor (rows, width), got shape {tuple(weight.shape)}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode has to be one of sum, mean or max, got {mode!r}")
    if per_sample_weights is not None:
        if input.shape != per_sample_weights.shape:
            raise ValueError(
                f"embedding_bag: per_sample_weights has shape {tuple(per_sample_weights.shape)}, input {tuple(input.shape)}"
            )
        if per_sample_weights.dtype != weight.dtype:
            raise RuntimeError(
                f"embedding_bag: per_sample_weights must have the same type as weight, {weight.dtype}, "
                f"got {per_sample_weights.dtype}; convert with .to({weight.dtype})"
            )
        if mode != "sum":
            raise NotImplementedError(f"embedding_bag: per_sample_weights exists only for mode='sum', got {mode!r}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: input of 2 dims is already cut into bags; offsets must be None")
        bags = torch.arange(input.shape[0], device=input.device).unsqueeze(1).expand(input.shape).reshape(-1)
        count, rows = input.shape[0], input.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("embedding_bag: input of 1 dim needs offsets, the place where each bag begins")
        if offsets.dim() != 1:
            raise ValueError(f"embedding_bag: offsets has to be a 1D Tensor, got shape {tuple(offsets.shape)}")
        bags, count, rows = *_bags(input, offsets, include_last_offset), input
    else:
        raise ValueError(f"embedding_bag: input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    padding_idx = _check_padding("embedding_bag", padding_idx, weight.shape[0], RuntimeError)
    if max_norm is not None:
        _renorm(weight, rows, max_norm, norm_type)

    vectors = ops.embedding(weight, rows, padding_idx, scale_grad_by_freq, sparse and weight.requires_grad)
    width, dtype = weight.shape[1], weight.dtype
    if mode != "max" and dtype in (torch.float16, torch.bfloat16):  # summed with more digits than the result has
        vectors = vectors.float()
    if per_sample_weights is not None:
        vectors = vectors * per_sample_weights.reshape(-1, 1)
    if input.dim() == 2 and input.shape[1] and padding_idx < 0:  # bags of one size
        vectors = vectors.reshape(*input.shape, width)
        if mode == "max":
            return vectors.max(1).values
        return (vectors.sum(1) if mode == "sum" else vectors.mean(1)).to(dtype)
    counted = torch.ones(bags.shape, dtype=vectors.dtype, device=vectors.device)
    if mode == "max":
        return _segment_max(vectors, bags, count, rows == padding_idx if padding_idx >= 0 else None)
    if padding_idx >= 0:
        counted = (rows != padding_idx).to(vectors.dtype)
        vectors = torch.where((rows == padding_idx).unsqueeze(1), 0, vectors)
    total = vectors.new_zeros(count, width).index_add(0, bags, vectors)
    if mode == "sum":
        return total.to(dtype)
    sizes = torch.zeros(count, dtype=total.dtype, device=total.device).index_add(0, bags, counted)
    return (total / sizes.clamp(min=1).unsqueeze(1)).to(dtype)


def _bags(input, offsets, include_last_offset):
    """The bag that each entry of ``input`` is in, and how many bags there are."""
    if include_last_offset:
        if not len(offsets):
            raise ValueError("embedding_bag: include_last_offset needs at least one offset")
        offsets = offsets[:-1]
    count, n = offsets.shape[0], input.shape[0]
    if count and not ops._holds(offsets[0] == 0):
        raise RuntimeError(
            f"embedding_bag: offsets[0] has to be 0, the first bag begins there; got {offsets[0].item()}"
        )
    ends = torch.nn.functional.pad(offsets[1:], (0, 1), value=n)[:count]
    if not ops._holds((offsets <= ends) & (offsets <= n)):
        raise RuntimeError(
            f"embedding_bag: offsets must rise and not exceed input's length {n}, got {offsets.tolist()}"
        )
    return torch.searchsorted(ends, torch.arange(n, dtype=ends.dtype, device=ends.device), right=True), count


def _segment_max(vectors, bags, count, left_out):
    """The maximum of each bag, by columns; of equal ones the first gets the gradient. An empty bag gives zeros."""
    first = _segment_argmax(vectors, bags, count, left_out)
    return torch.cat([vectors, vectors.new_zeros(1, vectors.shape[1])]).gather(0, first)


def _segment_argmax(vectors, bags, count, left_out):
    """The row of each bag's maximum, by columns: the first of equal ones, the number of rows for an empty bag."""
    n, width = vectors.shape
    with torch.no_grad():
        if left_out is not None:
            left_out = left_out.unsqueeze(1)
            vectors = torch.where(left_out, -float("inf"), vectors)
        columns = bags.unsqueeze(1).expand(n, width)
        lowest = vectors.new_full((count, width), -float("inf"))
        best = lowest.scatter_reduce(0, columns, vectors.detach(), "amax")
        is_best = (vectors == best.gather(0, columns)) | vectors.isnan()
        if left_out is not None:
            is_best = is_best & ~left_out
        place = torch.where(is_best, torch.arange(n, device=bags.device).unsqueeze(1), n)
        return place.new_full((count, width), n).scatter_reduce(0, columns, place, "amin")
