"""Handles of hooks."""

from __future__ import annotations

from typing import Any

from torch._seams import RemovableHandle as RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


def unserializable_hook(f: Any) -> Any:
    """Marks a hook that is left out when its tensor is saved, without a warning."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warns of hooks that are lost when the tensor is saved."""
    import warnings

    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(f"backward hook {hook!r} on a tensor is not saved with it", stacklevel=3)
