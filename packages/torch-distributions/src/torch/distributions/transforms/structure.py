"""Transforms made of others, and of shapes."""

from __future__ import annotations

import torch

from .. import constraints
from ..utils import _sum_rightmost
from .base import Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = [
    "CatTransform",
    "ComposeTransform",
    "IndependentTransform",
    "ReshapeTransform",
    "StackTransform",
    "identity_transform",
]


class ComposeTransform(Transform):
    """Transforms applied one after the other, the first of the list first.

    >>> t = torch.distributions
    >>> t.ComposeTransform([t.AffineTransform(0.0, 2.0), t.ExpTransform()])(torch.zeros(1))
    tensor([1.])
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        # dims that later parts need and earlier ones do not belong to the event from the start
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _with_event_dim(self.parts[0].domain, event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _with_event_dim(self.parts[-1].codomain, event_dim)

    @property
    def bijective(self) -> Any:
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Any:
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            import weakref

            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv, inverse._inv = weakref.ref(inverse), weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return torch.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        total, event_dim = 0, self.domain.event_dim
        for part, before, after in zip(self.parts, values, values[1:]):
            slope = part.log_abs_det_jacobian(before, after)
            total = total + _sum_rightmost(slope, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform with more dims taken as one event: the log determinants of these are summed."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return self.base_transform.bijective

    @property
    def sign(self) -> int:
        return self.base_transform.sign

    def _call(self, x):
        return self.base_transform(_with_dims(self, x, self.domain.event_dim))

    def _inverse(self, y):
        return self.base_transform.inv(_with_dims(self, y, self.codomain.event_dim))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """The last dims from ``in_shape`` to ``out_shape``, of the same number of elements (ValueError)."""

    bijective = True

    def __init__(self, in_shape: torch.Size, out_shape: torch.Size, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = torch.Size(in_shape), torch.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                f"ReshapeTransform: in_shape {tuple(in_shape)} and out_shape {tuple(out_shape)} have different numbers of "
                f"elements"
            )
        super().__init__(cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ReshapeTransform(self.in_shape, self.out_shape, cache_size)

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, ReshapeTransform)
            and self.in_shape == other.in_shape
            and self.out_shape == other.out_shape
        )

    __hash__ = object.__hash__

    def _call(self, x):
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y):
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.zeros(x.shape[: x.dim() - len(self.in_shape)], dtype=x.dtype, device=x.device)

    def forward_shape(self, shape: Any) -> Any:
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._replaced(shape, self.out_shape, self.in_shape)

    def _replaced(self, shape, old, new):
        cut = len(shape) - len(old)
        if cut < 0 or tuple(shape[cut:]) != tuple(old):
            raise ValueError(f"ReshapeTransform: expected last dims {tuple(old)}, got shape {tuple(shape)}")
        return torch.Size(shape[:cut]) + new


class _Along(Transform):
    """One transform for each part of a dim."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: Any) -> None:
        tseq = list(tseq)
        for t in tseq:
            if not isinstance(t, Transform):
                raise AssertionError(f"{type(self).__name__}: expected transforms, got {t!r}")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else tseq
        self.dim = dim

    @property
    def bijective(self) -> Any:
        return all(t.bijective for t in self.transforms)

    def _checked(self, name, value, expected):
        if not -value.dim() <= self.dim < value.dim() or value.shape[self.dim] != expected:
            raise AssertionError(
                f"{type(self).__name__}: expected {name} of size {expected} in dim {self.dim}, got shape {tuple(value.shape)}"
            )


class CatTransform(_Along):
    """Transforms of consecutive stretches of a dim, ``lengths`` long (1 each unless told).

    >>> t = CatTransform([torch.distributions.ExpTransform(), identity_transform], dim=0, lengths=[1, 2])
    >>> t(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"CatTransform: {len(self.transforms)} transforms need as many lengths, got {lengths}")

    @property
    def event_dim(self) -> Any:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> Any:
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _pieces(self, name, value):
        self._checked(name, value, self.length)
        return value.split(self.lengths, self.dim)

    def _call(self, x):
        return torch.cat([t(piece) for t, piece in zip(self.transforms, self._pieces("x", x))], self.dim)

    def _inverse(self, y):
        return torch.cat([t.inv(piece) for t, piece in zip(self.transforms, self._pieces("y", y))], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        slopes = []
        for t, a, b in zip(self.transforms, self._pieces("x", x), self._pieces("y", y)):
            slope = t.log_abs_det_jacobian(a, b)
            slopes.append(_sum_rightmost(slope, self.event_dim - t.event_dim))
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        return torch.cat(slopes, dim) if dim < 0 else sum(slopes)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Along):
    """Transforms of the slices of a dim."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, name, value):
        self._checked(name, value, len(self.transforms))
        return value.unbind(self.dim)

    def _call(self, x):
        return torch.stack([t(s) for t, s in zip(self.transforms, self._slices("x", x))], self.dim)

    def _inverse(self, y):
        return torch.stack([t.inv(s) for t, s in zip(self.transforms, self._slices("y", y))], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._slices("x", x), self._slices("y", y))
        return torch.stack([t.log_abs_det_jacobian(a, b) for t, a, b in pairs], self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


def _with_event_dim(constraint, event_dim):
    more = event_dim - constraint.event_dim
    return constraint if more == 0 else constraints.independent(constraint, more)


def _with_dims(transform, value, expected):
    if value.dim() < expected:
        raise ValueError(f"{transform}: expected at least {expected} dims, got shape {tuple(value.shape)}")
    return value
