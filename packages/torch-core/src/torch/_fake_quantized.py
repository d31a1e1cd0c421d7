"""Numbers rounded as quantization would round them, and the scale and zero point that a range of numbers asks for."""

from __future__ import annotations

from . import _C
from ._functorch._batches import stands_for_others


def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """Numbers rounded as quantization would; gradients pass where they are within the range.

    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([0.24, 9.0]), 0.1, 0, 0, 15)
    tensor([0.2000, 1.5000])
    """
    return _faked("fake_quantize_per_tensor_affine", input, scale, zero_point, quant_min, quant_max)


def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """``fake_quantize_per_tensor_affine`` with a scale and zero point for each index of a dim.

    >>> x = torch.tensor([[0.24], [0.24]])
    >>> torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.2]), torch.tensor([0, 0]), 0, 0, 15)
    tensor([[0.2000],
            [0.2000]])
    """
    name = "fake_quantize_per_channel_affine"
    axis = checked_channels(name, input, scale, zero_point, axis)
    shape = [1] * input.dim()
    shape[axis] = -1
    return _faked(name, input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)


def fused_moving_avg_obs_fake_quant(
    self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const, quant_min, quant_max,
    ch_axis, per_row_fake_quant=False, symmetric_quant=False,
):  # fmt: skip
    """Running averages of the least and greatest number, a scale and zero point for them, all written in place, and the
    numbers rounded by those; for each index of ``ch_axis`` if ``per_row_fake_quant``.

    >>> on, least, most, scale, zero = torch.ones(1), *(torch.full((1,), v) for v in (torch.inf, -torch.inf, 1.0, 0))
    >>> x = torch.tensor([-1.0, 0.3, 1.5])
    >>> torch.fused_moving_avg_obs_fake_quant(x, on, on, least, most, scale, zero, 0.01, 0, 255, 0), scale
    (tensor([-1.0000,  0.3039,  1.5000]), tensor([0.0098]))
    """
    if per_row_fake_quant:
        rows = self.detach().movedim(ch_axis, 0).flatten(1) if self.dim() > 1 else self.detach().reshape(-1, 1)
        for held, start in ((running_min, _INF), (running_max, -_INF), (scale, 1), (zero_point, 0)):
            if held.numel() != len(rows):
                held.resize_(len(rows)).fill_(start)
    if observer_on.item() == 1 and self.numel():
        seen = (rows.amin(1), rows.amax(1)) if per_row_fake_quant else self.detach().aminmax()
        for held, now in zip((running_min, running_max), seen):
            held.copy_((held + averaging_const * (now - held)).where(held.isfinite(), now.to(held.dtype)))
        for held, found in zip(
            (scale, zero_point), chosen(running_min, running_max, quant_min, quant_max, symmetric_quant)
        ):
            held.copy_(found.reshape(held.shape))
    if fake_quant_on.item() != 1:
        return self
    if per_row_fake_quant:
        return fake_quantize_per_channel_affine(self, scale, zero_point, ch_axis, quant_min, quant_max)
    return fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max)


_INF = float("inf")


def chosen(low, high, least, most, symmetric=False, digits=_C.float32):
    """The scale and the zero point for numbers from low to high, by FBGEMM's rule: zero has an integer of its own, the bound
    nearer to it says which; symmetric ranges reach from -(half + 1) to half where there are numbers of both signs."""
    low, high = low.to(_C.float32).clamp(max=0), high.to(_C.float32).clamp(min=0)
    both, half = (low < 0) & (high > 0) & symmetric, (most - least) // 2
    unit = (-low / (half + 1)).maximum(high / half)
    low, high = (-unit * (half + 1)).where(both, low).to(_C.float64), (unit * half).where(both, high).to(_C.float64)
    scale = (high - low) / (most - least)
    scale = scale.masked_fill(scale.to(_C.float32).reciprocal().isinf(), 0.1).to(digits)
    smallest = _C.tensor(6.1e-5, dtype=_C.float32).to(digits)  # below it FBGEMM's products lose digits
    wider = (smallest / scale).clamp(min=1).to(_C.float64)
    scale = scale.maximum(smallest)
    below, above = low * wider / scale, high * wider / scale
    zero = (least - below).where(abs(least) - below < abs(most) + above, most - above)
    return scale, zero.masked_fill(both, (least + most) / 2).round().clamp(least, most).to(_C.int32)


def checked_channels(name, input, scales, zero_points, axis):
    """The dim of the channels, counted from the first."""
    if not -input.dim() <= axis < input.dim():
        raise IndexError(f"{name}: axis {axis} of a tensor with {input.dim()} dims")
    axis %= input.dim()
    if scales.shape != (input.shape[axis],) or zero_points.shape != scales.shape:
        raise RuntimeError(
            f"{name}: expected {input.shape[axis]} scales and zero points, got {tuple(scales.shape)} and {tuple(zero_points.shape)}"
        )
    return axis


def _faked(name, input, scale, zero_point, quant_min, quant_max):
    if quant_min > quant_max:
        raise RuntimeError(f"{name}: expected quant_min up to quant_max, got {quant_min} and {quant_max}")
    if isinstance(zero_point, int) and not quant_min <= zero_point <= quant_max:
        raise RuntimeError(f"{name}: expected zero_point from {quant_min} to {quant_max}, got {zero_point}")
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"{name}: expected a tensor of floats, got {input.dtype}")
    x = input.detach()
    x = x if x.dtype is _C.float64 else x.to(_C.float32)
    scale = _C.tensor(scale, dtype=_C.float32) if isinstance(scale, (int, float)) else scale.detach()
    steps = x * scale.reciprocal()  # products, as PyTorch has them: ties fall alike
    is_whole = isinstance(zero_point, int) or not zero_point.dtype.is_floating_point
    steps = steps.round() + zero_point if is_whole else (steps + zero_point).round()
    rounded = ((steps.clamp(quant_min, quant_max) - zero_point).to(_C.float32) * scale).to(input.dtype)
    if not input.requires_grad and not stands_for_others(input):
        return rounded
    passed = input.where((steps >= quant_min) & (steps <= quant_max), 0.0)
    return rounded + (passed - passed.detach())
