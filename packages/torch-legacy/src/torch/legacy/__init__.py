"""The modules and optimizers of 2016, in the manner of Lua: every layer has its own forward and backward, and no tape is
seen from outside."""

from torch import _seams

__all__ = ["nn", "optim"]

__getattr__, __dir__ = _seams.later(globals(), modules=__all__)
