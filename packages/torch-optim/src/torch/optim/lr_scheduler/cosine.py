"""Cosine annealing, with and without restarts (SGDR, Loshchilov 2016)."""

from __future__ import annotations

import math

from .base import LRScheduler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor
    from torch.optim import Optimizer


__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """``lr = eta_min + (initial lr - eta_min) (1 + cos(pi epoch / T_max)) / 2`` (equation 5 of the paper, no restarts).

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     print(round(scheduler.get_last_lr()[0], 4))
    0.5
    0.0
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and self.last_epoch > 0:  # resumed
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (
            2 * self.T_max
        ) == 0:  # out of the minimum, where the quotient is 0 / 0
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - self.eta_min) * rise for base, lr in zip(self.base_lrs, self._rates())]
        now = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        return [now / before * (lr - self.eta_min) + self.eta_min for lr in self._rates()]

    def _get_closed_form_lr(self):
        half = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * half for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing over ``T_0`` epochs, then anew over ``T_0 * T_mult``, and so on; epochs may be fractions."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min).__name__}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        half = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * half for lr in self.base_lrs]

    def step(self, epoch: Any = None) -> None:
        """Go on by one epoch, or to ``epoch``, which may be a fraction such as ``epoch + batch / batches``."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._locate(epoch)
        self.last_epoch = math.floor(epoch)
        self._step_count += 1
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _locate(self, epoch):
        """In which cycle ``epoch`` is, and where in it."""
        self.T_i = self.T_0
        self.T_cur = epoch
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
