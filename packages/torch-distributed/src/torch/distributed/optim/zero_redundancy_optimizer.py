"""Where libraries look for :class:`ZeroRedundancyOptimizer`."""

from .zero import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
