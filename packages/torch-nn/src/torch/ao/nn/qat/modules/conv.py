"""Convolutions that round their weight, with the class that those of one's own derive from."""

from torch import nn
from torch.ao.nn.qat import Conv1d, Conv2d, Conv3d, _Rounding

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


class _ConvNd(_Rounding, nn.modules.conv._ConvNd):
    """A convolution of any number of dims: its arguments are those of the float one, and a ``qconfig``."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias, padding_mode,
        qconfig=None, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias, padding_mode,
            device, dtype,
        )  # fmt: skip
        if qconfig is None:
            raise AssertionError(f"{type(self).__name__}: qconfig must be provided for QAT module")
        self.qconfig, self.weight_fake_quant = qconfig, qconfig.weight()

    def forward(self, input):
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)
