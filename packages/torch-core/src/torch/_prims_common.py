"""Questions about shapes that PyTorch's own decompositions ask."""

import torch

__all__ = [
    "DeviceLikeType", "canonicalize_dim", "canonicalize_dims", "get_computation_dtype", "is_contiguous", "is_contiguous_or_false",
    "is_non_overlapping_and_dense", "make_contiguous_strides_for", "suggest_memory_format",
]  # fmt: skip

DeviceLikeType = str | torch.device | int


def canonicalize_dim(rank, idx, wrap_scalar=True):
    """A dim counted from the front.

    >>> from torch._prims_common import canonicalize_dim
    >>> canonicalize_dim(3, -1)
    2
    """
    span = max(rank, 1) if wrap_scalar else rank
    if not -span <= idx < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {idx})")
    return idx % span


def canonicalize_dims(rank, indices, wrap_scalar=True):
    """A dim, or several, counted from the front."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, i, wrap_scalar) for i in indices)


def get_computation_dtype(dtype):
    """The dtype in which sums of this one are computed.

    >>> from torch._prims_common import get_computation_dtype
    >>> get_computation_dtype(torch.bfloat16)
    torch.float32
    """
    return torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype


def make_contiguous_strides_for(shape, row_major=True):
    """The strides of a dense tensor of this shape, with the last dim, or the one before it, as the fastest.

    >>> from torch._prims_common import make_contiguous_strides_for
    >>> make_contiguous_strides_for((2, 3, 4)), make_contiguous_strides_for((2, 3, 4), row_major=False)
    ((12, 4, 1), (12, 1, 3))
    """
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    if not row_major and len(shape) > 1:
        strides[0], strides[1] = max(shape[-2], 1), 1
    return tuple(reversed(strides))


def suggest_memory_format(x):
    """The memory format in which a tensor lies, perhaps as a part of a larger one.

    >>> from torch._prims_common import suggest_memory_format
    >>> image = torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last)
    >>> suggest_memory_format(image), suggest_memory_format(image[..., 1:])
    (torch.channels_last, torch.channels_last)
    """
    if not _steps_over_channels(x):
        return torch.contiguous_format
    return torch.channels_last if x.dim() == 4 else torch.channels_last_3d


def _steps_over_channels(x):
    """Whether a step along any dim leads over all channels of a place, one along an outer dim over all inner ones."""
    if (x.dim() != 4 and x.dim() != 5) or x.is_contiguous() or x.numel() == 0 or x.stride(1) < 1:
        return False
    reach = x.stride(1) * x.size(1)
    for d in range(1, x.dim() - 1):
        if x.stride(-d) < reach:
            return False
        reach = x.stride(-d) * x.size(-d)
    return x.stride(0) >= reach


def is_contiguous(a):
    """Whether a tensor lies row by row without gaps.

    >>> from torch._prims_common import is_contiguous
    >>> is_contiguous(torch.ones(2, 3)), is_contiguous(torch.ones(2, 3).t())
    (True, False)
    """
    return a.is_contiguous()


is_contiguous_or_false = is_contiguous


def is_non_overlapping_and_dense(a):
    """Whether a tensor's elements fill a piece of memory, each place once, in whatever order of dims."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(a.stride(), a.shape, strict=True) if size != 1):
        if stride != expected:
            return a.numel() == 0
        expected *= size
    return True
