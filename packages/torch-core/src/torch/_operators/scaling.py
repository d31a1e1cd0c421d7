"""What scalers of gradients of one's own are written with, as in ``torch.amp.GradScaler``: the scale and what goes with it are
tensors of one float32.
"""

from __future__ import annotations

from .. import _C
from .._C import Tensor


def _one_number(name, **tensors):
    for what, tensor in tensors.items():
        if tensor.numel() != 1:
            raise RuntimeError(f"{name}: {what} must have one element, got shape {tuple(tensor.shape)}")


def _amp_foreach_non_finite_check_and_unscale_(self: list[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiplies gradients by ``inv_scale``; ``found_inf`` becomes 1 when one of them had an infinity or NaN.

    >>> grads, found = [torch.tensor([2.0, 4.0])], torch.zeros(1)
    >>> torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor([0.5]))
    >>> grads, found
    ([tensor([1., 2.])], tensor([0.]))
    """
    _one_number("_amp_foreach_non_finite_check_and_unscale_", found_inf=found_inf, inv_scale=inv_scale)
    factor = inv_scale.detach().reshape(())
    finite = []
    for grad in (g.detach() for g in self):
        finite.append(grad.isfinite().all())
        grad.mul_(factor.to(grad.dtype))
    if finite:
        found_inf.detach().masked_fill_(_C._operator("stack")(finite).all().logical_not(), 1)


def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """The scale, smaller where an infinity was found, larger after ``growth_interval`` steps in a row without one.

    >>> scale, steps = torch.tensor([8.0]), torch.tensor([1], dtype=torch.int32)
    >>> torch._amp_update_scale_(scale, steps, torch.zeros(1), 2.0, 0.5, 2), steps
    (tensor([16.]), tensor([0], dtype=torch.int32))
    >>> torch._amp_update_scale_(scale, steps, torch.ones(1), 2.0, 0.5, 2)
    tensor([8.])
    """
    _one_number("_amp_update_scale_", scale=self, growth_tracker=growth_tracker, found_inf=found_inf)
    scale, steps, found = self.detach(), growth_tracker.detach(), found_inf.detach().reshape(self.shape) != 0
    # Numbers that are chosen rather than read: nothing here waits for a device.
    good = steps + 1
    full = (good == growth_interval).reshape(self.shape)
    grown = scale * scale_growth_factor
    kept = grown.where(full & grown.isfinite(), scale)
    scale.copy_((scale * scale_backoff_factor).where(found, kept))
    steps.copy_(good.masked_fill(full.reshape(steps.shape) | found.reshape(steps.shape), 0))
    return self
