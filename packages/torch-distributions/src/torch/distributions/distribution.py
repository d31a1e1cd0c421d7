"""What every distribution has: shapes, checks of parameters and samples, and the methods that a family fills in."""

from __future__ import annotations

import functools
import math
import warnings

import torch
from torch import _seams
from torch._seams import checked

from . import constraints
from .utils import lazy_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["Distribution"]


@functools.cache
def _is_lazy(kind, name):
    return any(isinstance(vars(c).get(name), lazy_property) for c in kind.__mro__)


#: whether all elements hold, which nothing goes on by but an error: programs of torch.compile ask the same
_holds = _seams.operator("_holds")


@checked
class Distribution:
    """A family of probability distributions, ``batch_shape`` many, over events of ``event_shape``.

    ``arg_constraints`` says what each parameter may be, ``support`` where samples lie. With ``validate_args``,
    which is the default unless Python runs with ``-O``, parameters and the values of ``log_prob`` are held against them.

    >>> d = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    """

    has_rsample = False
    _wrong_type = ValueError  # as for values that the constraints refuse
    _also = {"Tensor": "float"}  # a number is a parameter of no dims
    has_enumerate_support = False
    _validate_args = __debug__

    #: The tensors that `expand` widens, with the number of their last dims that belong to an event, and the attributes
    #: that an expanded copy shares. A family that sets these needs no `expand` of its own.
    _tensors: dict[str, int] = {}
    _shared: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments when ``validate_args`` is not given.

        >>> normal = torch.distributions.Normal
        >>> normal.set_default_validate_args(False)
        >>> normal(0.0, -1.0)
        Normal(loc: 0.0, scale: -1.0)
        >>> normal.set_default_validate_args(True)
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = torch.Size(),
        event_shape: torch.Size = torch.Size(),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _validates(self, validate_args):
        return self._validate_args if validate_args is None else validate_args

    def _check_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self).__name__} does not define `arg_constraints`: its parameters are not checked",
                stacklevel=4,
            )
            return
        for name, constraint in arg_constraints.items():
            if not constraints.is_dependent(constraint) and self._is_given(name):
                value = getattr(self, name)
                if isinstance(value, torch.Tensor):
                    check_parameter(type(self).__name__, name, value, constraint)

    def _is_given(self, name):
        """Whether a parameter was given; else it is computed from others when it is asked for."""
        if name in vars(self):
            return True
        return not _is_lazy(type(self), name)

    # --- shapes

    @property
    def batch_shape(self) -> torch.Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> torch.Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    def _extended_shape(self, sample_shape=torch.Size()):
        return torch.Size(sample_shape) + self._batch_shape + self._event_shape

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same distribution with parameters expanded to ``batch_shape``, without a copy of them."""
        family = next((c for c in type(self).__mro__ if vars(c).get("_tensors")), None)
        if family is None:
            raise NotImplementedError(f"{type(self).__name__}.expand")
        new = self._get_checked_instance(family, _instance)
        batch_shape = torch.Size(batch_shape)
        for name, event_dims in family._tensors.items():
            if name in vars(self):
                tensor = vars(self)[name]
                setattr(new, name, tensor.expand(batch_shape + tensor.shape[tensor.dim() - event_dims :]))
        for name in family._shared:
            setattr(new, name, getattr(self, name))
        return self._finished(new, batch_shape)

    def _finished(self, new, batch_shape, event_shape=None):
        """The last lines of `expand`: parameters that passed once are not checked again."""
        Distribution.__init__(new, batch_shape, self._event_shape if event_shape is None else event_shape, False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"{type(self).__name__} has an __init__ of its own, so it needs an expand() of its own as well"
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    # --- what a family fills in

    @property
    def arg_constraints(self) -> Any:
        """A dictionary from names of parameters to the constraints that they satisfy."""
        raise NotImplementedError(f"{type(self).__name__}.arg_constraints")

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError(f"{type(self).__name__}.support")

    @property
    def mean(self) -> Tensor:
        """The expectation."""
        raise NotImplementedError(f"{type(self).__name__}.mean")

    @property
    def mode(self) -> Tensor:
        """A value of the highest probability or density."""
        raise NotImplementedError(f"{type(self).__name__}.mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__}.variance")

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        """Draws without gradients: ``sample_shape + batch_shape + event_shape``.

        >>> torch.distributions.Normal(0.0, 1.0).sample((2, 3)).shape
        torch.Size([2, 3])
        """
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        """Draws that pass gradients on to the parameters; NotImplementedError where ``has_rsample`` is False.

        >>> loc = torch.tensor(0.0, requires_grad=True)
        >>> torch.distributions.Normal(loc, 1.0).rsample().backward()
        >>> loc.grad
        tensor(1.)
        """
        raise NotImplementedError(f"{type(self).__name__}.rsample")

    def sample_n(self, n: int) -> Tensor:
        """Older form of ``sample((n,))``.

        >>> torch.distributions.Normal(torch.zeros(3), 1.0).sample_n(2).shape
        torch.Size([2, 3])
        """
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead", FutureWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability at ``value``, one for each event.

        >>> torch.distributions.Bernoulli(0.5).log_prob(torch.tensor(1.0))
        tensor(-0.6931)
        """
        raise NotImplementedError(f"{type(self).__name__}.log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of what is at most ``value``.

        >>> torch.distributions.Normal(0.0, 1.0).cdf(torch.tensor(0.0))
        tensor(0.5000)
        """
        raise NotImplementedError(f"{type(self).__name__}.cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of :meth:`cdf`: a quantile.

        >>> torch.distributions.Normal(0.0, 1.0).icdf(torch.tensor(0.5))
        tensor(0.)
        """
        raise NotImplementedError(f"{type(self).__name__}.icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first dim; ``expand`` to the batch shape or not.

        >>> torch.distributions.Bernoulli(torch.tensor(0.3)).enumerate_support()
        tensor([0., 1.])
        """
        raise NotImplementedError(f"{type(self).__name__}.enumerate_support")

    def entropy(self) -> Tensor:
        """The entropy, in nats, of shape ``batch_shape``.

        >>> torch.distributions.Bernoulli(0.5).entropy()
        tensor(0.6931)
        """
        raise NotImplementedError(f"{type(self).__name__}.entropy")

    def perplexity(self) -> Tensor:
        """``exp(entropy)``.

        >>> torch.distributions.Bernoulli(torch.tensor(0.5)).perplexity()
        tensor(2.)
        """
        return torch.exp(self.entropy())

    # --- checks

    def _validate_sample(self, value):
        """Raise ValueError unless ``value`` fits the shapes and lies in the support."""
        name = type(self).__name__
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"{name}: the value argument to log_prob must be a Tensor, got {value!r}")
        events, shape = len(self._event_shape), tuple(value.shape)
        if len(shape) < events or tuple(self._event_shape) != shape[len(shape) - events :]:
            raise ValueError(
                f"{name}: the last dims of value must be the event shape {tuple(self._event_shape)}, got shape {shape}"
            )
        expected = tuple(self._batch_shape + self._event_shape)
        for ours, theirs in zip(reversed(expected), reversed(shape)):
            if ours != 1 and theirs != 1 and ours != theirs:
                raise ValueError(
                    f"{name}: value of shape {shape} does not broadcast with batch shape + event shape {expected}"
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{name} does not define `support`: values are not checked", stacklevel=3)
            return
        inside = support.check(value)
        if not _holds(inside):
            raise ValueError(
                f"Expected value argument (Tensor of shape {shape}) to be within the support ({support}) of the "
                f"distribution {name}, but found invalid values: {_first_outside(value, inside)}"
            )

    def __repr__(self) -> str:
        try:
            names = [name for name in self.arg_constraints if name in vars(self)]
        except NotImplementedError:
            names = []
        told = (
            f"{name}: {value if value.numel() == 1 else value.size()}"
            if isinstance(value := vars(self)[name], torch.Tensor)
            else f"{name}: {value}"
            for name in names
        )
        return f"{type(self).__name__}({', '.join(told)})"


def check_parameter(family, name, value, constraint, seen=None):
    """ValueError unless ``value``, or ``seen`` of it, satisfies the constraint; the message shows ``value``."""
    inside = constraint.check(value if seen is None else seen)
    if not _holds(inside):
        raise ValueError(
            f"Expected parameter {name} (Tensor of shape {tuple(value.shape)}) of distribution {family} "
            f"to satisfy the constraint {constraint}, but found invalid values: {_first_outside(value, inside)}"
        )


def _first_outside(value, inside):
    """The first event outside a constraint, and where it is."""
    value = value.detach()
    if inside.dim() == 0 or inside.shape != value.shape[: inside.dim()]:
        return f"{value.item() if value.dim() == 0 else value}"
    flat = int((~inside).reshape(-1).to(torch.uint8).argmax())
    count = int((~inside).sum())
    index = []
    for size in reversed(inside.shape):
        flat, position = divmod(flat, size)
        index.append(position)
    index = tuple(reversed(index))
    event = value[index]
    shown = event.item() if event.dim() == 0 else event
    more = f" (and {count - 1} more of {math.prod(inside.shape)})" if count > 1 else ""
    return f"{shown} at index {index}{more}"
