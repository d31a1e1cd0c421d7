"""Layers that compute in floats, with weights that are quantized and brought back at each call."""

from torch import nn
from torch.nn import functional as F

from ._recurrent import GRU as GRU
from ._recurrent import LSTM as LSTM
from ._recurrent import GRUCell as GRUCell
from ._recurrent import LSTMCell as LSTMCell
from ._recurrent import RNNCell as RNNCell
from .utils import ReferenceQuantizedModule

__all__ = [
    "GRU", "LSTM", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Embedding", "EmbeddingBag",
    "GRUCell", "LSTMCell", "Linear", "RNNCell",
]  # fmt: skip


class Linear(ReferenceQuantizedModule, nn.Linear):
    """A linear layer with a weight as ``weight_qparams`` of :meth:`from_float` quantize it.

    >>> how = {"qscheme": torch.per_tensor_affine, "dtype": torch.qint8, "scale": 0.5, "zero_point": 0}
    >>> layer = Linear.from_float(torch.nn.Linear(1, 1), how)
    >>> bool((layer.get_weight() * 2 == (layer.weight * 2).round()).all())
    True
    """

    def forward(self, x):
        return F.linear(x, self.get_weight(), self.bias)


class Embedding(ReferenceQuantizedModule, nn.Embedding):
    """A table whose rows are quantized."""

    def forward(self, input):
        return F.embedding(
            input, self.get_weight(), self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )  # fmt: skip


class EmbeddingBag(ReferenceQuantizedModule, nn.EmbeddingBag):
    """Sums of bags of quantized rows."""

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(
            input, self.get_weight(), offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip


def _convolution(base):
    class Convolution(ReferenceQuantizedModule, base):
        def forward(self, x):
            return self._conv_forward(x, self.get_weight(), self.bias)

    return _named(Convolution, base)


def _transposed(base):
    dims = int(base.__name__[-2])
    run = getattr(F, f"conv_transpose{dims}d")

    class Convolution(ReferenceQuantizedModule, base):
        def forward(self, x, output_size=None):
            padding = self._output_padding(
                x, output_size, self.stride, self.padding, self.kernel_size, dims, self.dilation
            )  # fmt: skip
            weight = self.get_weight()
            return run(x, weight, self.bias, self.stride, self.padding, padding, self.groups, self.dilation)

    return _named(Convolution, base)


def _named(kind, base):
    kind.__name__ = kind.__qualname__ = base.__name__
    kind.__doc__ = f"``{base.__name__}`` with a weight that is quantized."
    return kind


Conv1d, Conv2d, Conv3d = map(_convolution, (nn.Conv1d, nn.Conv2d, nn.Conv3d))
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = map(
    _transposed, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
)
