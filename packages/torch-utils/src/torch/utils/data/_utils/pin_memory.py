"""`pin_memory_batch` under its name in PyTorch."""

from ..collate import pin_memory_batch as pin_memory

__all__ = ["pin_memory"]
