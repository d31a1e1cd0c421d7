"""What every transform has: domain and codomain, the forward map with a cache of its last pair, and the inverse."""

from __future__ import annotations

import weakref

import torch
from torch._seams import checked

from .. import constraints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = ["Transform"]


@checked
class Transform:
    """An invertible map with a log absolute determinant of its Jacobian.

    A family defines ``_call``, ``_inverse`` and ``log_abs_det_jacobian``, and says where it maps from and to.
    ``cache_size=1`` keeps the last pair, so that the inverse of a value that was just computed is exact and free.
    Maps that are onto but not one to one have ``bijective = False`` and a right inverse.

    >>> torch.distributions.ExpTransform().inv(torch.tensor([1.0]))
    tensor([0.])
    """

    bijective = False
    domain: constraints.Constraint
    codomain: constraints.Constraint

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}: cache_size must be 0 or 1, got {cache_size!r}")
        self._cache_size, self._inv = cache_size, None
        self._cached_x_y = None, None
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}  # a weak reference, which does not pickle

    @property
    def event_dim(self) -> int:
        """The dims of an event, where domain and codomain agree about them."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError(
            f"{self}: use .domain.event_dim ({self.domain.event_dim}) or .codomain.event_dim ({self.codomain.event_dim})"
        )

    @property
    def inv(self) -> Any:
        """The inverse as a transform: ``t.inv.inv is t``."""
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> int:
        """The sign of the slope, for monotonic transforms of numbers."""
        raise NotImplementedError(f"{type(self).__name__}.sign")

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with another cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: Any) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Any:
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x):
        raise NotImplementedError(f"{type(self).__name__}._call")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__}._inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log |dy/dx|`` for a pair of input and output, one number for each event.

        >>> t, x = torch.distributions.ExpTransform(), torch.tensor([0.0, 1.0])
        >>> t.log_abs_det_jacobian(x, t(x))
        tensor([0., 1.])
        """
        raise NotImplementedError(f"{type(self).__name__}.log_abs_det_jacobian")

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the output for an input of ``shape``."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the input for an output of ``shape``."""
        return shape

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


class _InverseTransform(Transform):
    """The inverse of a transform, which shares its cache."""

    def __init__(self, transform: Any) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        return self._inv.bijective

    @property
    def sign(self) -> int:
        return self._inv.sign

    @property
    def inv(self) -> Any:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


def same_numbers(a, b):
    """Whether two parameters, numbers or tensors, are equal all over."""
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return bool(torch.as_tensor(a == b).all())
    return a == b


def widened(shape, parameter):
    """``shape`` broadcast with that of a parameter, where that is a tensor."""
    return torch.broadcast_shapes(shape, getattr(parameter, "shape", ()))
