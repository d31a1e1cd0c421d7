"""The size of a ragged dim: an unknown number, equal only to itself."""

from __future__ import annotations

import itertools

_numbers = itertools.count(1)
# Below every size, so that whatever takes it for a number refuses it.
_FLOOR = -(1 << 40)


def _unknown(self, *others):
    raise NotImplementedError(
        f"{self!r} is the size of a ragged dim, different in each row: take that of a row, or offsets().diff()"
    )


class Length(int):
    """What ``nested.size(1)`` gives for a ragged dim: it has no value, is at least 2 for comparisons, and is passed on to
    ``view`` and to others of the same nested tensor."""

    def __new__(cls):
        number = next(_numbers)
        made = super().__new__(cls, _FLOOR - number)
        made._number = number
        return made

    def __repr__(self):
        return f"j{self._number}"

    __str__ = __repr__

    def __format__(self, spec):
        return format(repr(self), spec)

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    __hash__ = int.__hash__

    def __gt__(self, other):
        return True if isinstance(other, int) and other < 2 else _unknown(self)

    def __ge__(self, other):
        return True if self is other or (isinstance(other, int) and other <= 2) else _unknown(self)

    def __lt__(self, other):
        return False if self is other or (isinstance(other, int) and other <= 2) else _unknown(self)

    def __le__(self, other):
        return self is other or (False if isinstance(other, int) and other < 2 else _unknown(self))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return Length, ()


for _name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "truediv", "rtruediv", "mod", "rmod", "pow", "rpow", "neg",
    "abs", "int", "float", "index",
):  # fmt: skip
    setattr(Length, f"__{_name}__", _unknown)
