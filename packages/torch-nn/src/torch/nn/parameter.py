"""Tensors that a Module notices when they are assigned to it."""

from __future__ import annotations

import collections

import torch
from torch import _seams
from torch._seams import warn_of_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self


__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


def _as_tensor(data, kind):
    if data is None:
        return torch.empty(0)
    if not isinstance(data, torch.Tensor):
        raise TypeError(
            f"{kind}: data must be a Tensor, got {type(data).__name__}; wrap it: nn.{kind}(torch.tensor(...))"
        )
    if data.is_nested:
        raise NotImplementedError(
            f"{kind}: nested tensors are not weights; make one of values() or of each of unbind()"
        )
    return data.detach()


def _is_of_own_class(data):
    return type(data) not in (torch.Tensor, Parameter) and isinstance(data, torch.Tensor) and not data.is_nested


class _ParameterMeta(type(torch.Tensor)):
    def __instancecheck__(cls, instance):
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, torch.Tensor) and getattr(instance, "_is_param", False)


class Parameter(torch.Tensor, metaclass=_ParameterMeta):
    """A tensor that is trained: assigned to a module's attribute it appears in ``module.parameters()``.

    The data is shared, not copied. Of a class of one's own the parameter is a tensor of that class.

    >>> weight = torch.nn.Parameter(torch.zeros(2, 3))
    >>> weight.requires_grad
    True
    """

    __torch_function__ = _seams.no_torch_function

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if cls is Parameter and hasattr(data, "_as_parameter"):  # a tensor of a kind that has parameters of its own
            return data._as_parameter(requires_grad)
        if cls is Parameter and _is_of_own_class(data):
            parameter = data.detach()
            if type(parameter) is type(data):
                parameter._is_param = True
                return parameter.requires_grad_(requires_grad)
        return torch.Tensor._make_subclass(cls, _as_tensor(data, "Parameter"), requires_grad)

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        warn_of_hooks(self, 3)
        args = self.data, self.requires_grad, collections.OrderedDict()
        return _rebuild_parameter, args, self._attributes or None


def _rebuild_parameter(data, requires_grad, backward_hooks):
    """Inverse of Parameter.__reduce_ex__; the third field is kept for checkpoints of other versions."""
    return Parameter(data, requires_grad)


class Buffer(torch.Tensor):
    """A tensor that belongs to a module but is not trained: assigned to an attribute it appears in ``buffers()``.

    With ``persistent=False`` it stays out of the module's ``state_dict()``.

    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(3))
    >>> list(module.state_dict())
    ['mean']
    """

    __torch_function__ = _seams.no_torch_function

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        requires_grad = isinstance(data, torch.Tensor) and data.requires_grad
        buffer = torch.Tensor._make_subclass(cls, _as_tensor(data, "Buffer"), requires_grad)
        buffer.persistent = persistent
        return buffer

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) not in memo:
            copy = type(self)(self.data.clone(), persistent=self.persistent)
            memo[id(self)] = copy.requires_grad_(self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild_buffer, (self.data, self.requires_grad, self.persistent)


def _rebuild_buffer(data, requires_grad, persistent):
    return Buffer(data, persistent=persistent).requires_grad_(requires_grad)


class UninitializedTensorMixin:
    """A place for a tensor whose shape becomes known at the first forward of a lazy layer.

    It can be moved and cast, and stays such a place; other operators raise ValueError.

    >>> torch.nn.LazyLinear(2).weight + 1
    Traceback (most recent call last):
    ValueError: add: UninitializedParameter has no numbers yet: run the module once on real input, or call materialize(shape) first
    """

    _final = torch.Tensor

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ not in _OF_UNINITIALIZED:
            raise ValueError(f"{func.__name__}: {cls.__name__} has no numbers yet: {_WAY_OUT}")
        with torch.overrides.DisableTorchFunction():
            out = func(*args, **(kwargs or {}))
        if type(out) is not torch.Tensor:
            return out
        place = torch.Tensor._make_subclass(cls, out, out.requires_grad)
        place.__dict__.update(args[0].__dict__)  # whether a buffer is persistent
        return place

    @property
    def shape(self) -> Any:
        raise RuntimeError(f"{type(self).__name__} has no shape yet: {_WAY_OUT}")

    def size(self, dim: int | None = None) -> Any:
        return self.shape

    def share_memory_(self) -> Any:
        raise RuntimeError(f"share_memory_: {type(self).__name__} has no memory to share yet: {_WAY_OUT}")

    def materialize(
        self, shape: Any, device: torch.device | str | int | None = None, dtype: torch.dtype | None = None
    ) -> None:
        """Give the tensor its shape; values are uninitialised. It turns into an ordinary parameter or buffer in place."""
        device = self.data.device if device is None else device
        dtype = self.data.dtype if dtype is None else dtype
        self.data = torch.empty(shape, device=device, dtype=dtype)
        self.__class__ = self._final

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild_uninitialized, (type(self), self.requires_grad, self.device, self.dtype)

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


_WAY_OUT = "run the module once on real input, or call materialize(shape) first"

# What a tensor without a shape answers: what moving and casting a module asks of it.
_OF_UNINITIALIZED = frozenset(
    [
        "to",
        "cpu",
        "cuda",
        "half",
        "float",
        "double",
        "bfloat16",
        "char",
        "short",
        "int",
        "long",
        "detach",
        "is_floating_point",
        "is_complex",
        "get_device",
        "requires_grad_",
        "is_shared",
        "copy_",
        "__hash__",
        "type",
    ]
)


def _rebuild_uninitialized(cls, requires_grad, device, dtype):
    return cls(requires_grad, device, dtype)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter of a lazy layer before its first forward; :meth:`materialize` gives it a shape."""

    _final = Parameter

    def __new__(
        cls,
        requires_grad: bool = True,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> Any:
        return torch.Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer of a lazy layer before its first forward; :meth:`materialize` gives it a shape."""

    _final = Buffer

    def __new__(
        cls,
        requires_grad: bool = False,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        persistent: bool = True,
    ) -> Any:
        buffer = torch.Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        return buffer


def is_lazy(param: Any) -> bool:
    """True while ``param`` waits for the first forward of its lazy layer."""
    return isinstance(param, UninitializedTensorMixin)
