"""Regions of tensors: what a parameter may be and what a sample can be.

A constraint judges the last ``event_dim`` dims of a tensor together, so that ``check`` gives one truth for each event.

>>> from torch.distributions import constraints
>>> constraints.positive.check(torch.tensor([-1.0, 2.0])).tolist()
[False, True]
>>> constraints.simplex.check(torch.tensor([[0.5, 0.5], [0.5, 0.6]])).tolist()
[True, False]
"""

from __future__ import annotations

import torch
from torch import _seams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


#: whether all elements hold, where what follows is only another error
_holds = _seams.operator("_holds")

__all__ = [
    "Constraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "MixtureSameFamilyConstraint",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A region over which a variable is valid.

    ``is_discrete`` says whether it consists of separate points, ``event_dim`` how many dims of a tensor it looks at.

    >>> torch.distributions.constraints.positive.check(torch.tensor([-1.0, 1.0]))
    tensor([False,  True])
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """A bool tensor of ``value``'s shape without its last ``event_dim`` dims: which events are inside."""
        raise NotImplementedError(f"{type(self).__name__}.check")

    def __repr__(self) -> str:
        return type(self).__name__.lstrip("_") + "()"


class _Dependent(Constraint):
    """Depends on other values; the properties may be left unknown, and there is nothing to check against."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete of this dependent constraint is not known without an instance")
        return self._is_discrete

    @property
    def event_dim(self) -> int:
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim of this dependent constraint is not known without an instance")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        """The same with more said about it."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint: it depends on other parameters")


def is_dependent(constraint: Any) -> Any:
    """Whether a constraint depends on other values, so that it cannot be checked by itself.

    >>> torch.distributions.constraints.is_dependent(torch.distributions.Uniform.support)
    True
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that gives a constraint; asked on the class, it is a dependent one.

    >>> from torch.distributions import constraints
    >>> class Uniform(torch.distributions.Distribution):
    ...     @constraints.dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return constraints.interval(self.low, self.high)
    >>> Uniform.support.event_dim
    0
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: bool | None = NotImplemented,
        event_dim: int | None = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[..., Any]) -> Any:
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """A constraint with more dims taken as one event: all of them must be inside."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: Any) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"independent: expected a constraint, got {base_constraint!r}")
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(f"independent: expected a count of dims >= 0, got {reinterpreted_batch_ndims!r}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"{self}: expected at least {self.event_dim} dims, got shape {tuple(value.shape)}")
        kept = result.shape[: result.dim() - self.reinterpreted_batch_ndims]
        return result if self.reinterpreted_batch_ndims == 0 else result.reshape(kept + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: that of its components, with the dim that counts them put in."""

    def __init__(self, base_constraint: Any) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"MixtureSameFamilyConstraint: expected a constraint, got {base_constraint!r}")
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return inside.all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


# --- numbers


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value  # all but NaN


class _Bounded(Constraint):
    """Between bounds, which are numbers or tensors."""

    lower_bound = upper_bound = None

    def __repr__(self) -> str:
        bounds = ((name, getattr(self, name)) for name in ("lower_bound", "upper_bound"))
        return f"{type(self).__name__[1:]}({', '.join(f'{n}={b}' for n, b in bounds if b is not None)})"


class _Lower(_Bounded):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _LowerUpper(_Bounded):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        super().__init__()


class _GreaterThan(_Lower):
    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Lower):
    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Bounded):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_LowerUpper):
    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_LowerUpper):
    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_LowerUpper):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Lower):  # or equal: its name is history
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _IntegerLessThan(_Bounded):
    is_discrete = True

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)


# --- vectors


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    """Counts that sum to ``upper_bound``."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# --- matrices


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        is_square = value.shape[-2] == value.shape[-1]
        return torch.full(value.shape[:-2], is_square, dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return square
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not _holds(symmetric):
            return symmetric
        return torch.linalg.eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not _holds(symmetric):
            return symmetric
        return torch.linalg.cholesky_ex(value).info.eq(0)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).all(-1).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular, with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Such matrices with rows of length 1: the Cholesky factors of correlation matrices."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = torch.finfo(value.dtype).eps * value.shape[-1] * 10  # rounding of a row's norm, with a margin
        norm = torch.linalg.vector_norm(value.detach(), dim=-1)
        return super().check(value) & ((norm - 1).abs() <= tolerance).all(-1)


# --- several constraints along a dim


class _Parts(Constraint):
    def __init__(self, cseq: Any, dim: int) -> None:
        cseq = list(cseq)
        for c in cseq:
            if not isinstance(c, Constraint):
                raise AssertionError(f"{type(self).__name__[1:].lower()}: expected constraints, got {c!r}")
        self.cseq, self.dim = cseq, dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> Any:
        return max(c.event_dim for c in self.cseq)

    def _dim_of(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"{self}: there is no dim {self.dim} in shape {tuple(value.shape)}")
        return self.dim % value.dim()

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.cseq!r}, dim={self.dim})"


class _Cat(_Parts):
    """One constraint for each stretch of a dim; ``lengths`` are theirs (1 each unless told)."""

    def __init__(self, cseq: Any, dim: int = 0, lengths: Any = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"cat: {len(self.cseq)} constraints need as many lengths, got {self.lengths}")

    def check(self, value: Tensor) -> Tensor:
        dim = self._dim_of(value)
        if sum(self.lengths) > value.shape[dim]:
            raise AssertionError(f"{self}: lengths {self.lengths} exceed dim {dim} of shape {tuple(value.shape)}")
        parts, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths):
            parts.append(constraint.check(value.narrow(dim, start, length)))
            start += length
        return torch.cat(parts, dim)


class _Stack(_Parts):
    """One constraint for each index of a dim."""

    def __init__(self, cseq: Any, dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        deepest = super().event_dim
        return deepest + 1 if self.dim + deepest < 0 else deepest

    def check(self, value: Tensor) -> Tensor:
        dim = self._dim_of(value)
        if value.shape[dim] != len(self.cseq):
            raise AssertionError(f"{self}: expected size {len(self.cseq)} in dim {dim}, got shape {tuple(value.shape)}")
        return torch.stack([c.check(value.select(dim, i)) for i, c in enumerate(self.cseq)], dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
