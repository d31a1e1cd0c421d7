"""Schedules with a formula in the epoch: steps, powers, lines, functions of your own."""

from __future__ import annotations

import bisect
import collections
import types

from .base import LRScheduler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from torch import Tensor
    from torch.optim import Optimizer


__all__ = [
    "ConstantLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "StepLR",
]  # fmt: skip


class _Functions(LRScheduler):
    """One function of the epoch for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != groups:
                raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * groups
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> Any:
        """As for any scheduler; plain functions are left out, callable objects give their attributes."""
        state = super().state_dict()
        state["lr_lambdas"] = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave."""
        state = dict(state_dict)
        saved = state.pop("lr_lambdas", [])
        super().load_state_dict(state)
        for function, attributes in zip(self.lr_lambdas, saved):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_Functions):
    """``lr = initial lr * lr_lambda(epoch)``; one function, or one for each group.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> scheduler = LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        return [lr * f(self.last_epoch) for lr, f in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_Functions):
    """``lr = lr * lr_lambda(epoch)`` after each epoch."""

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [lr * f(self.last_epoch) for lr, f in zip(self._rates(), self.lr_lambdas)]


class StepLR(LRScheduler):
    """``lr = lr * gamma`` every ``step_size`` epochs.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> scheduler = StepLR(optimizer, step_size=2)
    >>> for epoch in range(4):
    ...     optimizer.step(); print(scheduler.get_last_lr()); scheduler.step()
    [1.0]
    [1.0]
    [0.1]
    [0.1]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [lr * self.gamma for lr in self._rates()]

    def _get_closed_form_lr(self):
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """``lr = lr * gamma`` at each epoch of ``milestones``.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.1)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = collections.Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._rates()
        return [lr * self.gamma ** self.milestones[self.last_epoch] for lr in self._rates()]

    def _get_closed_form_lr(self):
        passed = bisect.bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [lr * self.gamma**passed for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """``lr = initial lr * factor`` for the first ``total_iters`` epochs."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError(f"Constant multiplicative factor expected to be between 0 and 1, got {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._rates()]
        if self.last_epoch != self.total_iters:
            return self._rates()
        return [lr * (1.0 / self.factor) for lr in self._rates()]

    def _get_closed_form_lr(self):
        return [lr * (self.factor if self.last_epoch < self.total_iters else 1) for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """``lr`` from ``start_factor`` to ``end_factor`` of the initial one in a line over ``total_iters`` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError(
                f"Starting multiplicative factor expected to be greater than 0 and less or equal to 1, got {start_factor}"
            )
        if not 0 <= end_factor <= 1.0:
            raise ValueError(f"Ending multiplicative factor expected to be between 0 and 1, got {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        slope = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * slope
        return [lr * (1.0 + slope / before) for lr in self._rates()]

    def _get_closed_form_lr(self):
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * (self.start_factor + (self.end_factor - self.start_factor) * done) for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """``lr = lr * gamma`` after each epoch.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        return self._rates() if self._is_initial else [lr * self.gamma for lr in self._rates()]

    def _get_closed_form_lr(self):
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """``lr = initial lr * (1 - epoch / total_iters)^power``, and 0 from there on."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        left = 1.0 - self.last_epoch / self.total_iters
        factor = (left / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power
        return [lr * factor for lr in self._rates()]

    def _get_closed_form_lr(self):
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * left**self.power for lr in self.base_lrs]
