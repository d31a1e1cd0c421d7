"""Which layer stands in for which: after calibration, dynamically, and in training."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.ao.nn import intrinsic as nni
from torch.ao.nn import qat as nnqat
from torch.ao.nn import quantized as nnq
from torch.ao.nn.intrinsic import qat as nniqat
from torch.ao.nn.intrinsic import quantized as nniq
from torch.ao.nn.quantized import dynamic as nnqd
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear

from .stubs import DeQuantStub, QuantStub

DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    QuantStub: nnq.Quantize,
    DeQuantStub: nnq.DeQuantize,
    **{getattr(nn, n): getattr(nnq, n) for n in nnq.COATED},
    **{getattr(nn, n): getattr(nnq, n) for n in ("Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear")},
    NonDynamicallyQuantizableLinear: nnq.Linear,
    nnq.FloatFunctional: nnq.QFunctional,
    **{
        getattr(nni, n): getattr(nniq, n)
        for n in ("ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU", "BNReLU2d", "BNReLU3d")
    },
    **{getattr(nnqat, n): getattr(nnq, n) for n in ("Conv1d", "Conv2d", "Conv3d", "Linear")},
    **{getattr(nniqat, n): getattr(nniq, n) for n in ("ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU")},
    **{getattr(nniqat, f"ConvBn{d}"): getattr(nnq, f"Conv{d}") for d in ("1d", "2d", "3d")},
    **{getattr(nniqat, f"ConvBnReLU{d}"): getattr(nniq, f"ConvReLU{d}") for d in ("1d", "2d", "3d")},
}
DEFAULT_QAT_MODULE_MAPPINGS: dict[Any, Any] = {
    **{getattr(nn, n): getattr(nnqat, n) for n in ("Conv1d", "Conv2d", "Conv3d", "Linear")},
    NonDynamicallyQuantizableLinear: nnqat.Linear,
    **{getattr(nni, n): getattr(nniqat, n) for n in nniqat.__all__},
}
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    **{getattr(nn, n): getattr(nnqd, n) for n in ("GRU", "GRUCell", "LSTM", "LSTMCell", "Linear", "RNNCell")},
    NonDynamicallyQuantizableLinear: nnqd.Linear,
    nn.Embedding: nnq.Embedding,
    nn.EmbeddingBag: nnq.EmbeddingBag,
}


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """What ``convert`` puts in place after calibration."""
    return dict(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """What ``prepare_qat`` puts in place."""
    return dict(DEFAULT_QAT_MODULE_MAPPINGS)


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """What ``quantize_dynamic`` puts in place."""
    return dict(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def get_default_qconfig_propagation_list() -> set[Any]:
    """The layers that are observed."""
    return {*DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, *DEFAULT_QAT_MODULE_MAPPINGS, *DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS}


__all__ = [n for n in globals() if n.startswith(("DEFAULT_", "get_default_"))]
