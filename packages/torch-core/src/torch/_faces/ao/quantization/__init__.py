"""``torch.ao.quantization``: the marks that a model carries before it is quantized. Quantizing it is refused: there are no
tensors of small integers with a scale in this stack.
"""

from collections import namedtuple

from torch import nn

__all__ = ["DeQuantStub", "FakeQuantizeBase", "ObserverBase", "QConfig", "QuantStub", "QuantWrapper"]

ABSENT = "quantized tensors are not part of this stack; torch.bfloat16 halves the memory of weights"


class QuantStub(nn.Module):
    """Marks where numbers would be quantized; before that they pass as they are.

    >>> torch.ao.quantization.QuantStub()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Marks where numbers would be floats again; before that they pass as they are."""


class QuantWrapper(nn.Module):
    """A module between the two marks."""

    def __init__(self, module):
        super().__init__()
        self.quant, self.dequant, self.module = QuantStub(), DeQuantStub(), module
        self.train(module.training)

    def forward(self, X):
        return self.dequant(self.module(self.quant(X)))


class ObserverBase(nn.Module):
    """The class of modules that watch which numbers pass, in order to choose a scale. Derived classes are refused."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__}: {ABSENT}")


class FakeQuantizeBase(ObserverBase):
    """The class of modules that round as quantization would. Derived classes are refused."""


UniformQuantizationObserverBase = MinMaxObserver = MovingAverageMinMaxObserver = HistogramObserver = ObserverBase
PerChannelMinMaxObserver = MovingAveragePerChannelMinMaxObserver = PlaceholderObserver = NoopObserver = ObserverBase
FakeQuantize = FusedMovingAvgObsFakeQuantize = FakeQuantizeBase
QConfig = namedtuple("QConfig", ["activation", "weight"])


def _refusing(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(f"torch.ao.quantization.{name}: {ABSENT}")

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in (
    "convert", "default_fake_quant", "default_observer", "default_per_channel_weight_observer", "default_qat_qconfig", "default_qconfig",
    "default_weight_fake_quant", "default_weight_observer", "disable_fake_quant", "disable_observer", "enable_fake_quant",
    "enable_observer", "fuse_modules", "fuse_modules_qat", "get_default_qat_qconfig", "get_default_qconfig", "prepare", "prepare_qat",
    "propagate_qconfig_", "quantize", "quantize_dynamic", "quantize_qat", "swap_module",
):  # fmt: skip
    globals()[_name] = _refusing(_name)
    __all__.append(_name)
