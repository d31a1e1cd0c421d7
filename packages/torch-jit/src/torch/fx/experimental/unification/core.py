"""Making terms equal. A term is a variable, a constant, or a tuple, list, dict, set or slice of terms."""

from collections.abc import Iterator
from typing import Any

from .variable import isvar

__all__ = ["reify", "unify", "walk"]


def walk(term: Any, found: dict) -> Any:
    """What a variable is bound to, followed to its end."""
    while isvar(term) and term in found:
        term = found[term]
    return term


def reify(term: Any, found: dict) -> Any:
    """The term with its variables replaced by what they are bound to.

    >>> from torch.fx.experimental.unification import var
    >>> x, y = var("x"), var("y")
    >>> reify({"a": (x, [y])}, {x: 1, y: (2, x)})
    {'a': (1, [(2, 1)])}
    """
    term = walk(term, found)
    if isinstance(term, (tuple, list)):
        return type(term)(reify(part, found) for part in term)
    if isinstance(term, dict):
        return {key: reify(value, found) for key, value in term.items()}
    if isinstance(term, slice):
        return slice(reify(term.start, found), reify(term.stop, found), reify(term.step, found))
    if isinstance(term, Iterator):
        return (reify(part, found) for part in term)
    if hasattr(type(term), "_reify"):
        return term._reify(found)
    return term


def unify(u: Any, v: Any, s: dict | None = None) -> dict | bool:
    """Bindings of variables for which two terms are equal, beside those of ``s``; False where there are none.

    >>> from torch.fx.experimental.unification import var
    >>> x = var("x")
    >>> unify((1, x), (1, 2)), unify((x, x), (1, 2))
    ({~x: 2}, False)
    """
    s = {} if s is None else s
    u, v = walk(u, s), walk(v, s)
    if isvar(u) or isvar(v):
        one, two = (u, v) if isvar(u) else (v, u)
        return s if isvar(two) and one == two else {**s, one: two}
    if type(u) is not type(v):
        return s if _equal(u, v) else False
    if isinstance(u, (tuple, list)):
        return _all(zip(u, v), s) if len(u) == len(v) else False
    if isinstance(u, dict):
        return _all(((u[k], v[k]) for k in u), s) if u.keys() == v.keys() else False
    if isinstance(u, slice):
        return _all(((u.start, v.start), (u.stop, v.stop), (u.step, v.step)), s)
    if isinstance(u, (set, frozenset)):
        return _sets(u, v, s)
    if hasattr(type(u), "_unify"):
        return u._unify(v, s)
    return s if _equal(u, v) else False


def _all(pairs, s):
    for one, two in pairs:
        s = unify(one, two, s)
        if s is False:
            return False
    return s


def _sets(u, v, s):
    """Sets of terms: what both have falls away; one variable may stand for the one that is left."""
    rest, other = u - v, v - u
    if len(rest) != len(other):
        return False
    if len(rest) > 1:
        raise NotImplementedError(f"unify: of sets, one element each may differ, got {rest} and {other}")
    return unify(rest.pop() if isinstance(rest, set) else next(iter(rest)), next(iter(other)), s) if rest else s


def _equal(u, v):
    return bool(u == v)
