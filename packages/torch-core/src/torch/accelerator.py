"""The accelerator of this machine: CUDA's devices where torch-core-cuda finds any, else none.

>>> torch.accelerator.is_available() == torch.cuda.is_available()
True
"""

from __future__ import annotations

import sys

from . import cuda as _cuda
from ._C import device as _device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch


def is_available() -> bool:
    """Whether there is a device.

    >>> torch.accelerator.is_available()
    False
    """
    return bool(_cuda.is_available())


def device_count() -> int:
    """How many devices there are."""
    return int(_cuda.device_count())


def current_accelerator(check_available: bool = False) -> torch.device | None:
    """The kind of device that this installation is for, or None; with ``check_available`` None also where there is no device.

    >>> torch.accelerator.current_accelerator(check_available=True) is None
    True
    """
    found = is_available() if check_available else _cuda.plugin is not None
    return _device("cuda") if found else None


def _delegate(name, of):
    """A function of :mod:`torch.cuda` under the accelerator's name."""

    def call(*args, **kwargs):
        if not is_available():
            raise RuntimeError(
                f"accelerator.{name}: cannot access an accelerator device when none is available; ask is_available() first"
            )
        return getattr(_cuda, of)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"As ``torch.cuda.{of}``. RuntimeError where there is no device."
    return call


_current_device, _set_device = (_delegate("device_index", of) for of in ("current_device", "set_device"))


class device_index:
    """A region in which another device is the current one; None changes nothing.

    >>> with torch.accelerator.device_index(None):
    ...     pass
    """

    def __init__(self, device: int | None) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            self._before = _current_device()
            _set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        if self.idx is not None:
            _set_device(self._before)


#: names of functions, and those that they have in torch.cuda where these differ
DELEGATED = {
    "current_device_index": "current_device", "current_device_idx": "current_device", "set_device_index": "set_device",
    "set_device_idx": "set_device", "get_memory_info": "mem_get_info",
} | {name: name for name in (
    "current_stream", "empty_cache", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_stream", "synchronize",
)}  # fmt: skip

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


globals().update((name, _delegate(name, of)) for name, of in DELEGATED.items())

sys.modules[__name__ + ".memory"] = memory = sys.modules[__name__]  # where PyTorch has the functions about memory
