"""The list of classes and functions that a file may name, apart from the data types that every file may name.

The list is per process, and `safe_globals` adds to it for the length of a ``with`` block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_allowed: dict[str, Any] = {}


def _named(item) -> tuple[str, Any]:
    if isinstance(item, tuple):
        if len(item) != 2 or not isinstance(item[1], str):
            raise TypeError(f"add_safe_globals: expected a class, a function or (object, 'module.name'), got {item!r}")
        return item[1], item[0]
    module, name = getattr(item, "__module__", None), getattr(item, "__qualname__", None)
    if module is None or name is None:
        raise TypeError(
            f"add_safe_globals: {item!r} has no name of its own; give it as (object, 'module.name') "
            "with the name that stands in the file"
        )
    return f"{module}.{name}", item


def _named_all(items) -> dict[str, Any]:
    if isinstance(items, (str, type)) or not hasattr(items, "__iter__"):
        raise TypeError(f"add_safe_globals: expected a list of classes or functions, got {items!r}")
    return dict(map(_named, items))


def add_safe_globals(safe_globals: list[Callable | tuple[Callable, str]]) -> None:
    """Lets `load` build these classes and call these functions when a file names them.

    An item is the class itself, or ``(class, "module.name")`` when the file knows it under another name.

    >>> import fractions
    >>> add_safe_globals([fractions.Fraction])
    >>> fractions.Fraction in get_safe_globals()
    True
    >>> clear_safe_globals()
    """
    _allowed.update(_named_all(safe_globals))


def get_safe_globals() -> list[Callable | tuple[Callable, str]]:
    """What `add_safe_globals` has added."""
    return [item if _own_name(item) == name else (item, name) for name, item in _allowed.items()]


def _own_name(item) -> str:
    return f"{getattr(item, '__module__', None)}.{getattr(item, '__qualname__', None)}"


def clear_safe_globals() -> None:
    """Forgets all that `add_safe_globals` has added."""
    _allowed.clear()


class safe_globals:
    """Context in which `load` also accepts the given classes and functions.

    >>> import fractions
    >>> with safe_globals([fractions.Fraction]):
    ...     len(get_safe_globals())
    1
    >>> get_safe_globals()
    []
    """

    def __init__(self, safe_globals: list[Callable | tuple[Callable, str]]):
        self._items = _named_all(safe_globals)

    def __enter__(self):
        self._before = dict(_allowed)
        _allowed.update(self._items)
        return self

    def __exit__(self, *error):
        _allowed.clear()
        _allowed.update(self._before)


def allowed(name: str):
    """The object that may be used under this name, or None."""
    return _allowed.get(name)


def is_allowed(item) -> bool:
    """Whether the user lets files use this object."""
    return any(item is known for known in _allowed.values())
