"""Names of what is not there: libraries import them, and ask whether an object is of their kind; to use one raises."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def absent_class(module: str, name: str, reason: str, base: type = object) -> type:
    """A class without instances.

    >>> from torch._absent import absent_class
    >>> absent_class("torch.distributed.x", "Sharded", "nothing is sharded")()
    Traceback (most recent call last):
    NotImplementedError: torch.distributed.x.Sharded: nothing is sharded
    """

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(f"{module}.{name}: {reason}")

    doc = f"Has no instances: {reason}."
    return type(name, (base,), {"__new__": __new__, "__module__": module, "__doc__": doc})


def absent_function(module: str, name: str, reason: str | Callable[[], str]) -> Any:
    """A function that raises NotImplementedError; a reason that takes long to say may be a function.

    >>> from torch._absent import absent_function
    >>> absent_function("torch.sparse", "tune", "there is nothing to tune")()
    Traceback (most recent call last):
    NotImplementedError: torch.sparse.tune: there is nothing to tune
    """

    def function(*args, **kwargs):
        raise NotImplementedError(f"{module}.{name}: {reason() if callable(reason) else reason}")

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = "Raises NotImplementedError" + ("." if callable(reason) else f": {reason}.")
    return function
