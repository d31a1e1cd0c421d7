"""Recurrent and attention layers made of layers that can be watched and quantized, one by one."""

from .modules import LSTM as LSTM
from .modules import LSTMCell as LSTMCell
from .modules import MultiheadAttention as MultiheadAttention

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]
