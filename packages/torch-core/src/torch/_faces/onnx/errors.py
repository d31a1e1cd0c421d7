"""What can go wrong in an export."""

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "SymbolicValueError", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """A model may be written as something else than it is."""


class OnnxExporterError(RuntimeError):
    """A model cannot be written."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operator cannot be written."""


class SymbolicValueError(OnnxExporterError):
    """A value of a model cannot be written."""
