"""Stores: small dictionaries that all processes of a job share, over TCP, a file or the memory of one process."""

from .base import Store
from .file import FileStore
from .memory import HashStore
from .prefix import PrefixStore
from .tcp import TCPStore

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]
