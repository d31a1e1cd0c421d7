"""How functions composed of operators behave under ``torch.autocast``: as an operator whose row says ``casts``."""

from __future__ import annotations

import contextlib
import functools

from .. import _C

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
            return function(*args, **kwargs)
        from ..amp.autocast_mode import _cast, autocast

        with contextlib.ExitStack() as off:
            for device in _DEVICES[where]:
                dtype = dtype_of(device)
                args, kwargs = _cast(args, device, dtype), _cast(kwargs, device, dtype)
                off.enter_context(autocast(device, enabled=False))
            return function(*args, **kwargs)

    return cast


def in_float32(function: F) -> F:
    """``function``, computing in float32 under ``torch.autocast``, whatever the operators in it are."""
    return _in(function, lambda device: _C.float32)


def lower_precision(device="cpu"):
    """The dtype of products under ``torch.autocast`` on a device."""
    from ..amp.autocast_mode import get_autocast_dtype

    return get_autocast_dtype(device)


def in_lower_precision(function: F) -> F:
    """``function``, computing in the lower precision under ``torch.autocast``, whatever the operators in it are."""
    return _in(function, lower_precision)
