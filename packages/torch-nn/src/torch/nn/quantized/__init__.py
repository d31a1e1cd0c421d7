"""``torch.nn.quantized``: operations that a model marks so that it could be quantized. There are no quantized tensors here,
and the layers that would hold them raise NotImplementedError."""

from . import modules as modules
from .modules import FloatFunctional as FloatFunctional
from .modules import FXFloatFunctional as FXFloatFunctional

__all__ = ["FXFloatFunctional", "FloatFunctional"]


def __getattr__(name):
    return getattr(modules, name)
