"""Products of the input with a weight."""

from torch import bilinear, linear

__all__ = ["bilinear", "linear"]
