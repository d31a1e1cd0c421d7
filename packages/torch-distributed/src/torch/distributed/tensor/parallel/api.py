"""Where libraries look for :func:`parallelize_module`."""

from . import parallelize_module

__all__ = ["parallelize_module"]
