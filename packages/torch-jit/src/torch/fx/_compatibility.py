"""Marks of how stable a name is; libraries put them on their own functions too."""

_BACK_COMPAT_OBJECTS: dict = {}
_MARKED_WITH_COMPATIBILITY: dict = {}


def compatibility(is_backward_compatible: bool):
    """A decorator that notes whether a function or class keeps its form between versions; it changes nothing else.

    >>> @compatibility(is_backward_compatible=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """

    def mark(obj):
        _MARKED_WITH_COMPATIBILITY.setdefault(obj)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(obj)
        return obj

    return mark
