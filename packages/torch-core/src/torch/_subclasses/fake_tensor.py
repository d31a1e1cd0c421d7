"""Tensors that say a device and have no memory: what a program does to shapes, without computing it.

>>> from torch._subclasses import FakeTensorMode
>>> with FakeTensorMode():
...     x = torch.empty(1000, 1000, device="cuda")
...     y = (x @ x).sum(0)
>>> y.shape, y.device
(torch.Size([1000]), device(type='cuda', index=0))

Operators run on device "meta"; a result is said to be on the device of the arguments. What needs values (``item``,
``nonzero``) raises.
"""

from __future__ import annotations

__all__ = ["FakeTensor", "FakeTensorConverter", "FakeTensorMode", "UnsupportedFakeTensorException", "is_fake", "unset_fake_temporarily"]  # fmt: skip

import contextlib
import math

import torch

from .. import _C, _dispatch
from .._pytree import tree_flatten, tree_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _is_tensor_constructor(func) -> bool:
    """Whether an operator makes a tensor of numbers and sizes alone.

    >>> from torch._subclasses.fake_tensor import _is_tensor_constructor
    >>> _is_tensor_constructor(torch.ops.aten.zeros.default), _is_tensor_constructor(torch.ops.aten.zeros_like.default)
    (True, False)
    """
    schema = func._schema
    of_numbers = not any("Tensor" in str(argument.type) for argument in schema.arguments)
    return of_numbers and [str(result.type) for result in schema.returns] == ["Tensor"]


class UnsupportedFakeTensorException(RuntimeError):
    """An operator that has no form for tensors without memory."""


class DataDependentOutputException(RuntimeError):
    """A value was asked for, which is not there."""


class DynamicOutputShapeException(RuntimeError):
    """A result whose size follows from values, which are not there."""


def _device(device):
    device = torch.device(device)
    return torch.device(device.type, 0) if device.type == "cuda" and device.index is None else device


class FakeTensor(torch.Tensor):
    """A tensor on device "meta" that says another device."""

    __torch_function__ = _C._disabled_torch_function_impl
    fake_mode: FakeTensorMode
    fake_device: Any
    constant: Any

    @staticmethod
    def __new__(
        cls, fake_mode: FakeTensorMode, elem: Any, device: Any, constant: Any = None, sizes: Any = None
    ) -> FakeTensor:
        """``sizes`` are those of ``elem``, with names for some (``torch.SymInt``)."""
        if not elem.is_meta:
            raise ValueError(f"FakeTensor: expected a tensor on device 'meta', got one on {elem.device}")
        made = torch.Tensor._make_wrapper_subclass(
            cls, elem.shape, elem.stride(), elem.storage_offset(), dtype=elem.dtype, device=_device(device),
            requires_grad=elem.requires_grad,
        )  # fmt: skip
        made.fake_mode, made.fake_device, made.constant = fake_mode, _device(device), constant
        made._elem, made._sizes = elem.detach(), sizes
        return made

    @property
    def shape(self) -> Any:
        """The sizes: numbers, and ``torch.SymInt`` where an exported program takes others, too."""
        own = torch.Tensor.shape.__get__(self)
        return own if self._sizes is None else torch.Size(self._sizes)

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or one."""
        return self.shape if dim is None else self.shape[dim]

    def __len__(self) -> int:
        return int(self.shape[0]) if self.dim() else torch.Tensor.__len__(self)

    def numel(self) -> Any:
        """How many elements."""
        return math.prod(self.shape)

    def stride(self, dim: int | None = None) -> Any:
        """The strides, with names where they follow from sizes that have names."""
        found = torch.Tensor.stride(self)
        if self._sizes is not None:
            named, step = list(found), 1
            for i in sorted(range(len(named)), key=lambda i: (found[i], -i)):
                named[i] = step if found[i] == int(step) else found[i]
                step = step * self._sizes[i] if found[i] == int(step) else found[i] * self._sizes[i]
            found = tuple(named)
        return found if dim is None else found[dim]

    @staticmethod
    def from_tensor(t: Any, fake_mode: FakeTensorMode) -> FakeTensor:
        """The tensor without its memory."""
        return fake_mode.from_tensor(t)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        said = [f"size={tuple(self.shape)}"]
        if self.fake_device.type != "cpu":
            said.insert(0, f"device='{self.fake_device}'")
        if self.dtype != torch.get_default_dtype():
            said.append(f"dtype={self.dtype}")
        if self.requires_grad:
            said.append("requires_grad=True" if self.is_leaf else f"grad_fn=<{self.grad_fn.name()}>")
        return f"FakeTensor(..., {', '.join(said)})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        flat = tree_flatten((args, kwargs or {}))[0]
        mode = next(x.fake_mode for x in flat if isinstance(x, FakeTensor))
        return mode.run(func, args, kwargs or {})


class FakeTensorMode:
    """A block in which every new tensor is fake, and operators compute shapes."""

    def __init__(
        self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env: Any = None,
        static_shapes: bool | None = None, export: bool = False,
    ) -> None:  # fmt: skip
        if shape_env is not None:
            raise NotImplementedError(
                "FakeTensorMode(shape_env=...): sizes are numbers here, there are no symbolic ones"
            )
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.static_shapes = None, True

    def __enter__(self) -> FakeTensorMode:
        _dispatch.push(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _dispatch.pop()

    def from_tensor(self, tensor: Any, *, static_shapes: Any = None, source: Any = None, **other: Any) -> FakeTensor:
        """The tensor without its memory, a leaf with the same ``requires_grad``; a fake one of this mode as it is."""
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("from_tensor: the tensor is one of another FakeTensorMode")
            return tensor
        with _dispatch.without_modes():
            elem = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
            return FakeTensor(self, elem.requires_grad_() if tensor.requires_grad else elem, tensor.device)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.run(func, args, kwargs or {})

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The operator's result, fake."""
        if func is torch.ops.aten._local_scalar_dense.default:
            if not isinstance(args[0], FakeTensor):
                return func(*args)
            raise DataDependentOutputException(f"{func}: a fake tensor has no values")
        if func is torch.ops.aten.lift_fresh.default:  # a number stays one, whose value may be asked for
            return self.from_tensor(args[0]) if args[0].dim() else args[0]
        fakes = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
        for x in fakes:
            if isinstance(x, FakeTensor):
                if x._sizes is not None:  # those of the result are numbers
                    tuple(map(int, x._sizes))
                if x.fake_mode is not self:
                    raise AssertionError(f"Mixing fake modes NYI: {func} got tensors of two")
            elif x.dim() and not x.is_meta and not self.allow_non_fake_inputs:
                raise AssertionError(
                    f"Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                    f"'allow_non_fake_inputs'. Found in {func}(*{args}, **{kwargs})"
                )
        device = self._result_device(func, fakes, args, kwargs)
        wrote = {a.name for a in func._schema.arguments if a.is_write}
        with _dispatch.without_modes():
            named = tree_map(_meta, kwargs)
            if "device" in kwargs or not fakes:
                named["device"] = "meta"
            try:
                out = func(*tree_map(_meta, args), **named)
            except NotImplementedError as error:
                raise DynamicOutputShapeException(f"{func}: {error}") from error
            if wrote and fakes:
                return fakes[0]
            return tree_map(lambda x: FakeTensor(self, x, device) if isinstance(x, torch.Tensor) else x, out)

    def _result_device(self, func, tensors, args, kwargs):
        if kwargs.get("device") is not None:
            return kwargs["device"]
        devices = [x.fake_device if isinstance(x, FakeTensor) else x.device for x in tensors]
        pairs = list(zip(devices, tensors, strict=True))
        yielding = [d for d, x in pairs if x.dim() == 0 and d.type == "cpu"]  # numbers go where the others are
        fixed = [d for d, x in pairs if not (x.dim() == 0 and d.type == "cpu")]
        if len(set(fixed)) > 1:
            raise RuntimeError(
                f"Unhandled FakeTensor Device Propagation for {func}, found two different devices {fixed[0]}, "
                f"{next(d for d in fixed if d != fixed[0])}"
            )
        return (fixed or yielding or [torch.device("cpu")])[0]


def _meta(x):
    if isinstance(x, FakeTensor):
        return x._elem
    if isinstance(x, torch.Tensor) and not x.is_meta and x.dim():
        return x.to("meta")
    return x


class FakeTensorConverter:
    """Makes fake tensors, the same one of the same tensor."""

    def __init__(self, *, copy_data: bool = False, export: bool = False) -> None:
        self._made: dict[int, Any] = {}

    def from_real_tensor(self, fake_mode: FakeTensorMode, t: Any, **other: Any) -> FakeTensor:
        """The fake tensor of a tensor."""
        import weakref

        if (found := self._made.get(id(t))) is not None and found[0]() is t:
            return found[1]
        made = fake_mode.from_tensor(t)
        self._made[id(t)] = weakref.ref(t), made
        return made


def is_fake(x: object) -> bool:
    """Whether a tensor has no memory and says another device.

    >>> from torch._subclasses.fake_tensor import is_fake
    >>> is_fake(torch.ones(2))
    False
    """
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t: object) -> FakeTensorMode | None:
    """The mode that a tensor was made under; None for others.

    >>> from torch._subclasses.fake_tensor import maybe_get_fake_mode
    >>> maybe_get_fake_mode(torch.ones(2)) is None
    True
    """
    return t.fake_mode if is_fake(t) else None


@contextlib.contextmanager
def unset_fake_temporarily():
    """A block outside of the modes in force; gives the innermost FakeTensorMode, or None."""
    with _dispatch.without_modes() as modes:
        yield next((m for m in reversed(modes) if isinstance(m, FakeTensorMode)), None)
