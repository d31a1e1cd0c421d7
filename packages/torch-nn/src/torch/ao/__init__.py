"""``torch.ao``: quantization, the layers that it puts in place of others, and sparsifiers."""

from torch import _seams

__all__ = ["nn", "ns", "pruning", "quantization"]

__getattr__, __dir__ = _seams.later(globals(), modules=__all__)
