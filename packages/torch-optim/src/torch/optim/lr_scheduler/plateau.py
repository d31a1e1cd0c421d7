"""Lowering the learning rate when a metric stops improving."""

from __future__ import annotations

import math
import warnings

import torch

from .base import EPOCH_DEPRECATION_WARNING, LRScheduler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from torch.optim import Optimizer


__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """``lr = max(lr * factor, min_lr)`` when ``patience`` epochs passed without improvement: ``step(validation_loss)``.

    An improvement is smaller (``mode='min'``) or greater ('max') by ``threshold``, relative ('rel') or absolute ('abs').
    After a reduction ``cooldown`` epochs are not counted; changes of lr below ``eps`` are left out.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (3.0, 3.0, 3.0):
    ...     scheduler.step(loss)
    >>> optimizer.param_groups[0]["lr"]
    0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        if isinstance(threshold, bool):  # 2018 had verbose here
            verbose, threshold = threshold, 1e-4
        if factor >= 1.0:
            raise ValueError(f"Factor should be < 1.0, got {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown! Use 'min' or 'max'")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown! Use 'rel' or 'abs'")
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.min_lrs = list(min_lr)
        else:
            self.min_lrs = [min_lr] * groups
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.optimizer = optimizer
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.eps = eps
        self.verbose = verbose
        self.last_epoch = 0
        self._last_lr = self._rates()
        self._reset()

    def _reset(self):
        """Forget what was best so far."""
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> Any:
        """True while epochs are not counted after a reduction."""
        return self.cooldown_counter > 0

    def is_better(self, a: Any, best: Any) -> Any:
        """Is ``a`` an improvement on ``best``?"""
        sign = 1 if self.mode == "max" else -1
        margin = self.threshold * (abs(best) if self.threshold_mode == "rel" else 1)
        if math.isinf(best):
            return a != best and sign * (a - best) > 0
        if self.threshold_mode == "rel":
            return sign * a > sign * best * (1 + sign * self.threshold)
        return sign * a > sign * best + margin

    def step(self, metrics: Any, epoch: Any = None) -> None:
        """Count an epoch with the value ``metrics``, and lower the rates if it is time.

        >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        >>> scheduler.step(3.0)
        >>> scheduler.step(3.0)
        >>> optimizer.param_groups[0]["lr"]
        0.1
        """
        current = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = [float(lr) if isinstance(lr, torch.Tensor) else lr for lr in self._rates()]

    def _reduce_lr(self, epoch):
        """Lowers the rates; classes of one's own override it."""
        groups = len(self.optimizer.param_groups)
        if groups != len(self.min_lrs):  # some were added
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"ReduceLROnPlateau: the optimizer has {groups} param groups, min_lr {len(self.min_lrs)} values; "
                    "append to scheduler.min_lrs what the added groups may fall to"
                )
            self.min_lrs = [self.default_min_lr] * groups
        rates = []
        for i, (old, least) in enumerate(zip(self._rates(), self.min_lrs)):
            old = float(old)
            new = max(old * self.factor, least)
            if old - new > self.eps:
                if self.verbose:
                    print(f"Epoch {epoch:5d}: reducing learning rate of group {i} to {new:.4e}.")
                rates.append(new)
            else:
                rates.append(old)
        self._set(rates)

    def get_lr(self) -> Any:
        """The current learning rates."""
        return self._rates()
