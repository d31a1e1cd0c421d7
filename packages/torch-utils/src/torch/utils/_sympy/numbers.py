"""Infinities among the ints."""

import functools


@functools.total_ordering
class IntInfinity:
    """Above every int.

    >>> IntInfinity() > 10**100, -IntInfinity() < 0, IntInfinity() == int_oo
    (True, True, True)
    """

    _sign = 1

    def __eq__(self, other):
        return type(other) is type(self)

    def __lt__(self, other):
        return self._sign < 0 and type(other) is not type(self)

    def __neg__(self):
        return NegativeIntInfinity() if self._sign > 0 else IntInfinity()

    def __hash__(self):
        return hash(type(self))

    def __repr__(self):
        return "int_oo" if self._sign > 0 else "-int_oo"


class NegativeIntInfinity(IntInfinity):
    """Below every int."""

    _sign = -1


int_oo = IntInfinity()
