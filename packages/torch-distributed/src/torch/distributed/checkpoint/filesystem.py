"""Where libraries look for names of :mod:`torch.distributed.checkpoint`."""

from . import FileSystemReader, FileSystemWriter

__all__ = ["FileSystemReader", "FileSystemWriter"]
