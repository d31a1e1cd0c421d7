"""Questions about shapes that PyTorch's own decompositions ask."""

__all__ = ["is_contiguous", "is_contiguous_or_false", "is_non_overlapping_and_dense"]


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
