"""What scalers of gradients of one's own are written with, as in ``torch.amp.GradScaler``: the scale and what goes with it are
tensors of one float32.
"""

from __future__ import annotations

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
    for grad in (g.detach() for g in self):
        if not bool(grad.isfinite().all()):
            found_inf.detach().fill_(1)
        grad.mul_(factor.to(grad.dtype))


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
    scale = self.detach()
    if found_inf.item():
        scale.mul_(scale_backoff_factor)
        growth_tracker.zero_()
    elif growth_tracker.item() + 1 == growth_interval:
        grown = scale * scale_growth_factor
        if bool(grown.isfinite().all()):
            scale.copy_(grown)
        growth_tracker.zero_()
    else:
        growth_tracker.add_(1)
    return self
