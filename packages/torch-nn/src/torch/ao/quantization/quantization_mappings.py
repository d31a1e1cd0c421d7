"""Which layer stands in for which: after calibration, dynamically, and in training."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.ao.nn import intrinsic as nni
from torch.ao.nn import qat as nnqat
from torch.ao.nn import quantized as nnq
from torch.ao.nn.intrinsic import qat as nniqat
from torch.ao.nn.intrinsic import quantized as nniq
from torch.ao.nn.intrinsic.quantized import dynamic as nniqd
from torch.ao.nn.quantized import dynamic as nnqd
from torch.nn import functional as F
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear

from .fake_quantize import default_fixed_qparams_range_0to1_fake_quant, default_fixed_qparams_range_neg1to1_fake_quant
from .stubs import DeQuantStub, QuantStub

DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    QuantStub: nnq.Quantize,
    DeQuantStub: nnq.DeQuantize,
    **{
        getattr(nn, n): getattr(nnq, n) for n in nnq.COATED if n != "Sigmoid"
    },  # which has one scale, of all numbers from 0 to 1
    nn.Dropout: nnq.Dropout,
    **{getattr(nn, n): getattr(nnq, n) for n in ("Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear")},
    **{getattr(nn, n): getattr(nnq, n) for n in ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")},
    NonDynamicallyQuantizableLinear: nnq.Linear,
    nnq.FloatFunctional: nnq.QFunctional,
    nniqat.LinearBn1d: nnq.Linear,
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
    **{getattr(nni, n): getattr(nniqat, n) for n in nniqat.__all__ if hasattr(nni, n)},
}
#: what watches layers of a known range in training
DEFAULT_MODULE_TO_ACT_POST_PROCESS: dict[Any, Any] = {
    nn.Hardsigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    **{getattr(nn, n): getattr(nnqd, n) for n in ("GRU", "GRUCell", "LSTM", "LSTMCell", "Linear", "RNNCell")},
    NonDynamicallyQuantizableLinear: nnqd.Linear,
    nni.LinearReLU: nniqd.LinearReLU,
    nn.Embedding: nnq.Embedding,
    nn.EmbeddingBag: nnq.EmbeddingBag,
}


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """What ``convert`` puts in place after calibration."""
    return dict(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_static_quant_reference_module_mappings() -> dict[Any, Any]:
    """What ``convert(is_reference=True)`` puts in place: layers of floats whose weights are rounded as integers would be."""
    from torch.ao.nn.quantized import reference

    layers = {getattr(nn, name): getattr(reference, name) for name in reference.__all__ if hasattr(nn, name)}
    return {QuantStub: nnq.Quantize, DeQuantStub: nnq.DeQuantize, **layers}


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """What ``prepare_qat`` puts in place."""
    return dict(DEFAULT_QAT_MODULE_MAPPINGS)


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """What ``quantize_dynamic`` puts in place."""
    return dict(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def get_default_qconfig_propagation_list() -> set[Any]:
    """The layers that are observed."""
    return {*DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, *DEFAULT_QAT_MODULE_MAPPINGS, *DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS}


def get_embedding_static_quant_module_mappings() -> dict[Any, Any]:
    """What ``convert`` puts in place of tables that were trained with rounding, too."""
    return {
        **DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
        nnqat.Embedding: nnq.Embedding,
        nnqat.EmbeddingBag: nnq.EmbeddingBag,
    }


def get_embedding_qat_module_mappings() -> dict[Any, Any]:
    """What ``prepare_qat`` puts in place, of tables too."""
    return {**DEFAULT_QAT_MODULE_MAPPINGS, nn.Embedding: nnqat.Embedding, nn.EmbeddingBag: nnqat.EmbeddingBag}


def _class_of(mapping: dict[Any, Any], float_module_class: Any, additional: Any) -> Any:
    found = {**mapping, **(additional or {})}.get(float_module_class)
    if found is None:
        raise AssertionError(
            f"Floating point module class {float_module_class} does not have a corresponding quantized module class"
        )
    return found


def get_static_quant_module_class(
    float_module_class: Any, additional_static_quant_mapping: Any = None, is_reference: bool = False
) -> Any:
    """The layer of quantized tensors for a class.

    >>> get_static_quant_module_class(torch.nn.Linear)
    <class 'torch.ao.nn.quantized._layers.Linear'>
    """
    mapping = (
        get_default_static_quant_reference_module_mappings() if is_reference else DEFAULT_STATIC_QUANT_MODULE_MAPPINGS
    )
    return _class_of(mapping, float_module_class, additional_static_quant_mapping)


def get_dynamic_quant_module_class(float_module_class: Any, additional_dynamic_quant_mapping: Any = None) -> Any:
    """The layer with a weight of small integers for a class."""
    return _class_of(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, float_module_class, additional_dynamic_quant_mapping)


DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS = {
    F.elu: "elu", F.hardswish: "hardswish", F.instance_norm: "instance_norm", F.layer_norm: "layer_norm", F.leaky_relu: "leaky_relu",
    F.dropout: "dropout",
}  # fmt: skip


def get_default_float_to_quantized_operator_mappings() -> dict[Any, Any]:
    """Functions and those of quantized tensors in their place."""
    return {f: get_quantized_operator(f) for f in DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS}


def get_quantized_operator(float_op: Any) -> Any:
    """The operator of ``torch.ops.quantized`` for a function."""
    name = DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS.get(float_op)
    if name is None:
        raise AssertionError(f"Operator {float_op} does not have corresponding quantized op")
    return getattr(torch.ops.quantized, name)


def get_default_compare_output_module_list() -> set[Any]:
    """Layers whose results are worth comparing before and after."""
    return {
        *DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
        *DEFAULT_STATIC_QUANT_MODULE_MAPPINGS.values(),
        *DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS.values(),
    }


def no_observer_set() -> set[Any]:
    """Layers whose results are not watched."""
    from torch.ao.nn import quantizable

    return {DeQuantStub, nn.Dropout, nn.Identity, quantizable.LSTM, quantizable.MultiheadAttention}


__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_MODULE_TO_ACT_POST_PROCESS", "DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS",
    "DEFAULT_QAT_MODULE_MAPPINGS", "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS", "get_default_compare_output_module_list",
    "get_default_dynamic_quant_module_mappings", "get_default_float_to_quantized_operator_mappings",
    "get_default_qat_module_mappings", "get_default_qconfig_propagation_list",
    "get_default_static_quant_module_mappings", "get_default_static_quant_reference_module_mappings", "get_dynamic_quant_module_class", "get_embedding_qat_module_mappings",
    "get_embedding_static_quant_module_mappings", "get_quantized_operator", "get_static_quant_module_class",
    "no_observer_set",
]  # fmt: skip
