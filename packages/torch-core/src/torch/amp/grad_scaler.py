"""The scale that keeps small gradients of float16 from vanishing (Micikevicius et al., "Mixed precision training", 2018).

>>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
>>> scaler.scale(torch.tensor(2.0))
tensor(16.)
"""

from __future__ import annotations

import inspect
import warnings
from collections import defaultdict
from enum import Enum

from .. import _C, cuda
from .._operators.scaling import _amp_foreach_non_finite_check_and_unscale_, _amp_update_scale_

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


def _refresh_per_optimizer_state() -> dict[str, Any]:
    """What is known of an optimizer at the beginning of an iteration."""
    return {"stage": OptState.READY, "found_inf_per_device": {}}


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
    scale: halved after such a step, doubled after ``growth_interval`` others.

    The scale, the count of good steps and what was found are tensors on the device of the first outputs, so that only
    the decision about a step waits for it. Scalers of other libraries override single steps (``_unscale_grads_``,
    ``_maybe_opt_step``) by the names that they have in PyTorch.
    """

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
        self._device = device
        self._enabled = _usable(device, enabled)
        self._init_scale, self._init_growth_tracker = float(init_scale), 0
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def is_enabled(self) -> bool:
        """Whether the scaler does anything."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _C.Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(outputs.device, non_blocking=True)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        raise ValueError(
            f"GradScaler.scale: outputs must be a Tensor or a list or tuple of them, got {type(outputs).__name__}"
        )

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divides the gradients of the optimizer's parameters by the scale, before they are clipped, for one."""
        if not self._enabled:
            return
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is not OptState.READY:
            when = "after step()" if state["stage"] is OptState.STEPPED else "again"
            raise RuntimeError(f"unscale_() was called {when} on this optimizer since the last update()")
        scale, _ = self._check_scale_growth_tracker("unscale_")
        inverse = scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, _zero(scale.device), False)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> float | None:
        """``optimizer.step()`` on unscaled gradients, where all are finite; its result, or None.

        An optimizer that unscales by itself (``_step_supports_amp_scaling``) gets the scale and what was found.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("GradScaler.step: closures are not supported while the scaler is enabled")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() was called again on this optimizer since the last update()")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._scaling_step(optimizer, state, *args, **kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """The scale of the next iteration: a given one, or from what the last steps have met."""
        if not self._enabled:
            return
        scale, growth_tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            scale.fill_(new_scale)
        elif all(state["stage"] is OptState.READY for state in self._per_optimizer_states.values()):
            raise AssertionError(
                "GradScaler.update: no gradients were looked at since the last update(); call step() before"
            )
        else:
            states = self._per_optimizer_states.values()
            found = _sum([each for state in states for each in state["found_inf_per_device"].values()], scale.device)
            rates = self._growth_factor, self._backoff_factor, self._growth_interval
            _amp_update_scale_(scale, growth_tracker, found, *rates)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        """Puts the scale and the count of good steps onto a device."""
        self._scale = _zero(dev).fill_(self._init_scale)
        self._growth_tracker = _zero(dev, _C.int32).fill_(self._init_growth_tracker)

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        """The scale and the count of good steps, on the scaler's device where no output has told another."""
        if self._scale is None:
            self._lazy_init_scale_growth_tracker(self._device)
        assert self._scale is not None and self._growth_tracker is not None, funcname
        return self._scale, self._growth_tracker

    def _unscale_grads_(
        self, optimizer: Optimizer, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Any, Tensor]:
        """Multiplies the gradients by ``inv_scale``; for each device 1 where one of them was not finite, else 0."""
        grads = defaultdict(list)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if parameter.grad.dtype == _C.float16 and not allow_fp16:
                    raise ValueError(
                        "unscale_: gradients of torch.float16 cannot be unscaled; keep parameters in float32"
                    )
                if parameter.grad.is_sparse and parameter.grad.dtype == _C.float16:
                    parameter.grad = parameter.grad.coalesce()  # sums at one place may overflow where no summand does
                grad = parameter.grad.detach()
                grads[grad.device].append(grad._values() if grad.is_sparse else grad)
        found = {device: found_inf.to(device) for device in grads}
        for device, each in grads.items():
            _amp_foreach_non_finite_check_and_unscale_(each, found[device], inv_scale.to(device))
        return found

    def _maybe_opt_step(self, optimizer: Optimizer, optimizer_state: dict, *args: Any, **kwargs: Any) -> float | None:
        """The optimizer's step, unless a gradient was not finite."""
        found = list(optimizer_state["found_inf_per_device"].values())
        if found and _sum(found, found[0].device).item():
            return None
        return optimizer.step(*args, **kwargs)

    def _scaling_step(self, optimizer, state, *args, **kwargs):
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        scale, _ = self._check_scale_growth_tracker("step")
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
            optimizer.grad_scale = scale
        else:
            optimizer.grad_scale = None
        optimizer.found_inf = _sum(list(self._found_inf_per_device(optimizer).values()), scale.device)
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def _check_inf_per_device(self, optimizer: Optimizer) -> dict[Any, Tensor]:
        """Looks for gradients that are not finite, and leaves them as they are."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one = _zero(scale.device).fill_(1.0)
        state = self._per_optimizer_states[id(optimizer)]
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, one, _zero(scale.device), True)
        return state["found_inf_per_device"]

    def _found_inf_per_device(self, optimizer: Optimizer) -> dict[Any, Tensor]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    def _get_scale_async(self) -> Tensor | None:
        """The scale as the tensor that it is; None before the first use."""
        return self._scale

    def _get_growth_tracker(self) -> int:
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def get_scale(self) -> float:
        """The scale; 1.0 when disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

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
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a state; RuntimeError for an empty one, which a disabled scaler gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("GradScaler.load_state_dict: the state is empty, possibly that of a disabled scaler")
        self._init_scale, self._init_growth_tracker = float(state_dict["scale"]), state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)


def _zero(device, dtype=_C.float32):
    return _C._operator("zeros")((), dtype=dtype, device=device)


def _sum(found, device):
    """How many of these numbers are 1: a number on the device, so that reading one tells of all."""
    if len(found) == 1:
        return found[0].to(device, non_blocking=True)
    total = _zero(device)
    for each in found:
        total += each.to(device, non_blocking=True)
    return total
