"""Modules that hold modules or parameters: in order, in a list, in a dict."""

from __future__ import annotations

import collections.abc
import itertools
import operator

import torch

from ..parameter import Parameter
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """Modules given by keyword, as in the earliest versions; today a Module with attributes does the same.

    >>> torch.nn.Container(first=torch.nn.ReLU(), then=torch.nn.Tanh())
    Container(
      (first): ReLU()
      (then): Tanh()
    )
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


def _index(owner, index, size):
    """``index`` as a number in [0, size); IndexError names what was asked and what there is."""
    i = operator.index(index)
    if not -size <= i < size:
        raise IndexError(f"{type(owner).__name__}: index {i} is out of range, it has {size} entries")
    return i % size


class _Numbered(Module):
    """Modules under the names '0', '1', ...: what Sequential and ModuleList have in common."""

    def _get_abs_string_index(self, index):
        """The name of the entry at an index, which may be negative."""
        return list(self._modules)[_index(self, index, len(self._modules))]

    def _get_item_by_idx(self, iterator, idx):
        """The item at an index, which may be negative, of what is gone through."""
        return list(iterator)[_index(self, idx, len(self))]

    def _renumber(self, modules):
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Any:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(list(self._modules.items())[index])
        return self._modules[self._get_abs_string_index(index)]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._get_abs_string_index(index), module)

    def __delitem__(self, index: Any) -> None:
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._get_abs_string_index(index)]
        for key in keys:
            del self._modules[key]
        self._renumber(list(self._modules.values()))

    def append(self, module: Module) -> Self:
        """Add one module at the end. Returns self.

        >>> torch.nn.ModuleList([torch.nn.ReLU()]).append(torch.nn.Tanh())
        ModuleList(
          (0): ReLU()
          (1): Tanh()
        )
        """
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: Any, module: Module) -> Self:
        """Put ``module`` before position ``index``; later ones move up. Returns self for Sequential."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}, got {type(module).__name__}")
        size = len(self)
        i = operator.index(index)
        if not -size <= i <= size:
            raise IndexError(f"{type(self).__name__}: index {i} is out of range, it has {size} entries")
        modules = list(self)
        modules.insert(i, module)
        self._renumber(modules)
        return self

    def pop(self, key: Any) -> Any:
        """Remove and return the module at position ``key``."""
        module = self[key]
        del self[key]
        return module

    def extend(self, modules: Any) -> Self:
        """Add several modules at the end. Returns self.

        >>> torch.nn.ModuleList().extend([torch.nn.ReLU(), torch.nn.Tanh()])
        ModuleList(
          (0): ReLU()
          (1): Tanh()
        )
        """
        if not isinstance(modules, collections.abc.Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self


class Sequential(_Numbered):
    """Modules called one after another: each takes what the one before gave.

    Made from modules, or from an ordered dict of names and modules.

    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> net(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    >>> net[1:]
    Sequential(
      (1): ReLU()
      (2): Linear(in_features=8, out_features=2, bias=True)
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else enumerate(args)
        for name, module in named:
            self.add_module(name if isinstance(name, str) else str(name), module)

    def _slice(self, items):
        return type(self)(collections.OrderedDict(items))

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)
        numbered = names == [str(i) for i in range(len(names))]
        for name in names[index] if isinstance(index, slice) else [self._get_abs_string_index(index)]:
            del self._modules[name]
        if numbered:
            self._renumber(list(self._modules.values()))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Sequential):
            raise ValueError(f"Sequential + x: x must be a Sequential, got {type(other).__name__}")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"Sequential += x: x must be a Sequential, got {type(other).__name__}")
        return self.extend(other)

    def __mul__(self, times: Any) -> Any:
        if not isinstance(times, int):
            raise TypeError(f"Sequential * n: n must be an int, got {type(times).__name__}")
        if times <= 0:
            raise ValueError(f"Sequential * n: n must be positive, got {times}")
        return Sequential(*itertools.chain.from_iterable([self] * times))

    __rmul__ = __mul__

    def __imul__(self, times: Any) -> Self:
        return self.extend(list(self * times)[len(self) :])

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add the modules of ``sequential`` at the end. Returns self."""
        return super().extend(sequential)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Numbered):
    """A list of modules; unlike a plain list it registers them.

    >>> layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    _instead_of_forward = "it holds modules and does not call them: loop over them in a forward, or make a Sequential"

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _slice(self, items):
        return type(self)(module for _, module in items)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> Any:
        return ModuleList([*self, *other])

    def insert(self, index: int, module: Module) -> None:
        """Put ``module`` before position ``index``; later ones move up."""
        size = len(self)
        index = max(index + size, 0) if index < 0 else min(index, size)
        super().insert(index, module)

    def __repr__(self) -> str:
        """Equal neighbours are printed once: ``(0-11): 12 x Block(...)``."""
        groups = []
        for i, text in enumerate(repr(module) for module in self):
            if groups and groups[-1][2] == text:
                groups[-1][1] = i
            else:
                groups.append([i, i, text])
        if not groups:
            return f"{self._get_name()}()"
        lines = [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in groups]
        return f"{self._get_name()}(\n  " + "\n  ".join(line.replace("\n", "\n  ") for line in lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules, in order of insertion; unlike a plain dict it registers them.

    >>> heads = torch.nn.ModuleDict({"age": torch.nn.Linear(4, 1), "name": torch.nn.Linear(4, 9)})
    >>> heads["name"](torch.zeros(2, 4)).shape
    torch.Size([2, 9])
    """

    _instead_of_forward = "it holds modules and does not call them: loop over them in a forward, or make a Sequential"

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        if key in self._modules:
            setattr(self, key, module)
        else:
            self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all entries."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove ``key`` and return its module."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Pairs of name and module."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add the entries of a dict or of an iterable of pairs."""
        for key, module in _pairs(self, modules):
            self[key] = module


def _pairs(owner, entries):
    if isinstance(entries, (collections.abc.Mapping, ModuleDict, ParameterDict)):
        return list(entries.items())
    if not isinstance(entries, collections.abc.Iterable):
        raise TypeError(
            f"{type(owner).__name__}.update should be called with an iterable of key/value pairs, "
            f"but got {type(entries).__name__}"
        )
    pairs = []
    for i, pair in enumerate(entries):
        if not isinstance(pair, collections.abc.Iterable):
            raise TypeError(f"{type(owner).__name__}.update: element {i} is no pair but {type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{type(owner).__name__}.update: element {i} has length {len(pair)}; 2 is required")
        pairs.append(pair)
    return pairs


def _as_parameter(value):
    """Tensors become parameters, other values stay what they are."""
    return Parameter(value) if isinstance(value, torch.Tensor) and not isinstance(value, Parameter) else value


def _describe(key, value, named=False):
    if isinstance(value, torch.Tensor):
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        size = "x".join(str(n) for n in value.shape)
        elements = value.type() if named else value.dtype
        return f"  ({key}): {kind} containing: [{elements} of size {size}{_where(value)}]"
    return f"  ({key}): Object of type: {type(value).__name__}"


def _where(value):
    return "" if value.device.type == "cpu" else f" ({value.device})"


class ParameterList(Module):
    """A list of parameters; unlike a plain list it registers them. Tensors become parameters, other values are kept.

    >>> weights = torch.nn.ParameterList([torch.ones(2) for _ in range(3)])
    >>> len(list(weights.parameters()))
    3
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(getattr(self, str(i)) for i in range(*index.indices(self._size)))
        return getattr(self, str(_index(self, index, self._size)))

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, str(_index(self, index, self._size)), _as_parameter(value))

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(self._size))

    def __iadd__(self, values: Any) -> Self:
        return self.extend(values)

    def __dir__(self) -> Sequence[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Self:
        """Add one value at the end. Returns self.

        >>> torch.nn.ParameterList().append(torch.ones(2))
        ParameterList(  (0): Parameter containing: [torch.float32 of size 2])
        """
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several values at the end. Returns self.

        >>> len(torch.nn.ParameterList().extend([torch.ones(2), torch.ones(3)]))
        2
        """
        if not isinstance(values, collections.abc.Iterable) or isinstance(values, torch.Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def pop(self, index: int = -1) -> Any:
        """Remove and return the value at ``index``."""
        value = self[index]
        rest = [self[i] for i in range(self._size) if i != index % self._size]
        for i in range(self._size):
            delattr(self, str(i))
        self._size = 0
        self.extend(rest)
        return value

    def extra_repr(self) -> str:
        return "\n".join(_describe(i, value) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList is a container of parameters and cannot be called")


class ParameterDict(Module):
    """A dict of parameters, in order of insertion. Tensors become parameters, other values are kept.

    >>> weights = torch.nn.ParameterDict({"left": torch.ones(2)})
    >>> [name for name, _ in weights.named_parameters()]
    ['left']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._names = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key):
        """Keys are attributes of the module as they are, or, where that would hide a method, get out of the way."""
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}')"
            )
        return f"{key}_" if hasattr(ParameterDict, key) else key

    def __getitem__(self, key: str) -> Any:
        if key not in self._names:
            raise KeyError(key)
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        attribute = self._attribute(key)
        setattr(self, attribute, _as_parameter(value))
        self._names[key] = None

    def __delitem__(self, key: str) -> None:
        del self._names[key]
        delattr(self, self._attribute(key))

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._names))

    def __contains__(self, key: str) -> bool:
        return key in self._names

    def __or__(self, other: Any) -> Any:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: Any) -> Any:
        merged = ParameterDict(other)
        merged.update(self)
        return merged

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def copy(self) -> Any:
        """A new dict with the same parameters."""
        return ParameterDict(dict(self.items()))

    def setdefault(self, key: str, default: Any | None = None) -> Any:
        """The value under ``key``; if there is none, ``default`` is put there first."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove ``key`` and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last pair."""
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any | None = None) -> Any:
        """The value under ``key``, or ``default``."""
        return self[key] if key in self else default  # noqa: SIM401

    def fromkeys(self, keys: Iterable[str], default: Any | None = None) -> Any:
        """A new dict with ``default`` under each of ``keys``."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The names."""
        return self._names.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs of name and value."""
        return [(key, self[key]) for key in self._names]

    def values(self) -> Iterable[Any]:
        """The values."""
        return [self[key] for key in self._names]

    def update(self, parameters: Iterable[Tensor]) -> None:
        """Add the entries of a dict or of an iterable of pairs.

        Those of a plain dict are sorted by their keys, as ever since dicts had no order: the parameters of a model are
        in the same order wherever it is made, and so is an optimiser's state.
        """
        pairs = _pairs(self, parameters)
        ordered = (collections.OrderedDict, ParameterDict)
        if isinstance(parameters, collections.abc.Mapping) and not isinstance(parameters, ordered):
            pairs = sorted(pairs, key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(_describe(key, value, named=True) for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict is a container of parameters and cannot be called")
