"""The CPU, spoken to as any device is: what programs ask that run on each.

>>> torch.cpu.device_count(), torch.cpu.current_device()
(1, 'cpu')
"""

__all__ = ["current_device", "device_count", "is_available", "set_device", "synchronize"]


def is_available():
    """True."""
    return True


def device_count():
    """1."""
    return 1


def current_device():
    """``"cpu"``."""
    return "cpu"


def set_device(device):
    """Accepted for compatibility: there is one."""


def synchronize(device=None):
    """Does nothing: what runs on the CPU is done when its call returns."""
