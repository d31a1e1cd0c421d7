"""What can go wrong in an export."""

from __future__ import annotations

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "SymbolicValueError", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """A model may be written as something else than it is."""


class OnnxExporterError(RuntimeError):
    """A model cannot be written."""


class UnsupportedOperatorError(OnnxExporterError):
    """There is no rule for operators of the model: the text names them all, with the lines that call them."""


class SymbolicValueError(OnnxExporterError):
    """A value of a model cannot be written."""
