"""Marks for the compiler on functions and methods; without it they change nothing."""

from __future__ import annotations

import warnings

__all__ = ["export", "ignore", "interface", "script_method", "unused"]


def _mark(fn, word):
    if isinstance(fn, property):
        for part in (fn.fget, fn.fset):
            if part is not None:
                part._torchscript_modifier = word
        return fn
    fn._torchscript_modifier = word
    return fn


def export(fn):
    """Compile this method beside forward.

    >>> class Net(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x
    ...     @torch.jit.export
    ...     def twice(self, x):
    ...         return x + x
    >>> torch.jit.script(Net()).twice(torch.ones(1))
    tensor([2.])
    """
    return _mark(fn, "export")


def unused(fn):
    """Leave this function out of programs; a program that gets there raises."""
    return _mark(fn, "unused")


def ignore(drop=False, **kwargs):
    """Leave this function to Python, which programs call back; such programs cannot be saved.

    With ``drop=True`` it is as :func:`unused`.
    """
    if callable(drop):
        return _mark(drop, "ignore")
    if not isinstance(drop, bool):
        raise RuntimeError(f"torch.jit.ignore: drop must be a bool or the function itself, got {drop!r}")
    if "drop_on_export" in kwargs:
        warnings.warn(
            "ignore(drop_on_export=...) is the spelling of 2019. TorchScript will now drop the function call on compilation "
            "where it is True: use torch.jit.unused",
            FutureWarning,
            stacklevel=2,
        )
    word = "unused" if kwargs.pop("drop_on_export", drop) else "ignore"
    return lambda fn: _mark(fn, word)


def _drop(fn):
    """Leave this function out of programs, its types too."""
    return _mark(fn, "drop")


def script_method(fn):
    """Compile this method of a :class:`ScriptModule` (the spelling of 2018).

    >>> torch.jit.script_method(lambda self, x: x).__name__  # marked, and compiled with its module
    '<lambda>'
    """
    return _mark(fn, "script_method")


def interface(cls):
    """Mark a class as an interface of modules, or of objects where it is no module; it stays as it is."""
    from torch.nn import Module

    if cls.__mro__[1:] not in (Module.__mro__, object.__mro__):
        raise RuntimeError(
            f"{cls.__name__}: a TorchScript interface does not support inheritance yet. Please directly inherit from 'object' "
            "or 'nn.Module'"
        )
    cls.__torch_script_interface__ = True
    return cls


_overloads = {}


def _overload(fn):
    """Mark a signature of an overloaded function; the definition that follows the marked ones is the one that runs."""
    _overloads.setdefault((fn.__module__, fn.__qualname__), []).append(fn)
    return fn


_overload_method = _overload


def overloads_of(fn):
    """The marked signatures of a function or method, in order."""
    return _overloads.get((fn.__module__, fn.__qualname__), ())
