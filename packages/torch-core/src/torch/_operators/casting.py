"""How functions composed of operators behave under ``torch.autocast``: as an operator whose row says ``casts``."""

import functools

from .. import _C


def _in(function, dtype_of):
    @functools.wraps(function)
    def cast(*args, **kwargs):
        if not _C._casts():
            return function(*args, **kwargs)
        from ..amp.autocast_mode import _cast, autocast

        dtype = dtype_of()
        with autocast("cpu", enabled=False):
            return function(*_cast(args, "cpu", dtype), **_cast(kwargs, "cpu", dtype))

    return cast


def in_float32(function):
    """``function``, computing in float32 under ``torch.autocast``, whatever the operators in it are."""
    return _in(function, lambda: _C.float32)


def lower_precision():
    """The dtype of products under ``torch.autocast`` on the CPU."""
    from ..amp.autocast_mode import get_autocast_dtype

    return get_autocast_dtype("cpu")


def in_lower_precision(function):
    """``function``, computing in the lower precision under ``torch.autocast``, whatever the operators in it are."""
    return _in(function, lower_precision)
