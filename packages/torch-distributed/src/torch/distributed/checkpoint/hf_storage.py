"""Where libraries look for names of :mod:`torch.distributed.checkpoint`."""

from . import HuggingFaceStorageReader, HuggingFaceStorageWriter

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]
