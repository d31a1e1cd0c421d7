"""The older name of :mod:`torch.distributed.tensor.experimental`: not there."""

from ..tensor.experimental import implicit_replication

__all__ = ["implicit_replication"]
