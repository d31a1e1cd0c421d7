"""Names of what is not there: libraries import them, and ask whether an object is of their kind; to use one raises."""

import enum


def absent_class(module: str, name: str, reason: str, base: type = object) -> type:
    """A class without instances.

    >>> absent_class("torch.distributed.x", "Sharded", "nothing is sharded")()
    Traceback (most recent call last):
    NotImplementedError: torch.distributed.x.Sharded is not there: nothing is sharded
    """

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(f"{module}.{name} is not there: {reason}")

    doc = f"Has no instances: {reason}."
    return type(name, (base,), {"__new__": __new__, "__module__": module, "__doc__": doc})


def absent_function(module: str, name: str, reason: str):
    """A function that raises NotImplementedError."""

    def function(*args, **kwargs):
        raise NotImplementedError(f"{module}.{name} is not there: {reason}")

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = f"Raises NotImplementedError: {reason}."
    return function


def fill(space: dict, reason: str, classes=(), functions=(), enums=None) -> None:
    """Put such classes and functions, and enumerations with their members, into a module."""
    module = space["__name__"]
    for name in classes:
        space[name] = absent_class(module, name, reason)
    for name in functions:
        space[name] = absent_function(module, name, reason)
    for name, members in (enums or {}).items():
        space[name] = enum.Enum(name, members, module=module)
