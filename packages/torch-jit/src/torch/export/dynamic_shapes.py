"""Sizes that may change, where programs look for them."""

from ._dims import AdditionalInputs, Dim, ShapesCollection, dims

__all__ = ["AdditionalInputs", "Dim", "ShapesCollection", "dims"]
