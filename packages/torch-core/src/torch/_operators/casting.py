"""How functions composed of operators behave under ``torch.autocast``: as an operator whose row says ``casts``."""

from __future__ import annotations

import functools

from .. import _C
from .out import check_tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

_DEVICES = {1: ("cpu",), 2: ("cuda",), 3: ("cpu", "cuda")}  # by _C._casts()


def _in(function, dtype_of):
    @functools.wraps(function)
    def cast(*args, **kwargs):
        where = _C._casts()
        if not where:
            try:
                return function(*args, **kwargs)
            except AttributeError:
                check_tensors(function, args, kwargs)
                raise
        from ..amp.autocast_mode import _cast

        for device in _DEVICES[where]:
            dtype = dtype_of(device)
            args, kwargs = _cast(args, device, dtype), _cast(kwargs, device, dtype)
        return _uncast(_DEVICES[where], function, args, kwargs)

    return cast


def _uncast(devices, function, args, kwargs):
    """Call a function with ``torch.autocast`` off for some devices."""
    from ..amp.autocast_mode import autocast

    if not devices:
        return function(*args, **kwargs)
    with autocast(devices[0], enabled=False):
        return _uncast(devices[1:], function, args, kwargs)


def in_float32(function: F) -> F:
    """``function``, computing in float32 under ``torch.autocast``, whatever the operators in it are."""
    return _in(function, lambda device: _C.float32)


def lower_precision(device="cpu"):
    """The dtype of products under ``torch.autocast`` on a device."""
    from ..amp.autocast_mode import get_autocast_dtype

    return get_autocast_dtype(device)


lower_precision._dynamo_marked_constant = True  # a program is for one state of autocast


def in_lower_precision(function: F) -> F:
    """``function``, computing in the lower precision under ``torch.autocast``, whatever the operators in it are."""
    return _in(function, lower_precision)
