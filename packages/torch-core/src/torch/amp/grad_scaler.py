"""The scale that keeps small gradients of float16 from vanishing (Micikevicius et al., "Mixed precision training", 2018).

>>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
>>> scaler.scale(torch.tensor(2.0))
tensor(16.)
"""

from __future__ import annotations

import math
import warnings
from enum import Enum

from .. import _C, cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor
    from torch.optim import Optimizer


__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """What was done for an optimizer since the last :meth:`GradScaler.update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _usable(device_type, enabled):
    """Whether the scaler of a device is on: off without the device, with a warning."""
    if device_type not in ("cpu", "cuda"):
        raise RuntimeError(f"GradScaler: expected device_type 'cpu' or 'cuda', got {device_type!r}")
    if enabled and device_type == "cuda" and not cuda.is_available():
        warnings.warn("GradScaler is enabled for CUDA, which is not available: it is switched off", stacklevel=3)
        return False
    return bool(enabled)


class GradScaler:
    """Multiplies losses by a scale and divides gradients by it, skips steps whose gradients are not finite, and adapts the
    scale: halved after such a step, doubled after ``growth_interval`` others."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if growth_factor <= 1:
            raise AssertionError(f"GradScaler: growth_factor must be > 1, got {growth_factor}")
        if not backoff_factor < 1:
            raise AssertionError(f"GradScaler: backoff_factor must be < 1, got {backoff_factor}")
        self._enabled = _usable(device, enabled)
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._optimizers = {}  # id: whether its gradients are finite, and whether it has made its step

    def is_enabled(self) -> bool:
        """Whether the scaler does anything."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _C.Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        raise ValueError(
            f"GradScaler.scale: outputs must be a Tensor or a list or tuple of them, got {type(outputs).__name__}"
        )

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divides the gradients of the optimizer's parameters by the scale, before they are clipped, for one."""
        if not self._enabled:
            return
        state = self._optimizers.get(id(optimizer))
        if state is not None:
            when = "after step()" if state["stepped"] else "again"
            raise RuntimeError(f"unscale_() was called {when} on this optimizer since the last update()")
        finite = {}  # by device: whether each gradient is
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if parameter.grad.dtype == _C.float16:
                    raise ValueError(
                        "unscale_: gradients of torch.float16 cannot be unscaled; keep parameters in float32"
                    )
                grad = parameter.grad.detach().mul_(1 / self._scale)
                finite.setdefault(grad.device, []).append(grad.isfinite().all())
        # One number for each device, and of several devices one for all: reading it waits for the backward pass.
        flags = [_C._operator("stack")(each).all() for each in finite.values()]
        if len(flags) > 1:
            flags = [_C._operator("stack")([flag.to(flags[0].device) for flag in flags]).all()]
        self._optimizers[id(optimizer)] = {"finite": bool(flags[0]) if flags else True, "stepped": False}

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> float | None:
        """``optimizer.step()`` on unscaled gradients, where all are finite; its result, or None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("GradScaler.step: closures are not supported while the scaler is enabled")
        if id(optimizer) not in self._optimizers:
            self.unscale_(optimizer)
        state = self._optimizers[id(optimizer)]
        if state["stepped"]:
            raise RuntimeError("step() was called again on this optimizer since the last update()")
        state["stepped"] = True
        return optimizer.step(*args, **kwargs) if state["finite"] else None

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """The scale of the next iteration: a given one, or from what the last steps have met."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._optimizers:
            raise AssertionError(
                "GradScaler.update: no gradients were looked at since the last update(); call step() before"
            )
        elif all(state["finite"] for state in self._optimizers.values()):
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = self._scale * self._growth_factor
                self._scale, self._growth_tracker = grown if math.isfinite(grown) else self._scale, 0
        else:
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        self._optimizers = {}

    def get_scale(self) -> float:
        """The scale; 1.0 when disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the scale grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the scale grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after gradients that are not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the scale is multiplied by after gradients that are not finite."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many good steps the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The scale and its rules; empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a state; RuntimeError for an empty one, which a disabled scaler gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("GradScaler.load_state_dict: the state is empty, possibly that of a disabled scaler")
        self._scale = float(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]
