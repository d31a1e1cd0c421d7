"""Joined layers that round as quantization will, for training."""

import torch
from torch import _seams
from torch.ao.nn import qat as nnqat
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_weights, fuse_linear_bn_weights

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearReLU",
]  # fmt: skip
__getattr__, __dir__ = _seams.later(globals(), modules=("modules",))


class _Relu:
    def forward(self, input):
        return F.relu(super().forward(input))

    def to_float(self):
        """The layer in floats, joined to relu."""
        from torch.ao.nn import intrinsic

        layer = super().to_float()
        name = type(layer).__name__.replace("Conv", "ConvReLU").replace("Linear", "LinearReLU")
        return getattr(intrinsic, name)(layer, torch.nn.ReLU()).train(self.training)


class LinearReLU(_Relu, nnqat.Linear):
    """``relu(x @ rounded(weight)^T + bias)``."""


class _WithNorm:
    """A convolution and the batch norm after it, whose factor is part of the weight that is rounded.

    The convolution runs with ``rounded(weight * factor)``, ``factor = gamma / sqrt(running_var + eps)``, and its result is divided by the
    factor before the batch norm (Krishnamoorthi, arXiv:1806.08342, section 3.2.2): statistics are those of the float layer.
    """

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        made = super().from_float(mod)
        made.bn = mod[1]
        return made

    def _add_norm(self, bn, freeze_bn):
        self.bn = bn.train(self.training and not freeze_bn)

    def factor(self):
        gamma = self.bn.weight if self.bn.weight is not None else torch.ones_like(self.bn.running_var)
        return gamma / torch.sqrt(self.bn.running_var + self.bn.eps)

    def forward(self, input):
        factor = self.factor()
        rows = [-1] + [1] * (self.weight.dim() - 1)
        columns = [1, -1] + [1] * (self.weight.dim() - 2)
        rounded = self.weight_fake_quant(self.weight * factor.reshape(rows))
        y = self._forward(input, rounded) / factor.reshape(columns)
        if self.bias is not None:
            y = y + self.bias.reshape(columns)
        return self.bn(y)

    def _forward(self, input, weight):
        return self._conv_forward(input, weight, None)

    def folded(self):
        """Weight and bias of the layer that does both."""
        bn = self.bn
        return fuse_conv_bn_weights(self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)


class LinearBn1d(_WithNorm, nnqat.Linear):
    """A linear layer and a batch norm, rounded as one."""

    def __init__(
        self, in_features, out_features, bias=True, eps=1e-5, momentum=0.1, freeze_bn=False, qconfig=None
    ):  # fmt: skip
        super().__init__(in_features, out_features, bias, qconfig=qconfig)
        self._add_norm(torch.nn.BatchNorm1d(out_features, eps, momentum), freeze_bn)

    def _forward(self, input, weight):
        return F.linear(input, weight)

    def folded(self):
        bn = self.bn
        return fuse_linear_bn_weights(
            self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
        )


def update_bn_stats(mod):
    """Let batch norms of joined layers follow their inputs; for ``Module.apply``."""
    if isinstance(mod, _WithNorm):
        mod.bn.train()


def freeze_bn_stats(mod):
    """Let batch norms of joined layers keep their statistics; for ``Module.apply``."""
    if isinstance(mod, _WithNorm):
        mod.bn.eval()


def _made(kind, dims):
    """How a convolution and a batch norm of some dims are made."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=None, padding_mode="zeros", eps=1e-5,
        momentum=0.1, freeze_bn=False, qconfig=None,
    ):  # fmt: skip
        given = in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bool(bias), padding_mode
        super(kind, self).__init__(*given, qconfig=qconfig)
        self._add_norm(getattr(torch.nn, f"BatchNorm{dims}")(out_channels, eps, momentum), freeze_bn)

    return __init__


for _d in ("1d", "2d", "3d"):
    _conv = getattr(nnqat, f"Conv{_d}")
    for _name, _bases, _doc in (
        (f"ConvReLU{_d}", (_Relu, _conv), "A convolution with a rounded weight, and relu."),
        (f"ConvBn{_d}", (_WithNorm, _conv), "A convolution and a batch norm, rounded as one."),
        (f"ConvBnReLU{_d}", (_Relu, _WithNorm, _conv), "A convolution, a batch norm and relu, rounded as one."),
    ):
        _kind = globals()[_name] = type(_name, _bases, {"__doc__": _doc, "__module__": __name__})
        if _WithNorm in _bases:
            _kind.__init__ = _made(_kind, _d)
