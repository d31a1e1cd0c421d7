"""``torch.ao.nn.quantizable`` by kind."""

from .activation import MultiheadAttention as MultiheadAttention
from .rnn import LSTM as LSTM
from .rnn import LSTMCell as LSTMCell

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]
