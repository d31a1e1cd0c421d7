"""Whether ``torch.jit.script`` and ``trace`` compile at all: ``PYTORCH_JIT=0`` and :func:`disable` leave what they get as it is."""

import os
from typing import Any

__all__ = ["disable", "enable", "enabled"]

_on = True


def enabled() -> bool:
    """Whether programs are compiled.

    >>> from torch.jit import _state
    >>> _state.enabled()
    True
    """
    return _on and os.environ.get("PYTORCH_JIT", "1") != "0"


class _Enabled:
    """The same as PyTorch's name for it: ``torch.jit._state._enabled.enabled``."""

    @property
    def enabled(self) -> bool:
        return enabled()

    def __bool__(self) -> bool:
        return enabled()


_enabled = _Enabled()


def _clear_class_state() -> None:
    """Let classes be compiled anew when they are next used."""
    from torch.jit._hooks import clear_class_registry

    clear_class_registry()


def _get_script_class(python_class: Any) -> Any:
    """The type of a class in scripts, or None where none uses it.

    >>> torch.jit._state._get_script_class(dict) is None
    True
    """
    from torch.jit._script import types

    return types._classes.get(python_class)


def _try_get_jit_cached_function(key: Any) -> Any:
    """The compiled form of a function, or None where it has not been compiled."""
    from torch.jit._script.function import _functions

    return _functions.get(key)


def disable() -> None:
    """Leave functions and modules as they are from now on."""
    global _on
    _on = False


def enable() -> None:
    """Compile again."""
    global _on
    _on = True
