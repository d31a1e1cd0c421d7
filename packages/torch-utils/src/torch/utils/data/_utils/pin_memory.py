"""`pin_memory_batch` under its name in PyTorch."""

from ..collate import pin_memory_batch as pin_memory

__all__ = ["pin_memory"]


def _pin_memory_loop(*args, **kwargs):
    """RuntimeError: there is no device to pin memory for."""
    raise RuntimeError("pin_memory: pinned memory needs the distribution 'torch-core-cuda', which is not installed")
