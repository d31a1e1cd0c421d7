"""What can go wrong with a file, as the classes that users of ``torch.load`` catch."""

import itertools
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
    """The source of a saved module differs from the one that is imported now.

    >>> issubclass(torch.serialization.SourceChangeWarning, Warning)
    True
    """


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """A warning that points to the line that called into this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("torch.serialize."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


_BRACKETS = {tuple: "()", list: "[]", set: "{}", dict: "{}"}
_SHOWN = 6  # elements of a container


def brief(obj) -> str:
    """What a file says, for a message: short, whatever it is, and without asking objects for their own text.

    The full text of nested data can be exponentially long, and that of a long number takes quadratic time.

    >>> brief(("storage", 3, [[[0]]]))
    "('storage', 3, [[...]])"
    """
    return _text(obj, 2)[:200]


def _text(obj, depth: int) -> str:
    kind = type(obj)
    if kind is str or kind is bytes:
        return repr(obj) if len(obj) <= 30 else f"{obj[:12]!r}...{obj[-12:]!r}"
    if kind is int:
        return repr(obj) if obj.bit_length() <= 256 else f"<int of {obj.bit_length()} bits>"
    if obj is None or kind is bool or kind is float:
        return repr(obj)
    if (brackets := _BRACKETS.get(kind)) is None:
        return f"<{kind.__name__}>"
    if depth == 0 and obj:
        return f"{brackets[0]}...{brackets[1]}"
    shown = [_text(item, depth - 1) for item in itertools.islice(obj, _SHOWN)]
    if kind is dict:
        shown = [f"{key}: {_text(value, depth - 1)}" for key, value in zip(shown, obj.values())]
    if len(obj) > _SHOWN:
        shown.append("...")
    return brackets[0] + ", ".join(shown) + ("," if kind is tuple and len(obj) == 1 else "") + brackets[1]
