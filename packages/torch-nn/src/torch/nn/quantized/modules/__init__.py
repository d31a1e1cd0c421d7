"""The modules of ``torch.nn.quantized``."""

from __future__ import annotations

from ...modules.module import Module
from .functional_modules import FloatFunctional as FloatFunctional
from .functional_modules import FXFloatFunctional as FXFloatFunctional

#: layers of quantized tensors
ABSENT = (
    "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "DeQuantize",
    "Dropout", "ELU", "Embedding", "EmbeddingBag", "GroupNorm", "Hardswish", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "LSTM", "LayerNorm", "LeakyReLU", "Linear", "MaxPool2d", "MultiheadAttention", "PReLU", "QFunctional", "Quantize", "ReLU6",
    "Sigmoid", "Softmax",
)  # fmt: skip


def _refuse(self, *args, **kwargs):
    raise NotImplementedError(
        f"torch.nn.quantized.{type(self).__name__}: there are no quantized tensors; torch.nn.{type(self).__name__} computes in floats"
    )


def __getattr__(name):
    if name not in ABSENT:
        raise AttributeError(f"module 'torch.nn.quantized' has no attribute {name!r}")
    members = {
        "__init__": _refuse,
        "__module__": __name__,
        "__doc__": "NotImplementedError: there are no quantized tensors.",
    }
    layer = globals()[name] = type(name, (Module,), members)
    return layer
