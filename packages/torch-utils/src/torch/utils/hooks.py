"""Handles of hooks."""

from __future__ import annotations

import weakref
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


class RemovableHandle:
    """Removes a hook from the dict that holds it; as a context, at its end.

    Example:
        >>> hooks = {}
        >>> handle = RemovableHandle(hooks)
        >>> hooks[handle.id] = print
        >>> handle.remove()
        >>> hooks
        {}
    """

    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        if type(hooks_dict) is dict:
            # A plain dict cannot be referred to weakly.
            self._hooks = lambda: hooks_dict
        else:
            self._hooks = weakref.ref(hooks_dict)
        self._extra = (
            extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict] if extra_dict is not None else []
        )
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def remove(self) -> None:
        """Removes the hook; nothing happens when it is gone already.

        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, inputs, output: print("called"))
        >>> handle.remove()
        >>> layer(torch.ones(1))
        tensor([1.])
        """
        for hooks in (self._hooks(), *self._extra):
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


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
