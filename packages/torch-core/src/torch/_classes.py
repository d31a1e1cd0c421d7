"""``torch.classes`` under the name of PyTorch's own module."""

from . import classes as classes
