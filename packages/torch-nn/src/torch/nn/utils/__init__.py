# ruff: noqa: F401, F403
"""Tools around modules: clipping gradients, vectors of parameters, normalised weights, packed sequences."""

from torch import _seams

from . import rnn, stateless
from .clip_grad import *
from .convert_parameters import *
from .fusion import *
from .init import *
from .memory_format import *
from .spectral_norm import *
from .weight_norm import *

# What few programs need.
__getattr__, __dir__ = _seams.later(globals(), modules=("parametrizations", "parametrize", "prune"))
