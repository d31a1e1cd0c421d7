"""Branches and loops over tensors: ``torch.cond`` and a map over the first dim."""

from torch._higher_order_ops import cond, map

__all__ = ["cond", "map"]
