"""What observes activations and weights: pairs of classes, and the pairs of the usual engines."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import torch
from torch import nn

from .fake_quantize import (
    FusedMovingAvgObsFakeQuantize,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
)
from .histogram import HistogramObserver
from .observer import (
    FixedQParamsObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    RecordingObserver,
)

default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_weight_observer = MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric
)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint8, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1 / 256, zero_point=0, dtype=torch.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2 / 256, zero_point=128, dtype=torch.quint8, quant_min=0, quant_max=255
)


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """Classes, or classes with arguments, of the observers of activations and weights.

    >>> from torch.ao.quantization import MinMaxObserver, QConfig, default_weight_observer
    >>> config = QConfig(activation=MinMaxObserver.with_args(reduce_range=True), weight=default_weight_observer)
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, nn.Module) or isinstance(weight, nn.Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. "
                "Use MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(default_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_debug_qconfig = QConfig(default_debug_observer, default_weight_observer)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
per_channel_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_per_channel_weight_observer)
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=torch.float16, is_dynamic=True),
    PlaceholderObserver.with_args(dtype=torch.float16),
)
float_qparams_weight_only_qconfig = QConfig(default_placeholder_observer, default_float_qparams_observer)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_qat_qconfig_v2 = QConfig(default_fused_act_fake_quant, default_fused_wt_fake_quant)
default_weight_only_qconfig = QConfig(nn.Identity, default_weight_fake_quant)
default_activation_only_qconfig = QConfig(default_fake_quant, nn.Identity)
BACKENDS = ("x86", "fbgemm", "onednn", "qnnpack")


def _known(name: str, backend: str) -> None:
    if backend not in BACKENDS:
        raise AssertionError(f"{name}: no backend {backend!r}: there are {', '.join(BACKENDS)}")


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """Histograms of activations, and a scale for each channel of weights (for qnnpack one for all).

    >>> torch.ao.quantization.get_default_qconfig("x86").weight().qscheme
    torch.per_channel_symmetric
    """
    _known("get_default_qconfig", backend)
    weight = default_weight_observer if backend == "qnnpack" else default_per_channel_weight_observer
    return QConfig(HistogramObserver.with_args(reduce_range=backend in ("x86", "fbgemm")), weight)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """What ``prepare_qat`` usually takes."""
    _known("get_default_qat_qconfig", backend)
    if version == 0:
        per_tensor = backend == "qnnpack"
        return QConfig(
            default_fake_quant, default_weight_fake_quant if per_tensor else default_per_channel_weight_fake_quant
        )
    activation = FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, reduce_range=backend in ("x86", "fbgemm")
    )
    return QConfig(
        activation, default_fused_wt_fake_quant if backend == "qnnpack" else default_fused_per_channel_wt_fake_quant
    )


__all__ = [
    "QConfig", "default_activation_only_qconfig", "default_debug_observer", "default_debug_qconfig",
    "default_dynamic_qconfig", "default_dynamic_quant_observer", "default_fake_quant",
    "default_fixed_qparams_range_0to1_observer", "default_fixed_qparams_range_neg1to1_observer",
    "default_float_qparams_observer", "default_fused_act_fake_quant", "default_fused_per_channel_wt_fake_quant",
    "default_fused_wt_fake_quant", "default_histogram_observer", "default_observer", "default_per_channel_qconfig",
    "default_per_channel_weight_fake_quant", "default_per_channel_weight_observer", "default_placeholder_observer",
    "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig", "default_weight_fake_quant",
    "default_weight_observer", "default_weight_only_qconfig", "float16_dynamic_qconfig",
    "float_qparams_weight_only_qconfig", "get_default_qat_qconfig", "get_default_qconfig", "per_channel_dynamic_qconfig",
]  # fmt: skip
