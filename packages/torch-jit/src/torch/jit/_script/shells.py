"""Modules without their tensors: what a description keeps of the first module of its kind, which may then go."""

from __future__ import annotations

import inspect
import types as python_types

import torch

__all__ = ["identity", "shell_of"]

_REGISTRIES = ("_parameters", "_buffers", "_modules")
_PLAIN = (int, float, complex, bool, str, bytes, type, python_types.FunctionType, torch.dtype, torch.device, type(None))


def identity(value, module):
    """What tells a callable of a module from others, as long as its function lives: methods of the module do not tell it."""
    if inspect.ismethod(value) and value.__self__ is module:
        return id(value.__func__), "self"
    return id(value)


def shell_of(module, kept=()):
    """A module of the same class, names and tree, with the ``kept`` attributes and the plain ones.

    An object stands for each tensor, one for those that are the same, and a shell for each module below.
    """
    return _shell(module, {}, kept)


def _shell(module, memo, kept=()):
    if module is None or id(module) in memo:
        return None if module is None else memo[id(module)]
    made = memo[id(module)] = _empty(type(module))
    own = made.__dict__
    for name, value in module.__dict__.items():
        if inspect.ismethod(value) and value.__self__ is module:
            own[name] = python_types.MethodType(value.__func__, made)
        elif name not in _REGISTRIES and (name in kept or _is_plain(value)):
            own[name] = value
    for name in ("_parameters", "_buffers"):
        tensors = dict(module.__dict__[name])
        own[name] = {each: None if t is None else memo.setdefault(id(t), object()) for each, t in tensors.items()}
    own["_modules"] = {name: _shell(each, memo) for name, each in dict(module.__dict__["_modules"]).items()}
    return made


def _empty(cls):
    """An object of a class whose ``__init__`` did not run."""
    base = next(each for each in cls.__mro__ if each.__module__ == "builtins" and "__new__" in each.__dict__)
    return base.__new__(cls)


def _is_plain(value):
    """Whether a value, or each in a list or dict of such, holds no tensor and no module."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    several = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
    return all(isinstance(each, _PLAIN) for each in several)
