"""Layers that round their weight as quantization will, for training."""

from torch import _seams, nn
from torch.ao.nn.quantized._weights import adopt
from torch.nn import functional as F

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]
__getattr__, __dir__ = _seams.later(globals(), modules=("dynamic", "modules"))


class _Rounding:
    """What the layers share: ``weight_fake_quant``, made by the weight's part of a ``QConfig``."""

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """The layer with the parameters of another, which it shares."""
        layer = mod[0] if isinstance(mod, nn.Sequential) else mod
        made = cls.__new__(cls)
        adopt(made, layer)
        made.qconfig = mod.qconfig
        made.weight_fake_quant = made.qconfig.weight()
        return made

    def to_float(self):
        """The layer in floats, with weights that are not rounded; a batch norm is within them.

        >>> layer = torch.nn.Linear(3, 2)
        >>> layer.qconfig = torch.ao.quantization.get_default_qat_qconfig()
        >>> torch.equal(Linear.from_float(layer).to_float().weight, layer.weight)
        True
        """
        kind = next(base for base in type(self).__mro__ if base.__module__.startswith("torch.nn.modules"))
        made = kind.__new__(kind)
        nn.Module.__init__(made)
        made.__dict__ |= {k: v for k, v in vars(self).items() if k not in vars(made) and k != "qconfig"}
        parameters = dict(self._parameters)
        if hasattr(self, "folded"):
            parameters |= zip(("weight", "bias"), self.folded())
        for name, value in parameters.items():
            made.register_parameter(name, None if value is None else nn.Parameter(value.detach()))
        return made.train(self.training)


class Linear(_Rounding, nn.Linear):
    """``x @ rounded(weight)^T + bias``."""

    _FLOAT_MODULE = nn.Linear

    def __init__(self, in_features, out_features, bias=True, qconfig=None, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        if qconfig is None:
            raise AssertionError("Linear: qconfig must be provided for QAT module")
        self.qconfig, self.weight_fake_quant = qconfig, qconfig.weight()

    def forward(self, input):
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)


class _Convolution(_Rounding):
    def __init__(self, *args, qconfig=None, **kwargs):
        super().__init__(*args, **kwargs)
        if qconfig is None:
            raise AssertionError(f"{type(self).__name__}: qconfig must be provided for QAT module")
        self.qconfig, self.weight_fake_quant = qconfig, qconfig.weight()

    def forward(self, input):
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)


class Conv1d(_Convolution, nn.Conv1d):
    """A convolution (N, C, L) with a rounded weight."""

    _FLOAT_MODULE = nn.Conv1d


class Conv2d(_Convolution, nn.Conv2d):
    """A convolution (N, C, H, W) with a rounded weight."""

    _FLOAT_MODULE = nn.Conv2d


class Conv3d(_Convolution, nn.Conv3d):
    """A convolution (N, C, D, H, W) with a rounded weight."""

    _FLOAT_MODULE = nn.Conv3d


class _Table(_Rounding):
    def __init__(self, *args, qconfig=None, **kwargs):
        super().__init__(*args, **kwargs)
        if qconfig is None:
            raise AssertionError(f"{type(self).__name__}: qconfig must be provided for QAT module")
        self.qconfig, self.weight_fake_quant = qconfig, qconfig.weight()


class Embedding(_Table, nn.Embedding):
    """Rows of a table whose numbers are rounded."""

    _FLOAT_MODULE = nn.Embedding

    def forward(self, input):
        return F.embedding(
            input, self.weight_fake_quant(self.weight), self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )  # fmt: skip


class EmbeddingBag(_Table, nn.EmbeddingBag):
    """Sums or means of rows of a table whose numbers are rounded."""

    _FLOAT_MODULE = nn.EmbeddingBag

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(
            input, self.weight_fake_quant(self.weight), offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip
