"""The operators of torch.fft; their rows say that they belong here."""

from ._C import _functions

globals().update(_functions().get("fft", {}))
del _functions
