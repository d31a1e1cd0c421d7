"""What can go wrong with a file, as the classes that users of ``torch.load`` catch."""

import reprlib
import sys
import warnings
from pickle import UnpicklingError


class FileFormatError(RuntimeError):
    """The file is not what it should be: truncated, altered, of another format, or built to do harm."""


class UnsafeGlobalError(UnpicklingError):
    """The file names a class or function that is not on the list of data types; ``global_name`` says which one."""

    def __init__(self, message: str, global_name: str):
        super().__init__(message)
        self.global_name = global_name


class CorruptPickleError(UnpicklingError):
    """The object stream inside the file is broken."""


class CallersError(Exception):
    """Carries an exception of a function of the caller past those who explain broken files."""


class SourceChangeWarning(Warning):
    """The source of a saved module differs from the one that is imported now."""


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """A warning that points to the line that called into this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("torch.serialize."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


class _Brief(reprlib.Repr):
    def repr_instance(self, x, level):
        return f"<{type(x).__name__}>"

    def repr_float(self, x, level):
        return repr(x)

    repr_NoneType = repr_bool = repr_float


_brief = _Brief()
_brief.maxlevel, _brief.maxother = 2, 60


def brief(obj) -> str:
    """What a file says, for a message: short, whatever it is (the full text of nested data can be exponentially long).

    >>> brief(("storage", 3, [[[0]]]))
    "('storage', 3, [[...]])"
    """
    return _brief.repr(obj)[:200]
