"""Objects of classes of one's own as terms."""

from typing import Any, TypeVar

from .core import reify, unify

__all__ = ["unifiable"]

C = TypeVar("C", bound=type)


def unifiable(cls: C) -> C:
    """Let objects of a class be terms: their attributes are made equal, or replaced.

    >>> from torch.fx.experimental.unification import var
    >>> @unifiable
    ... class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> x = var("x")
    >>> unify(Pair(1, x), Pair(1, 2)), reify(Pair(1, x), {x: 2}).b
    ({~x: 2}, 2)
    """

    def unified(self: Any, other: Any, found: dict) -> dict | bool:
        return unify(vars(self), vars(other), found)

    def reified(self: Any, found: dict) -> Any:
        made = object.__new__(type(self))
        made.__dict__.update(reify(vars(self), found))
        return made

    cls._unify, cls._reify = unified, reified  # type: ignore[attr-defined]
    return cls
