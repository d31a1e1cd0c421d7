"""Schedulers made of schedulers."""

from __future__ import annotations

import bisect

from .base import LRScheduler, write
from .plateau import ReduceLROnPlateau

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch.optim import Optimizer


__all__ = ["ChainedScheduler", "SequentialLR"]


def _same_optimizer(name, optimizer, schedulers):
    if not schedulers:
        raise ValueError(f"{name} expects at least one scheduler to be chained, but got no scheduler.")
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified "
                f"when calling `step`, but got one at index {i} in the given schedulers sequence; step it by itself."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {i} with another one"
            )


class _Combined(LRScheduler):
    _hold = ("optimizer", "_schedulers")

    def state_dict(self) -> Any:
        """The state of this scheduler and of those it is made of."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave."""
        state = dict(state_dict)
        saved = state.pop("_schedulers")
        self.__dict__.update(state)
        for scheduler, own in zip(self._schedulers, saved):
            scheduler.load_state_dict(own)

    def _begin(self):
        """As the first part of a sequence; that its own parts step before the optimiser is no mistake."""
        stepped, self.optimizer._stepped = getattr(self.optimizer, "_stepped", True), True
        try:
            super()._begin()
        finally:
            self.optimizer._stepped = stepped

    def _note_rates(self):
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]


class SequentialLR(_Combined):
    """One scheduler after another: number i + 1 begins at epoch ``milestones[i]``."""

    def __init__(self, optimizer: Optimizer, schedulers: Any, milestones: Sequence[int], last_epoch: int = -1) -> None:
        _same_optimizer("SequentialLR", optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got {len(schedulers)} schedulers and {len(milestones)} milestones"
            )
        self.optimizer = optimizer
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        # all schedulers have taken their first step: undo it, and take the first one's again
        for group in optimizer.param_groups:
            write(group, "lr", group["initial_lr"])
        _undo_first_steps(schedulers)
        first = schedulers[bisect.bisect_right(milestones, 0)]
        first._begin()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:
        """Go on to the next epoch."""
        self.last_epoch += 1
        i = bisect.bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _undo_first_steps(schedulers):
    for scheduler in schedulers:
        if hasattr(scheduler, "_schedulers"):
            _undo_first_steps(scheduler._schedulers)
        else:
            scheduler.last_epoch -= 1


class ChainedScheduler(_Combined):
    """Several schedulers at once, each acting on what those before it left."""

    def __init__(self, schedulers: Any, optimizer: Optimizer | None = None) -> None:
        schedulers = list(schedulers)
        optimizer = schedulers[0].optimizer if optimizer is None and schedulers else optimizer
        _same_optimizer("ChainedScheduler", optimizer, schedulers)
        self.optimizer = optimizer
        self._schedulers = schedulers
        self._note_rates()

    def step(self) -> None:
        """Take one step with each."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._note_rates()
