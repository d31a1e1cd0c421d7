"""Errors of the compiler under the names that programs catch."""

from torch.jit._script.errors import FrontendError, NotSupportedError

__all__ = ["FrontendError", "NotSupportedError", "UnsupportedNodeError"]

UnsupportedNodeError = NotSupportedError
