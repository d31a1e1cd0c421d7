"""``torch.func.rearrange`` under its older name."""

from torch.func import rearrange

__all__ = ["rearrange"]
