"""``torch.ao.nn.quantized`` under its older name."""

from . import modules as modules
from .modules import FloatFunctional as FloatFunctional
from .modules import FXFloatFunctional as FXFloatFunctional

__all__ = ["FXFloatFunctional", "FloatFunctional"]


def __getattr__(name):
    return getattr(modules, name)
