"""What is done with modules that match a pattern, and who is told."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from .glob_group import GlobGroup

INTERN, EXTERN, MOCK, DENY, SKIP = "intern", "extern", "mock", "deny", "skip"


class Rule:
    """One call of intern, extern, mock or deny."""

    def __init__(self, action: str, include, exclude, allow_empty: bool):
        self.action, self.group, self.allow_empty = action, GlobGroup(include, exclude=exclude), allow_empty
        self.matched = False

    def matches(self, name: str) -> bool:
        found = self.group.matches(name)
        self.matched |= found
        return found


class Handle:
    """Takes a hook away again."""

    def __init__(self, hooks: OrderedDict[int, Callable], hook: Callable):
        self._hooks, self.id = hooks, max(hooks, default=-1) + 1
        hooks[self.id] = hook

    def remove(self) -> None:
        """The hook is not called any more."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()
