"""Types of tensors by their shapes, some of whose dims may be unknown."""

from typing import Any


class _DynType:
    """A dim, or a tensor, of which nothing is known."""

    def __init__(self):
        self.__name__ = "_DynType"

    def __eq__(self, other):
        return isinstance(other, _DynType)

    def __hash__(self):
        return hash(_DynType)

    def __repr__(self):
        return "Dyn"


Dyn = _DynType()


class TensorType:
    """A tensor with these sizes; ``Dyn`` for a size that is not known.

    >>> TensorType((1, Dyn))
    TensorType[(1, Dyn)]
    """

    def __init__(self, dim):
        self.__origin__, self.__args__ = TensorType, dim

    def __repr__(self):
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other):
        return isinstance(other, TensorType) and list(self.__args__) == list(other.__args__)

    def __hash__(self):
        return hash(tuple(self.__args__))

    @staticmethod
    def __class_getitem__(dims):
        return TensorType(dims if isinstance(dims, tuple) else (dims,))


def _pairs(left, right):
    return zip(left.__args__, right.__args__, strict=True)


def is_consistent(t1: Any, t2: Any) -> bool:
    """Whether one value could be of both types.

    >>> is_consistent(TensorType((1, Dyn)), TensorType((1, 3))), is_consistent(TensorType((1,)), TensorType((2,)))
    (True, False)
    """
    if t1 == t2 or Dyn in (t1, t2):
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(is_consistent(a, b) for a, b in _pairs(t1, t2))
    return False


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Whether the first type says at least what the second one says."""
    if t1 == t2 or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(is_more_precise(a, b) for a, b in _pairs(t1, t2))
    return False
