"""The layers of quantized tensors under the name of the package that PyTorch has them in."""
# ruff: noqa: F401, F403

from . import *
from . import __all__
