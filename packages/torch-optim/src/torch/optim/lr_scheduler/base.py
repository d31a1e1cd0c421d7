"""What all learning rate schedulers share."""

from __future__ import annotations

import contextlib
import warnings

import torch
from torch._seams import checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor
    from torch.optim import Optimizer


__all__ = ["LRScheduler"]


@contextlib.contextmanager
def _enable_get_lr_call(scheduler):
    """A block in which a scheduler's ``get_lr`` is meant, and does not warn."""
    before, scheduler._get_lr_called_within_step = scheduler._get_lr_called_within_step, True
    try:
        yield scheduler
    finally:
        scheduler._get_lr_called_within_step = before


def _warn_get_lr_called_within_step(scheduler):
    """For ``get_lr`` of a scheduler written elsewhere: a warning when it is called by hand."""
    scheduler._warn_outside_step()


def own(value):
    """A setting, apart from the tensor that the caller may go on to change."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def write(group, name, value):
    """Sets a rate of a group; one that is a tensor keeps its place in memory, which other optimisers and graphs may hold."""
    if isinstance(group[name], torch.Tensor):
        group[name].fill_(float(value))
    else:
        group[name] = float(value) if isinstance(value, torch.Tensor) else value


EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible: please use "
    "`scheduler.step()` to step the scheduler."
)


@checked
class LRScheduler:
    """Sets the learning rates of an optimiser's groups, once after each epoch (or step): ``scheduler.step()``.

    A subclass defines ``get_lr()``, the new rates given ``self.last_epoch``, the current rates
    ``group["lr"]`` and the first ones ``self.base_lrs``; where the rate at any epoch has a formula it also defines
    ``_get_closed_form_lr()``, which serves ``step(epoch)``.  ``last_epoch`` other than -1 resumes; the groups must then
    hold ``initial_lr``.
    """

    _hold = ("optimizer",)  # what stays out of the state dict
    _also = {"int": "float"}  # counts of epochs are only compared
    _is_initial = False  # while the first rates are set, also where a schedule is resumed

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        from ..optimizer import Optimizer

        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__}: optimizer must be an Optimizer, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming an optimizer; load the "
                    "optimizer's state dict before making the scheduler"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._get_lr_called_within_step = False
        self._initial_step()

    def _initial_step(self):
        """Counts from the beginning, and sets the first rates: also for schedules that do without ``super().__init__``."""
        self.optimizer._stepped = False
        self._begin()

    def _begin(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything that changes over time, as a dict; the optimiser is not part of it.

        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD([torch.zeros(1)], lr=1.0))
        >>> scheduler.state_dict()["patience"]
        10
        """
        return {name: value for name, value in self.__dict__.items() if name not in self._hold}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave.

        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD([torch.zeros(1)], lr=1.0))
        >>> scheduler.load_state_dict({"patience": 3})
        >>> scheduler.patience
        3
        """
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float | Tensor]:
        """The learning rates last set, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[float | Tensor]:
        """The learning rates for ``self.last_epoch``; only for ``step`` to call.

        >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.1]
        """
        raise NotImplementedError(f"{type(self).__name__} must define get_lr()")

    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", stacklevel=3
            )

    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, or to ``epoch``, and set the learning rates."""
        if self._step_count == 1 and not getattr(self.optimizer, "_stepped", True):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the opposite "
                "order: `optimizer.step()` before `lr_scheduler.step()`; the first value of the schedule is skipped.",
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        """Sets the rates of the next epoch, or of ``epoch``, without counting it as a step."""
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", None)
                rates = closed() if closed is not None else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _set(self, rates):
        for group, lr in zip(self.optimizer.param_groups, rates):
            write(group, "lr", lr)
        self._last_lr = [float(lr) if isinstance(lr, torch.Tensor) else lr for lr in self._rates()]
