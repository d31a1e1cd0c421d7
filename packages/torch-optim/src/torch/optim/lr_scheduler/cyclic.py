"""Cyclical learning rates (Smith 2015) and the one-cycle policy (Smith 2017)."""

from __future__ import annotations

import math

from .base import LRScheduler, own, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal

    from torch import Tensor
    from torch.optim import Optimizer


__all__ = ["CyclicLR", "OneCycleLR"]


def _per_group(name, optimizer, value):
    groups = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != groups:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                f"param_groups has {groups}."
            )
        return [own(v) for v in value]
    return [own(value) for _ in range(groups)]


def _uses_beta1(optimizer):
    """Whether the momentum of its groups is the first of ``betas``, and not ``momentum``."""
    if not {"momentum", "betas"}.isdisjoint(optimizer.defaults):
        return "momentum" not in optimizer.defaults
    raise ValueError(
        "optimizer must support momentum or beta1 with `cycle_momentum` option enabled; "
        f"{type(optimizer).__name__} has neither"
    )


def _set_momentum(group, uses_beta1, value):
    if uses_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """``lr`` goes up from ``base_lr`` to ``max_lr`` in ``step_size_up`` steps and down again, over and over.

    ``mode`` 'triangular', 'triangular2' (each cycle half as high), 'exp_range' (height ``gamma^step``), or ``scale_fn``
    of the cycle or of the step (``scale_mode``).  The momentum moves the other way.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"mode is invalid and scale_fn is None, got mode={mode!r}")
        base_lrs = _per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                write(group, "lr", lr)
        self.max_lrs = _per_group("max_lr", optimizer, max_lr)
        step_size_down = step_size_up if step_size_down is None else step_size_down
        if not (step_size_up > 0 and 0 < step_size_down < float("inf")):
            raise ValueError(
                f"CyclicLR: step_size_up and step_size_down must be positive, got {step_size_up} and {step_size_down}"
            )
        self.total_size = float(step_size_up + step_size_down)
        self.step_ratio = float(step_size_up) / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_beta1(optimizer)
            self.base_momentums = _per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = _per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for low, high, group in zip(self.base_momentums, self.max_momentums, optimizer.param_groups):
                    group["base_momentum"], group["max_momentum"] = low, high
                    _set_momentum(group, self.use_beta1, high)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: Any) -> float:
        """How high cycle or step ``x`` is."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return {"triangular": 1.0, "triangular2": 1 / 2.0 ** (x - 1), "exp_range": self.gamma**x}[self.mode]

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = height * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, self.use_beta1, high - (high - low) * scale)
        return [low + (high - low) * scale for low, high in zip(self.base_lrs, self.max_lrs)]

    _hold = ("optimizer", "_scale_fn_custom")


def _cosine(start, end, t):
    return end + (start - end) / 2.0 * (math.cos(math.pi * t) + 1)


def _line(start, end, t):
    return (end - start) * t + start


class OneCycleLR(LRScheduler):
    """``lr`` rises from ``max_lr / div_factor`` to ``max_lr`` and falls far below its start, once over the whole training.

    Give ``total_steps``, or ``epochs`` and ``steps_per_epoch``; call ``step()`` after each batch.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is not None:
            if not isinstance(total_steps, int) or total_steps <= 0:
                raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
                if not isinstance(value, int) or value <= 0:
                    raise ValueError(f"Expected positive integer {name}, but got {value}")
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        # Names and form are those of PyTorch's state_dict, so that either goes on from the other's.
        self._anneal_func_type = anneal_strategy
        rise = float(pct_start * self.total_steps)
        if three_phase:
            phases = [
                (rise - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                (2 * rise - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            phases = [
                (rise - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                (self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"),
            ]
        names = "end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"
        self._schedule_phases = [dict(zip(names, phase, strict=True)) for phase in phases]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_beta1(optimizer)
        if last_epoch == -1:
            for lr, group in zip(_per_group("max_lr", optimizer, max_lr), optimizer.param_groups):
                group["initial_lr"] = lr / div_factor
                group["max_lr"] = lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
            if cycle_momentum:
                lows = _per_group("base_momentum", optimizer, base_momentum)
                highs = _per_group("max_momentum", optimizer, max_momentum)
                for low, high, group in zip(lows, highs, optimizer.param_groups):
                    group["base_momentum"], group["max_momentum"] = low, high
                    _set_momentum(group, self.use_beta1, high)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        n = self.last_epoch
        if n > self.total_steps:
            raise ValueError(f"Tried to step {n} times. The specified number of total steps is {self.total_steps}")
        between = _cosine if self._anneal_func_type == "cos" else _line
        phases = self._schedule_phases
        i = next((i for i, phase in enumerate(phases) if n <= phase["end_step"]), len(phases) - 1)
        end, lr_from, lr_to = (phases[i][name] for name in ("end_step", "start_lr", "end_lr"))
        momentum_from, momentum_to = phases[i]["start_momentum"], phases[i]["end_momentum"]
        start = phases[i - 1]["end_step"] if i else 0.0
        t = (n - start) / (end - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(between(group[lr_from], group[lr_to], t))
            if self.cycle_momentum:
                _set_momentum(group, self.use_beta1, between(group[momentum_from], group[momentum_to], t))
        return rates
