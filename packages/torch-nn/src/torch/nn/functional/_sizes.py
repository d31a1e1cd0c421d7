"""Sizes given as one number or one for each spatial dim."""

import torch

__all__ = ["check_batched", "expand"]


def expand(value, n, name="argument"):
    """``value`` as a tuple of ``n`` numbers: one number stands for all.

    >>> expand(3, 2)
    (3, 3)
    """
    if isinstance(value, (tuple, list, torch.Size)) or getattr(value, "ndim", 0) == 1:
        if len(value) == 1 and n > 1:
            return tuple(value) * n
        if len(value) != n:
            raise RuntimeError(f"{name} must be one number or {n} of them, got {tuple(value)}")
        return tuple(value)
    return (value,) * n


def check_batched(op, input, n):
    """Input of ``n`` spatial dims, with or without the batch dim, as a batch; and whether the batch dim was there."""
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"{op}: input must have {n + 2} dims (N, C, ...) or {n + 1} dims (C, ...), got shape {tuple(input.shape)}"
        )
    return (input, True) if input.dim() == n + 2 else (input.unsqueeze(0), False)
