"""The layers of quantized tensors under the name of the package that PyTorch has them in."""
# ruff: noqa: F401, F403

from . import *
from . import __all__

__path__: list[str] = []  # a package, all files of which are this module (torch._parts)


def __getattr__(name):
    from torch.ao.nn import quantized

    if name in quantized._OBSERVED:
        return getattr(quantized, name)
    raise AttributeError(f"module 'torch.ao.nn.quantized.modules' has no attribute {name!r}")
