"""Where libraries look for names of :mod:`torch.distributed.checkpoint`."""

from . import Metadata

__all__ = ["Metadata"]
