"""Sizes that may change, where programs look for them."""

from ._dims import AdditionalInputs, Dim, ShapesCollection, dims
from ._dims import DimHint as _DimHint
from ._dims import HintType as _DimHintType
from ._fixes import refine_dynamic_shapes_from_suggested_fixes

__all__ = [
    "AdditionalInputs", "Dim", "ShapesCollection", "_DimHint", "_DimHintType", "dims", "refine_dynamic_shapes_from_suggested_fixes",
]  # fmt: skip
