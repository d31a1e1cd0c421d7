"""Families on the real line that are moved by ``loc`` and stretched by ``scale``."""

from . import constraints
from .utils import broadcast_all


class LocationScale:
    """The two parameters; to be put before :class:`Distribution` or a subclass of it."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _tensors = {"loc": 0, "scale": 0}

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)
