"""Numbers that users expect in `torch`."""

from math import e, inf, nan, pi

newaxis = None

__all__ = ["e", "inf", "nan", "newaxis", "pi"]
