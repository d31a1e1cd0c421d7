"""What observes activations and weights: pairs of classes, and the pairs of the usual engines."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import torch
from torch import nn

from .fake_quantize import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_dynamic_fake_quant,
    default_embedding_fake_quant,
    default_embedding_fake_quant_4bit,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
    fused_per_channel_wt_fake_quant_range_neg_127_to_127,
    fused_wt_fake_quant_range_neg_127_to_127,
)
from .histogram import HistogramObserver
from .observer import (
    FixedQParamsObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    RecordingObserver,
    ReuseInputObserver,
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
default_histogram_fake_quant = FakeQuantize.with_args(
    observer=HistogramObserver, quant_min=0, quant_max=255, dtype=torch.quint8, qscheme=torch.per_tensor_affine, reduce_range=True
)  # fmt: skip
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_reuse_input_observer = ReuseInputObserver
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint4x2, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0
)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12
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
default_embedding_qat_qconfig = QConfig(nn.Identity, default_embedding_fake_quant)
default_embedding_qat_qconfig_4bit = QConfig(nn.Identity, default_embedding_fake_quant_4bit)
default_dynamic_qat_qconfig = QConfig(default_dynamic_fake_quant, default_weight_fake_quant)
default_reuse_input_qconfig = QConfig(default_reuse_input_observer, nn.Identity)
default_quint8_weight_qconfig = QConfig(HistogramObserver, MinMaxObserver)
float16_static_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=torch.float16), PlaceholderObserver.with_args(dtype=torch.float16)
)
float_qparams_weight_only_qconfig_4bit = QConfig(default_placeholder_observer, default_float_qparams_observer_4bit)
_signed_activation = HistogramObserver.with_args(dtype=torch.qint8, reduce_range=False, eps=2**-12)
default_symmetric_qnnpack_qconfig = QConfig(_signed_activation, weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    _signed_activation, per_channel_weight_observer_range_neg_127_to_127
)
_signed_fake = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=torch.qint8,
    reduce_range=False,
    eps=2**-12,
)
default_symmetric_qnnpack_qat_qconfig = QConfig(_signed_fake, fused_wt_fake_quant_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _signed_fake, fused_per_channel_wt_fake_quant_range_neg_127_to_127
)
QConfigAny = QConfig | None
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


class QConfigDynamic(namedtuple("QConfigDynamic", ["activation", "weight"])):
    """The pair of a dynamic layer, as it was called before 1.5: ``QConfig`` does the same."""

    __slots__ = ()


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Whether two configurations make the same observers.

    >>> from torch.ao.quantization import default_qconfig, get_default_qconfig
    >>> qconfig_equals(default_qconfig, default_qconfig), qconfig_equals(default_qconfig, get_default_qconfig())
    (True, False)
    """
    if q1 is None or q2 is None:
        return q1 is q2
    made = lambda p: (p.func, p.args, p.keywords) if hasattr(p, "keywords") else p
    return all(made(a) == made(b) for a, b in zip(q1, q2, strict=True))


def get_default_qconfig_dict(backend: str = "x86", version: int = 0) -> dict[str, Any]:
    """``get_default_qconfig_mapping`` as a dict."""
    from .qconfig_mapping import get_default_qconfig_mapping

    return get_default_qconfig_mapping(backend, version).to_dict()


def get_default_qat_qconfig_dict(backend: str = "x86", version: int = 1) -> dict[str, Any]:
    """``get_default_qat_qconfig_mapping`` as a dict."""
    from .qconfig_mapping import get_default_qat_qconfig_mapping

    return get_default_qat_qconfig_mapping(backend, version).to_dict()


__all__ = [
    "QConfig", "QConfigAny", "QConfigDynamic", "default_activation_only_qconfig",
    "default_affine_fixed_qparams_observer", "default_debug_observer", "default_debug_qconfig",
    "default_dynamic_qat_qconfig", "default_dynamic_qconfig", "default_dynamic_quant_observer",
    "default_embedding_qat_qconfig", "default_embedding_qat_qconfig_4bit", "default_fixed_qparams_range_0to1_observer",
    "default_fixed_qparams_range_neg1to1_observer", "default_float_qparams_observer", "default_histogram_fake_quant",
    "default_float_qparams_observer_4bit", "default_histogram_observer", "default_observer",
    "default_per_channel_qconfig", "default_per_channel_symmetric_qnnpack_qat_qconfig",
    "default_per_channel_symmetric_qnnpack_qconfig", "default_per_channel_weight_observer",
    "default_placeholder_observer", "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig",
    "default_quint8_weight_qconfig", "default_reuse_input_observer", "default_reuse_input_qconfig",
    "default_symmetric_fixed_qparams_observer", "default_symmetric_qnnpack_qat_qconfig",
    "default_symmetric_qnnpack_qconfig", "default_weight_observer", "default_weight_only_qconfig",
    "float16_dynamic_qconfig", "float16_static_qconfig", "float_qparams_weight_only_qconfig",
    "float_qparams_weight_only_qconfig_4bit", "get_default_qat_qconfig", "get_default_qat_qconfig_dict",
    "get_default_qconfig", "get_default_qconfig_dict", "per_channel_dynamic_qconfig",
    "per_channel_weight_observer_range_neg_127_to_127", "qconfig_equals", "weight_observer_range_neg_127_to_127",
]  # fmt: skip


def _assert_valid_qconfig(qconfig: Any, mod: Any) -> None:
    """AssertionError for a transposed convolution whose weight would have a scale for each channel."""
    if qconfig is None or not isinstance(mod, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)):
        return
    if not qconfig.weight:
        return
    if getattr(qconfig.weight(), "qscheme", None) in (torch.per_channel_affine, torch.per_channel_symmetric):
        raise AssertionError("Per channel weight observer is not supported yet for ConvTranspose{n}d.")
