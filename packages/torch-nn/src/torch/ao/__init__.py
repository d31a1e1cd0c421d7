"""``torch.ao``: quantization, and the layers that it puts in place of others."""

from torch import _seams

__all__ = ["nn", "quantization"]

__getattr__, __dir__ = _seams.later(globals(), modules=__all__)
