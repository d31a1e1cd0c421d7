"""Functions that take functions, which a compiler would see as a whole; here they run."""

from .associative_scan import associative_scan

__all__ = ["associative_scan"]
