# ruff: noqa: F403
"""The layers, one file for each family."""

from .activation import *
from .batchnorm import *
from .channelshuffle import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .flatten import *
from .fold import *
from .instancenorm import *
from .linear import *
from .loss import *
from .module import *
from .normalization import *
from .padding import *
from .pixelshuffle import *
from .pooling import *
from .sparse import *
from .upsampling import *

# Larger families that many programs do without are loaded at first use.
_LATE = {
    "AdaptiveLogSoftmaxWithLoss": "adaptive",
    "LinearCrossEntropyOptions": "linear_cross_entropy_options",
    "MultiheadAttention": "attention",
    **dict.fromkeys(("GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"), "rnn"),
    **dict.fromkeys(("Transformer", "TransformerDecoder", "TransformerDecoderLayer"), "transformer"),
    **dict.fromkeys(("TransformerEncoder", "TransformerEncoderLayer"), "transformer"),
}


TYPE_CHECKING = False
if TYPE_CHECKING:  # what type checkers see
    from .adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
    from .attention import MultiheadAttention as MultiheadAttention
    from .linear_cross_entropy_options import LinearCrossEntropyOptions as LinearCrossEntropyOptions
    from .rnn import *
    from .transformer import *
else:

    def __getattr__(name):
        if name not in _LATE and name not in _LATE.values():
            raise AttributeError(f"module 'torch.nn.modules' has no attribute {name!r}")
        import importlib

        module = importlib.import_module(f"{__name__}.{_LATE.get(name, name)}")
        if name not in _LATE:
            return module
        globals()[name] = getattr(module, name)
        return globals()[name]


def __dir__():
    return sorted({*globals(), *_LATE})
