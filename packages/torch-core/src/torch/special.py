"""The operators of torch.special; their rows say that they belong here."""

from ._C import _functions

globals().update(_functions().get("special", {}))
del _functions
