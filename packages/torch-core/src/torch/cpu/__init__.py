"""The CPU, spoken to as any device is: what programs ask that run on each.

>>> torch.cpu.device_count(), torch.cpu.current_device()
(1, 'cpu')
"""

from __future__ import annotations

from . import amp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import torch


__all__ = ["amp", "current_device", "device_count", "is_available", "set_device", "synchronize"]


def is_available() -> Any:
    """True."""
    return True


def device_count() -> Any:
    """1."""
    return 1


def current_device() -> Any:
    """``"cpu"``."""
    return "cpu"


def set_device(device: torch.device | str | int | None) -> None:
    """Accepted for compatibility: there is one."""


def synchronize(device: torch.device | str | int | None = None) -> None:
    """Does nothing: what runs on the CPU is done when its call returns."""
