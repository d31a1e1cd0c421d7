"""Settings of PyTorch's compiler that its tests make: kept and given back, and asked by nothing here."""

from __future__ import annotations

from typing import Any

__all__ = ["clear_class_registry", "get_emit_hooks", "set_emit_function_hook", "set_emit_hooks", "set_emit_module_hook"]

_emit: list[Any] = [None, None]


def set_emit_hooks(module_hook: Any, function_hook: Any) -> None:
    """Two functions that PyTorch's compiler calls with what it has compiled; this one compiles into graphs at once and
    calls neither."""
    _emit[:] = [module_hook, function_hook]


def get_emit_hooks() -> tuple[Any, Any]:
    """The two that were set.

    >>> before = torch._C._jit_get_emit_hooks()
    >>> torch._C._jit_set_emit_hooks(print, None)
    >>> torch._C._jit_get_emit_hooks()
    (<built-in function print>, None)
    >>> torch._C._jit_set_emit_hooks(*before)
    """
    return _emit[0], _emit[1]


def set_emit_module_hook(hook: Any) -> None:
    """Only the first of them."""
    _emit[0] = hook


def set_emit_function_hook(hook: Any) -> None:
    """Only the second of them."""
    _emit[1] = hook


def clear_class_registry() -> None:
    """Let classes be compiled anew when they are next used."""
    from torch.jit._script import types

    types._classes.clear()
