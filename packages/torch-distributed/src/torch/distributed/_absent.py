"""Names of what is not there: libraries import them, and ask whether an object is of their kind; to use one raises."""

import enum

from torch._seams import absent_class, absent_function


def fill(space: dict, reason: str, classes=(), functions=(), enums=None) -> None:
    """Put such classes and functions, and enumerations with their members, into a module."""
    module = space["__name__"]
    for name in classes:
        space[name] = absent_class(module, name, reason)
    for name in functions:
        space[name] = absent_function(module, name, reason)
    for name, members in (enums or {}).items():
        space[name] = enum.Enum(name, members, module=module)
