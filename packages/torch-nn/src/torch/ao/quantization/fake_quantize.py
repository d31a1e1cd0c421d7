"""Modules that round as quantization would, so that training sees it; gradients pass within the range."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, _seams, nn

from .observer import (
    FixedQParamsObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    ObserverBase,
    Partial,
)

PER_CHANNEL = (torch.per_channel_affine, torch.per_channel_symmetric, torch.per_channel_affine_float_qparams)


class FakeQuantizeBase(nn.Module):
    """Two switches, kept with the state: whether to watch and whether to round."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.uint8))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.uint8))

    def enable_fake_quant(self, enabled: bool = True) -> None:
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        self.enable_observer(False)

    with_args = classmethod(ObserverBase.with_args.__func__)


class FakeQuantize(FakeQuantizeBase):
    """Watches with an observer and rounds with its scale.

    >>> fake = torch.ao.quantization.FakeQuantize(quant_min=0, quant_max=255)
    >>> fake(torch.tensor([-1.0, 0.3, 4.0]))
    tensor([-1.0000,  0.2941,  4.0000])
    """

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ):
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        self.activation_post_process = observer(**observer_kwargs)
        self.is_dynamic = is_dynamic
        watching = self.activation_post_process
        self.dtype, self.qscheme = watching.dtype, watching.qscheme
        self.ch_axis = getattr(watching, "ch_axis", -1)
        self.is_per_channel = self.qscheme in PER_CHANNEL
        self.register_buffer("scale", torch.tensor([1.0]))
        self.register_buffer("zero_point", torch.tensor([0], dtype=torch.int32))

    quant_min = property(lambda self: self.activation_post_process.quant_min)
    quant_max = property(lambda self: self.activation_post_process.quant_max)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Scale and zero point of the observer."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            scale, zero = self.calculate_qparams()
            self.scale = scale.to(torch.float32)
            self.zero_point = zero if zero.dtype.is_floating_point else zero.to(torch.int32)
        if self.fake_quant_enabled[0] != 1:
            return X
        bounds = self.quant_min, self.quant_max
        if self.is_per_channel:
            return torch.fake_quantize_per_channel_affine(X, self.scale, self.zero_point, self.ch_axis, *bounds)
        return torch.fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, *bounds)

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, quant_min={self.quant_min}, "
            f"quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, ch_axis={self.ch_axis}, scale={self.scale}, "
            f"zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name in ("scale", "zero_point"):  # as many as there are channels
            if prefix + name in state_dict:
                setattr(self, name, torch.empty_like(state_dict[prefix + name]))
        super()._load_from_state_dict(state_dict, prefix, *args)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounds with a scale that is known beforehand."""

    def __init__(self, observer: Any):
        super().__init__(observer=observer)
        self.scale, self.zero_point = self.activation_post_process.calculate_qparams()


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """``FakeQuantize`` with moving averages, by ``torch.fused_moving_avg_obs_fake_quant``: a symmetric scale in training is that
    of the range from -128 to 127, where ``calculate_qparams``, whose scale a converted module has, takes half of 255."""

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        **observer_kwargs: Any,
    ):
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        if not isinstance(
            self.activation_post_process, (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
        ):
            raise AssertionError(
                f"FusedMovingAvgObsFakeQuantize: expected an observer of moving averages, got {type(self.activation_post_process).__name__}"
            )
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.int64))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.int64))
        self.is_symmetric_quant = self.qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric)

    def forward(self, X: Tensor) -> Tensor:
        watching = self.activation_post_process
        return torch.fused_moving_avg_obs_fake_quant(
            X, self.observer_enabled, self.fake_quant_enabled, watching.min_val, watching.max_val, self.scale, self.zero_point,
            watching.averaging_constant, self.quant_min, self.quant_max, self.ch_axis, self.is_per_channel, self.is_symmetric_quant,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.quant_min}, quant_max={self.quant_max}, "
            f"qscheme={self.qscheme}, reduce_range={self.activation_post_process.reduce_range}"
        )


def _switch(method: str, doc: str) -> Any:
    def switch(mod: Any) -> None:
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, method)()

    switch.__name__ = switch.__qualname__ = method
    switch.__doc__ = doc + "; for ``Module.apply``."
    return switch


disable_fake_quant = _switch("disable_fake_quant", "Pass numbers as they are")
enable_fake_quant = _switch("enable_fake_quant", "Round again")
disable_observer = _switch("disable_observer", "Keep scales as they are")
enable_observer = _switch("enable_observer", "Watch again")

_activation = {"quant_min": 0, "quant_max": 255, "dtype": torch.quint8}
_weight = {"quant_min": -128, "quant_max": 127, "dtype": torch.qint8}
_whole, _each = {"qscheme": torch.per_tensor_symmetric}, {"qscheme": torch.per_channel_symmetric}
_moving, _channels = {"observer": MovingAverageMinMaxObserver}, {"observer": MovingAveragePerChannelMinMaxObserver}

default_fake_quant = FakeQuantize.with_args(
    **_moving, **_activation, qscheme=torch.per_tensor_affine, reduce_range=True
)
default_weight_fake_quant = FakeQuantize.with_args(**_moving, **_weight, **_whole, reduce_range=False)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    **_channels, **_weight, **_each, reduce_range=False, ch_axis=0
)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_moving, **_activation)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_moving, **_weight, **_whole)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_channels, **_weight, **_each)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=FixedQParamsObserver.with_args(scale=1 / 256, zero_point=0, dtype=torch.quint8, quant_min=0, quant_max=255)
)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=FixedQParamsObserver.with_args(
        scale=2 / 256, zero_point=128, dtype=torch.quint8, quant_min=0, quant_max=255
    )
)

default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_dynamic_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, **_activation, is_dynamic=True, averaging_constant=1
)
default_embedding_fake_quant = FakeQuantize.with_args(
    **_channels, qscheme=torch.per_channel_affine_float_qparams, dtype=torch.quint8, quant_min=0, quant_max=255, ch_axis=0, averaging_constant=1
)  # fmt: skip
default_embedding_fake_quant_4bit = FakeQuantize.with_args(
    **_channels, qscheme=torch.per_channel_affine_float_qparams, dtype=torch.quint4x2, quant_min=0, quant_max=15, ch_axis=0, averaging_constant=1
)  # fmt: skip
_even = {"quant_min": -127, "quant_max": 127, "dtype": torch.qint8, "eps": 2**-12}
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(**_moving, **_even, **_whole)
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    **_channels, **_even, **_each
)

# whose observer is made of this module's
__getattr__, __dir__ = _seams.later(
    globals(), names={"default_histogram_fake_quant": "qconfig"}, base="torch.ao.quantization"
)

__all__ = [
    "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize", "FusedMovingAvgObsFakeQuantize", "Partial",
    "default_affine_fixed_qparams_fake_quant", "default_dynamic_fake_quant", "default_embedding_fake_quant",
    "default_embedding_fake_quant_4bit", "default_fake_quant", "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant", "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant", "default_fused_wt_fake_quant", "default_per_channel_weight_fake_quant",
    "default_symmetric_fixed_qparams_fake_quant", "default_weight_fake_quant", "disable_fake_quant", "disable_observer",
    "enable_fake_quant", "enable_observer", "fused_per_channel_wt_fake_quant_range_neg_127_to_127",
    "fused_wt_fake_quant_range_neg_127_to_127",
]  # fmt: skip
