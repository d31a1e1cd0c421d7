"""Float layers whose weights are those of quantized ones: what a quantized program means, before a backend takes it over."""

from . import modules as modules
from .modules import (
    GRU,
    LSTM,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Embedding,
    EmbeddingBag,
    GRUCell,
    Linear,
    LSTMCell,
    RNNCell,
)  # fmt: skip

__all__ = [
    "GRU", "LSTM", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Embedding", "EmbeddingBag",
    "GRUCell", "LSTMCell", "Linear", "RNNCell",
]  # fmt: skip
