"""The profiler under the name that it had while PyTorch had two."""

from .profiler import profile

__all__ = ["profile"]
