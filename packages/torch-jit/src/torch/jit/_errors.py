"""The classes of errors that programs raise: those of Python, and ``torch.jit.Error`` as well."""

import builtins
import functools

from torch._faces.jit import Error

__all__ = ["raised"]


@functools.cache
def raised(name: str) -> type:
    """The class for an error of a program that names a class of Python: caught as that class and as ``torch.jit.Error``.

    >>> error = raised("ValueError")
    >>> issubclass(error, ValueError), issubclass(error, torch.jit.Error), error.__name__
    (True, True, 'ValueError')
    """
    base = getattr(builtins, name, None)
    if not (isinstance(base, type) and issubclass(base, Exception)) or issubclass(Error, base):
        return Error
    own = {"__module__": "builtins", "__doc__": base.__doc__}
    if issubclass(base, KeyError):  # whose text would be the repr of the message, in one line
        own["__str__"] = Exception.__str__
    try:
        return type(name, (base, Error), own)
    except TypeError:  # it has another layout, as an OSError
        return base
