"""The operators of torch.linalg; their rows say that they belong here."""

from ._C import _functions

globals().update(_functions().get("linalg", {}))
del _functions
