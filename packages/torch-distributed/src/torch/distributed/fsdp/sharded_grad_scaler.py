"""The scale of gradients that are spread over ranks: a step is skipped on all of them when one found an infinity."""

from __future__ import annotations

from torch.amp.grad_scaler import GradScaler

from .._collectives import all_reduce

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """:class:`torch.amp.GradScaler` whose ranks agree about what they found, over a group (default: all).

    >>> from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
    >>> ShardedGradScaler("cpu", init_scale=8.0).get_scale()
    8.0
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self.process_group = process_group

    def _unscale_grads_(self, optimizer: Any, inv_scale: Any, found_inf: Any, allow_fp16: bool) -> dict:
        found = super()._unscale_grads_(optimizer, inv_scale, found_inf, allow_fp16)
        # A rank whose share has no gradients takes part all the same.
        found = found or {found_inf.device: found_inf}
        for each in found.values():
            all_reduce(each, group=self.process_group)
        return found
