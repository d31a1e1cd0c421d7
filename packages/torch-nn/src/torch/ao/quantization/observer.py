"""Modules that watch which numbers pass, and choose a scale and a zero point for them."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, _seams, nn

__all__ = [
    "FixedQParamsObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "RecordingObserver",
    "ReuseInputObserver",
    "UniformQuantizationObserverBase",
    "get_observer_state_dict",
    "load_observer_state_dict",
]


SYMMETRIC = (torch.per_tensor_symmetric, torch.per_channel_symmetric)
BOUNDS = {
    torch.qint8: (-128, 127),
    torch.quint8: (0, 255),
    torch.qint32: (-(2**31), 2**31 - 1),
    torch.quint4x2: (0, 15),
}
EPS = torch.finfo(torch.float32).eps


class ObserverBase(nn.Module):
    """What observers share: a dtype, and ``with_args``."""

    def __init__(self, dtype: Any, is_dynamic: bool = False):
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    def forward(self, x: Tensor) -> Tensor:
        """Watch the numbers and pass them on."""
        raise NotImplementedError(f"{type(self).__name__}: an observer has a forward of its own")

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Scale and zero point."""
        raise NotImplementedError(f"{type(self).__name__}: an observer has calculate_qparams of its own")

    @classmethod
    def with_args(cls, **kwargs: Any) -> Any:
        """The class with arguments filled in.

        >>> from torch.ao.quantization import MinMaxObserver
        >>> MinMaxObserver.with_args(dtype=torch.qint8)().dtype
        torch.qint8
        """
        return _with_args(cls, **kwargs)

    @classmethod
    def with_callable_args(cls, **kwargs: Any) -> Any:
        """The same with arguments that are made anew for each observer."""
        return Partial(lambda **more: cls(**{k: v() for k, v in kwargs.items()}, **more))


class Partial(partial):
    """A class with arguments, and ``with_args`` for more."""

    def with_args(self, **kwargs: Any) -> Any:
        return Partial(self, **kwargs)


def _with_args(cls: Any, **kwargs: Any) -> Partial:
    """A class or a partial one with arguments filled in; as a class method it makes ``with_args``."""
    return Partial(cls, **kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    """Observers whose scale follows from a least and a greatest number.

    ``reduce_range`` leaves out a bit; ``quant_min`` and ``quant_max`` are bounds of one's own.
    """

    def __init__(
        self,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: Any = None,
        eps: float = EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ):
        super().__init__(dtype, is_dynamic)
        if kwargs:
            raise TypeError(f"{type(self).__name__}: unexpected arguments {', '.join(kwargs)}")
        if dtype not in BOUNDS:
            raise NotImplementedError(
                f"{type(self).__name__}: quantizes to torch.qint8, quint8, qint32 and quint4x2, got {dtype}"
            )
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        low, high = BOUNDS[dtype]
        if self.has_customized_qrange:
            if not quant_min <= 0 <= quant_max or quant_min == quant_max:
                raise ValueError(
                    f"{type(self).__name__}: expected a range with zero in it, got {quant_min} to {quant_max}"
                )
            low, high = quant_min, quant_max
        if reduce_range:
            low, high = low // 2, high // 2
        self.quant_min, self.quant_max = low, high
        self.register_buffer("eps", torch.tensor([eps]))

    def _calculate_qparams(self, least: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
        low, high = least.clamp(max=0.0), most.clamp(min=0.0)
        eps = self.eps
        if self.qscheme in SYMMETRIC:
            scale = torch.maximum(torch.maximum(-low, high) / ((self.quant_max - self.quant_min) / 2), eps)
            zero = 0
            if self.dtype is torch.quint8:
                zero = (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
            return scale, torch.full(scale.shape, zero, dtype=torch.int64)
        if self.qscheme is torch.per_channel_affine_float_qparams:
            scale = (most - least) / (self.quant_max - self.quant_min)
            scale = torch.where(scale > eps, scale, torch.ones_like(scale))
            return scale, -least / scale
        scale = torch.maximum((high - low) / (self.quant_max - self.quant_min), eps)
        zero = (self.quant_min - (low / scale).round()).clamp(self.quant_min, self.quant_max)
        return scale, zero.to(torch.int32)

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = torch.tensor(float("inf")), torch.tensor(float("-inf"))


class MinMaxObserver(UniformQuantizationObserverBase):
    """The least and the greatest number seen.

    >>> observer = torch.ao.quantization.MinMaxObserver()
    >>> _ = observer(torch.tensor([-1.0, 2.0]))
    >>> observer.calculate_qparams()
    (tensor([0.0118]), tensor([85], dtype=torch.int32))
    """

    def __init__(self, dtype: Any = torch.quint8, qscheme: Any = torch.per_tensor_affine, *args: Any, **kwargs: Any):
        super().__init__(dtype, qscheme, *args, **kwargs)
        self.register_buffer("min_val", torch.tensor(float("inf")))
        self.register_buffer("max_val", torch.tensor(float("-inf")))

    def seen(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.amin(), x.amax()

    def joined(self, least: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
        return torch.minimum(self.min_val, least), torch.maximum(self.max_val, most)

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            least, most = self.seen(x_orig.detach().to(torch.float32))
            if self.min_val.numel() and self.min_val.shape == least.shape and not torch.isinf(self.min_val).any():
                least, most = self.joined(least, most)
            elif self.min_val.numel() > 1:
                raise RuntimeError(
                    f"{type(self).__name__}: expected {self.min_val.numel()} channels, got {least.numel()}"
                )
            self.min_val, self.max_val = least, most
        return x_orig

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        if not self.min_val.numel() or torch.isinf(self.min_val).any():
            import warnings

            warnings.warn(f"{type(self).__name__}: calibrate before the scale is asked for; it is 1", stacklevel=2)
            return torch.ones(1), torch.zeros(1, dtype=torch.int64)
        return self._calculate_qparams(*(v if v.dim() else v.reshape(1) for v in (self.min_val, self.max_val)))

    def extra_repr(self) -> str:
        return f"min_val={self.min_val.tolist()}, max_val={self.max_val.tolist()}"

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name in ("min_val", "max_val"):  # of each channel, which is known once one was seen
            if prefix + name in state_dict:
                setattr(self, name, torch.empty_like(state_dict[prefix + name]))
        super()._load_from_state_dict(state_dict, prefix, *args)


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Running averages of least and greatest numbers.

    >>> observer = torch.ao.quantization.MovingAverageMinMaxObserver(averaging_constant=0.5)
    >>> _ = observer(torch.tensor([0.0, 2.0])), observer(torch.tensor([0.0, 4.0]))
    >>> observer.max_val
    tensor(3.)
    """

    def __init__(self, averaging_constant: float = 0.01, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.averaging_constant = averaging_constant

    def joined(self, least: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
        c = self.averaging_constant
        return self.min_val + c * (least - self.min_val), self.max_val + c * (most - self.max_val)


class PerChannelMinMaxObserver(MinMaxObserver):
    """The least and the greatest number of each channel.

    >>> observer = torch.ao.quantization.PerChannelMinMaxObserver()
    >>> _ = observer(torch.tensor([[1.0, 2.0], [-3.0, 0.0]]))
    >>> observer.min_val, observer.max_val
    (tensor([ 1., -3.]), tensor([2., 0.]))
    """

    def __init__(
        self, ch_axis: int = 0, dtype: Any = torch.quint8, qscheme: Any = torch.per_channel_affine, **kwargs: Any
    ):
        super().__init__(dtype, qscheme, **kwargs)
        self.ch_axis = ch_axis
        self.reset_min_max_vals()

    def seen(self, x: Tensor) -> tuple[Tensor, Tensor]:
        rows = x.movedim(self.ch_axis, 0).flatten(1) if x.dim() > 1 else x.reshape(-1, 1)
        return rows.amin(1), rows.amax(1)

    def reset_min_max_vals(self) -> None:
        self.min_val, self.max_val = torch.empty(0), torch.empty(0)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Running averages of the least and greatest number of each channel."""

    def __init__(self, averaging_constant: float = 0.01, ch_axis: int = 0, *args: Any, **kwargs: Any):
        super().__init__(ch_axis, *args, **kwargs)
        self.averaging_constant = averaging_constant

    joined = MovingAverageMinMaxObserver.joined


class FixedQParamsObserver(ObserverBase):
    """A scale and zero point that are known beforehand, as those of a sigmoid."""

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
    ):
        super().__init__(dtype, is_dynamic)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float32))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int32))

    def forward(self, X: Tensor) -> Tensor:
        return X

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Only says a dtype: for numbers that are quantized as they come."""

    def __init__(
        self,
        dtype: Any = torch.float32,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        eps: float | None = None,
        is_dynamic: bool = False,
    ):
        super().__init__(dtype, is_dynamic)
        self.custom_op, self.qscheme = custom_op_name, qscheme or torch.per_tensor_affine
        self.quant_min, self.quant_max, self.eps = quant_min, quant_max, eps

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:
        raise RuntimeError("PlaceholderObserver: its numbers are quantized as they come; there is no scale")


class NoopObserver(ObserverBase):
    """Says a dtype and watches nothing."""

    def __init__(self, dtype: Any = torch.float16, custom_op_name: str = ""):
        super().__init__(dtype)
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:
        raise RuntimeError("NoopObserver: it watches nothing; there is no scale")


class RecordingObserver(ObserverBase):
    """Keeps every tensor that passes."""

    def __init__(self, dtype: Any = torch.quint8):
        super().__init__(dtype)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self) -> Any:
        raise RuntimeError("RecordingObserver: it keeps tensors; there is no scale")

    def get_tensor_value(self) -> list[Tensor]:
        """The tensors, in their order."""
        return self.tensor_val


class ReuseInputObserver(ObserverBase):
    """Says that a result has the observer of the input; it watches nothing."""

    def __init__(self) -> None:
        super().__init__(torch.quint8)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:
        raise RuntimeError("ReuseInputObserver: it watches nothing; the scale is that of the input")


def get_observer_state_dict(mod: nn.Module) -> dict[str, Tensor]:
    """The part of a model's state that observers hold.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2)).eval()
    >>> net.qconfig = torch.ao.quantization.default_qconfig
    >>> sorted(get_observer_state_dict(torch.ao.quantization.prepare(net)))[0]
    '0.activation_post_process.eps'
    """
    return {k: v for k, v in mod.state_dict().items() if "activation_post_process" in k}


def load_observer_state_dict(mod: nn.Module, obs_dict: dict[str, Tensor]) -> None:
    """Give the observers of a model what ``get_observer_state_dict`` gave."""
    known = {k for k in mod.state_dict() if "activation_post_process" in k}
    if unknown := sorted(set(obs_dict) - known):
        raise RuntimeError(f"load_observer_state_dict: the model has no observers {', '.join(unknown[:3])}")
    mod.load_state_dict(obs_dict, strict=False)


_DEFAULTS = (
    "default_affine_fixed_qparams_observer", "default_debug_observer", "default_dynamic_quant_observer",
    "default_fixed_qparams_range_0to1_observer", "default_fixed_qparams_range_neg1to1_observer",
    "default_float_qparams_observer", "default_float_qparams_observer_4bit", "default_histogram_observer",
    "default_observer", "default_per_channel_weight_observer", "default_placeholder_observer",
    "default_reuse_input_observer", "default_symmetric_fixed_qparams_observer", "default_weight_observer",
    "per_channel_weight_observer_range_neg_127_to_127", "weight_observer_range_neg_127_to_127",
)  # fmt: skip
# HistogramObserver is made of MinMaxObserver, and the usual observers of all.
__getattr__, __dir__ = _seams.later(
    globals(),
    names={"HistogramObserver": "histogram", **dict.fromkeys(_DEFAULTS, "qconfig")},
    base="torch.ao.quantization",
)
