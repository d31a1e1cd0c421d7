"""Gradients of calls in other processes: not there, as :mod:`torch.distributed.rpc` is not."""

from ._absent import fill
from .rpc import REASON


def is_available() -> bool:
    """False.

    >>> import torch.distributed.autograd
    >>> torch.distributed.autograd.is_available()
    False
    """
    return False


fill(globals(), REASON, ["context", "DistAutogradContext"], ["backward", "get_gradients"])
