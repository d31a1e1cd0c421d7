# ruff: noqa: F401, F403
"""Tools around modules: clipping gradients, vectors of parameters, normalised weights, packed sequences."""

from . import rnn, stateless
from .clip_grad import *
from .convert_parameters import *
from .fusion import *
from .init import *
from .memory_format import *
from .spectral_norm import *
from .weight_norm import *

_LATE = ("parametrizations", "parametrize", "prune")  # submodules that few programs need


def __getattr__(name):
    if name in _LATE:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.nn.utils' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_LATE})
