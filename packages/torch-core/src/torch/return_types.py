"""The classes of named results: ``torch.max(x, 0)`` returns a ``torch.return_types.max``.

>>> type(torch.max(torch.ones(2), 0)) is torch.return_types.max
True
"""

from . import _C


def __getattr__(name):
    if name in ("histogram", "histogramdd"):  # no operators: functions in Python
        from ._operators import counting

        return getattr(counting, f"{name}_result")
    try:
        found = _C._return_type(name)
    except KeyError:
        raise AttributeError(f"module 'torch.return_types' has no attribute {name!r}") from None
    globals()[name] = found
    return found
