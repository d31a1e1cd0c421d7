"""A convolution and a batch norm that are rounded as one, of any number of dims."""

from torch import nn
from torch.ao.nn.intrinsic.qat import (
    ConvBn1d,
    ConvBn2d,
    ConvBn3d,
    ConvBnReLU1d,
    ConvBnReLU2d,
    ConvBnReLU3d,
    ConvReLU1d,
    ConvReLU2d,
    ConvReLU3d,
    _WithNorm,
    freeze_bn_stats,
    update_bn_stats,
)
from torch.ao.nn.qat.modules.conv import _ConvNd

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d",
    "freeze_bn_stats", "update_bn_stats",
]  # fmt: skip


class _ConvBnNd(_WithNorm, _ConvNd):
    """Arguments are those of a convolution, ``eps`` and ``momentum`` of the batch norm, whether its statistics stay, a
    ``qconfig``, and how many dims there are.
    """

    def __init__(
        self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias, padding_mode,
        eps=1e-5, momentum=0.1, freeze_bn=False, qconfig=None, dim=2,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias, padding_mode, qconfig
        )  # fmt: skip
        self.bn = getattr(nn, f"BatchNorm{dim}d")(out_channels, eps, momentum)
        self.bn.train(self.training and not freeze_bn)
