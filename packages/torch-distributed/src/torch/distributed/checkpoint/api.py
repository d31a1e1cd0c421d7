"""Where libraries look for the error of :mod:`torch.distributed.checkpoint`."""

from ._together import CheckpointException

__all__ = ["CheckpointException"]
