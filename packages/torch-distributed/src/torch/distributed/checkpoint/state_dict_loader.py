"""Where libraries look for ``load``."""

from .._absent import fill
from . import REASON
from .saving import load

__all__ = ["load"]
fill(globals(), REASON, functions=["load_state_dict", "_load_state_dict"])
