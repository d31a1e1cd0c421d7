"""Hooks in dicts: the handle that takes one out again, for modules, optimisers and programs (``torch.utils.hooks``)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
        extra = extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict] if extra_dict is not None else []
        self._dicts = (hooks_dict, *extra)
        while RemovableHandle.next_id in hooks_dict:  # an unpickled module brings its ids along
            RemovableHandle.next_id += 1
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def remove(self) -> None:
        """Removes the hook; nothing happens when it is gone already.

        >>> hooks = {}
        >>> handle = add_hook(hooks, print)
        >>> handle.remove(), handle.remove()
        (None, None)
        """
        for hooks in self._dicts:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def add_hook(hooks: dict, hook: Any, prepend: bool = False, *options: dict) -> RemovableHandle:
    """Puts ``hook`` into the dict ``hooks``, and ``True`` under its id into each dict of options.

    >>> hooks = {}
    >>> with add_hook(hooks, print):
    ...     len(hooks)
    1
    >>> hooks
    {}
    """
    handle = RemovableHandle(hooks, extra_dict=options)
    if prepend:
        later = dict(hooks)
        hooks.clear()
        hooks[handle.id] = hook
        hooks.update(later)
    else:
        hooks[handle.id] = hook
    for option in options:
        option[handle.id] = True
    return handle
