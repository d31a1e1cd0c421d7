"""Whether ``torch.jit.script`` and ``trace`` compile at all: ``PYTORCH_JIT=0`` and :func:`disable` leave what they get as it is."""

import os

__all__ = ["disable", "enable", "enabled"]

_on = True


def enabled() -> bool:
    """Whether programs are compiled.

    >>> from torch.jit import _state
    >>> _state.enabled()
    True
    """
    return _on and os.environ.get("PYTORCH_JIT", "1") != "0"


def disable() -> None:
    """Leave functions and modules as they are from now on."""
    global _on
    _on = False


def enable() -> None:
    """Compile again."""
    global _on
    _on = True
