"""Deals channels out over groups."""

from __future__ import annotations

from .. import functional as F
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Deals the channels out over ``groups`` (Zhang 2017)."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
