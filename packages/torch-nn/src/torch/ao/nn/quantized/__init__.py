"""Layers of quantized tensors, which ``torch.ao.quantization.convert`` puts in place of float ones."""
# ruff: noqa: F403

from torch.nn import MaxPool2d, ReLU6
from torch.nn.quantized.modules.functional_modules import FloatFunctional, FXFloatFunctional

from ._coated import *
from ._coated import NAMES as COATED
from ._functional import QFunctional
from ._layers import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    DeQuantize,
    Dropout,
    Embedding,
    EmbeddingBag,
    Linear,
    Quantize,
)

__all__ = [
    *COATED, "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "DeQuantize", "Dropout", "Embedding", "EmbeddingBag", "FXFloatFunctional", "FloatFunctional", "Linear",
    "MaxPool2d", "QFunctional", "Quantize", "ReLU6",
]  # fmt: skip

_OBSERVED = ("LSTM", "MultiheadAttention")  # which need torch.ao.nn.quantizable, and that these layers


def __getattr__(name):
    if name in ("dynamic", "functional", "modules"):
        from importlib import import_module

        return import_module(f"torch.ao.nn.quantized.{name}")
    if name in _OBSERVED:
        from . import _observed

        return getattr(_observed, name)
    raise AttributeError(f"module 'torch.ao.nn.quantized' has no attribute {name!r}")
