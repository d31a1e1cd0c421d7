"""Parametrizations: a tensor of a module becomes a function of other tensors, which are trained in its place.

``register_parametrization(module, "weight", fn)`` moves the tensor into ``module.parametrizations.weight.original`` and
makes ``module.weight`` a property: ``fn(original)``, computed at each read, or once inside ``with cached():``.
"""

from __future__ import annotations

import collections
import contextlib
import copy

import torch

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_depth = 0
_values = {}


@contextlib.contextmanager
def cached() -> Any:
    """Inside, every parametrized tensor is computed once; worth it where a forward reads one many times."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:
            _values.clear()


def _own(tensor, like):
    return Parameter(tensor, like.requires_grad) if isinstance(like, Parameter) else tensor


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and what they apply to: ``original``, or ``original0``,
    ``original1``, ... when the ``right_inverse`` of the first one gives several tensors."""

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        self.is_tensor = True
        self.ntensors = 1
        start = original
        with torch.no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    try:
                        start = module.right_inverse(start)
                    except NotImplementedError:
                        pass
        if isinstance(start, torch.Tensor):
            self._check(original, start)
            if isinstance(original, Parameter):
                # the same object, so that an optimiser that holds it stays right
                original.data = start.detach()
                self.original = original
            else:
                self.register_buffer("original", start)
        elif isinstance(start, collections.abc.Sequence):
            self.is_tensor = False
            self.ntensors = len(start)
            for i, tensor in enumerate(start):
                if not isinstance(tensor, torch.Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(tensor).__name__}."
                    )
                if isinstance(original, Parameter):
                    self.register_parameter(f"original{i}", Parameter(tensor.detach(), original.requires_grad))
                else:
                    self.register_buffer(f"original{i}", tensor)
        else:
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(start).__name__}"
            )

    def _check(self, original, start):
        if not self.unsafe and start.dtype != original.dtype:
            raise ValueError(
                f"When `right_inverse` outputs one tensor, it may not change the dtype: {original.dtype} became {start.dtype}"
            )

    def _originals(self):
        if self.is_tensor:
            return (self.original,)
        return tuple(getattr(self, f"original{i}") for i in range(self.ntensors))

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``."""
        with torch.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse, so its tensor cannot be assigned"
                    )
                value = module.right_inverse(value)
            values = (value,) if self.is_tensor else tuple(value)
            for original, new in zip(self._originals(), values):
                original.data = new.detach().to(original.dtype) if not self.unsafe else new.detach()

    def forward(self) -> Tensor:
        x = self[0](*self._originals())
        for module in list(self)[1:]:
            x = module(x)
        return x


def _read(module, name):
    parametrization = module.parametrizations[name]
    if not _depth:
        return parametrization()
    key = (id(module), name)
    if torch.jit.is_tracing():
        raise RuntimeError(
            f"Cannot trace a model while caching the parametrizations ({name}): trace it outside of `with cached()`"
        )
    if key not in _values:
        _values[key] = parametrization()
    return _values[key]


def _make_class(module):
    """A subclass of the module's class of its own, to hold the properties; a deep copy gets one as well."""
    cls = type(module)

    def getstate(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): their class is made at run time"
        )

    def deep_copy(self, memo):
        twin = object.__new__(cls)
        memo[id(self)] = twin
        twin.__setstate__(copy.deepcopy(cls.__getstate__(self), memo))
        _make_class(twin)
        for name in twin.parametrizations:
            _add_property(twin, name)
        return twin

    members = {"__getstate__": getstate, "__deepcopy__": deep_copy}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _add_property(module, name):
    def get(self):
        return _read(self, name)

    def set(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, set))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let ``parametrization(original)`` be the tensor ``tensor_name``; returns the module.

    A module with ``right_inverse`` decides what the original is for the present value, and allows assignment.  Without
    ``unsafe`` it must keep shape and dtype (ValueError).  Further ones are applied to the result of those before, and
    leave the original as it is.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).transpose(-1, -2)
    >>> layer = register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.t())
    True
    """
    if not isinstance(module, Module):
        raise TypeError(f"register_parametrization: module must be an nn.Module, got {type(module).__name__}")
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        entries = module.parametrizations[tensor_name]
        if not unsafe:
            before = getattr(module, tensor_name)
            with torch.no_grad():
                _check_result(tensor_name, parametrization(before), before)
        entries.append(parametrization)
        entries.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    value = original.detach().clone()
    entries = ParametrizationList([parametrization], original, unsafe=unsafe)
    if not unsafe:
        with torch.no_grad():
            try:
                _check_result(tensor_name, entries(), value)
            except Exception:
                if isinstance(original, Parameter):
                    original.data = value
                raise
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _make_class(module)
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = entries
    _add_property(module, tensor_name)
    return module


def _check_result(name, result, before):
    if not isinstance(result, torch.Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    if result.dtype != before.dtype or result.shape != before.shape:
        raise ValueError(
            f"Registering a parametrization may not change dtype or shape of '{name}' (unless unsafe=True): it was "
            f"{before.dtype} {tuple(before.shape)}, the parametrization gives {result.dtype} {tuple(result.shape)}"
        )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Has ``module``, or its tensor ``tensor_name``, a parametrization?"""
    entries = module._modules.get("parametrizations")
    if not isinstance(entries, ModuleDict):
        return False
    return len(entries) > 0 if tensor_name is None else tensor_name in entries


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make ``tensor_name`` an ordinary tensor again: its present value, or the original one; returns the module."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {type(module).__name__} does not have a parametrization on {tensor_name}")
    entries = module.parametrizations[tensor_name]
    if entries.is_tensor:
        original = entries.original
        if leave_parametrized:
            with torch.no_grad():
                value = getattr(module, tensor_name)
            if isinstance(original, Parameter):
                original.data = value.detach()
            else:
                original = value
    else:
        if not leave_parametrized:
            raise ValueError(
                "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                "sequence of tensors."
            )
        with torch.no_grad():
            value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if isinstance(entries.original0, Parameter) else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type_before_parametrizations(module)
    return module


def type_before_parametrizations(module: Module) -> type[Any]:
    """The class of ``module`` without what parametrizations added."""
    cls = type(module)
    return cls.__bases__[0] if cls.__name__.startswith("Parametrized") and len(cls.__bases__) == 1 else cls


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give ``to_module`` copies of the parametrizations of ``from_module`` and their originals; returns it."""
    if not is_parametrized(from_module, tensor_name):
        return to_module
    names = [tensor_name] if tensor_name is not None else list(from_module.parametrizations)
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in from_module.parametrizations[name]:
            register_parametrization(to_module, name, copy.deepcopy(parametrization), unsafe=True)
        source, target = from_module.parametrizations[name], to_module.parametrizations[name]
        for old, new in zip(source._originals(), target._originals()):
            new.data = old.detach().clone()
    return to_module


def __getattr__(name):  # what libraries read of PyTorch's own state
    if name == "_cache_enabled":
        return _depth
    if name == "_cache":
        return _values
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
