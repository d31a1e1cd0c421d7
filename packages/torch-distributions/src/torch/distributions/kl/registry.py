"""Which function serves a pair of families."""

from __future__ import annotations

import functools
import warnings

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

    from torch import Tensor


__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict = {}


def register_kl(type_p: type[Any], type_q: type[Any]) -> Callable[[F], F]:
    """A decorator that registers a function of ``(p, q)`` for a pair of distribution classes and their subclasses.

    TypeError for what is not a class. The most specific pair wins, first by p; where another pair
    is as good by q, a RuntimeWarning asks for one that decides.

    >>> from torch.distributions import Normal
    >>> class Point(Normal):
    ...     pass
    >>> @register_kl(Point, Point)
    ... def kl_point_point(p, q):
    ...     return (p.loc - q.loc).abs()
    >>> kl_divergence(Point(1.0, 1.0), Point(3.0, 1.0))
    tensor(2.)
    """
    for t in (type_p, type_q):  # libraries register bases of their own, which need not be distributions
        if not isinstance(t, type):
            raise TypeError(f"register_kl: expected classes of distributions, got {t!r}")

    def decorator(function):
        _KL_REGISTRY[type_p, type_q] = function
        _chosen.cache_clear()
        return function

    return decorator


@functools.total_ordering
class _Match:
    """A pair of classes; the one that is further down the hierarchy is smaller."""

    __slots__ = ("types",)

    def __init__(self, *types: Any) -> None:
        self.types = types

    def __eq__(self, other: Any) -> bool:
        return self.types == other.types

    def __le__(self, other: Any) -> Any:
        for mine, theirs in zip(self.types, other.types):
            if not issubclass(mine, theirs):
                return False
            if mine is not theirs:
                break
        return True


def _dispatch_kl(type_p, type_q):
    """The function of the most specific pair that covers both; NotImplemented where there is none."""
    matches = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return NotImplemented
    # by p first, and by q first: where they differ, neither pair is the more specific one
    by_p = min(_Match(*pair) for pair in matches).types
    by_q = tuple(reversed(min(_Match(*reversed(pair)) for pair in matches).types))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, "
            f"{by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


#: what was found for a pair of classes is kept
_chosen = functools.cache(_dispatch_kl)


def kl_divergence(p: Any, q: Any) -> Tensor:
    """``E[log p(x) - log q(x)]`` for x from p, of the common batch shape.

    NotImplementedError for pairs of families without a formula.

    >>> from torch.distributions import Normal
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    function = _chosen(type(p), type(q))
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return function(p, q)


def infinite_like(tensor):
    return torch.full_like(tensor, torch.inf)
