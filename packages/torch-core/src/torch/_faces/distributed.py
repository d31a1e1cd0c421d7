"""What ``torch.distributed`` answers while its distribution is absent: that it is not available.

Libraries import this module in order to ask, and go on with one process.
"""

from torch import _parts


def is_available():
    """Whether processes can talk to each other through this module.

    >>> is_available()
    False
    """
    return False


def is_initialized():
    """Whether the default process group has been set up."""
    return False


def is_gloo_available():
    """Whether collectives can run over Gloo."""
    return False


def is_mpi_available():
    """Whether collectives can run over MPI."""
    return False


def is_nccl_available():
    """Whether collectives can run over NCCL."""
    return False


def is_ucc_available():
    """Whether collectives can run over UCC."""
    return False


def is_xccl_available():
    """Whether collectives can run over XCCL."""
    return False


def is_torchelastic_launched():
    """Whether this process was started by ``torchrun``."""
    return False


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.distributed' has no attribute {name!r}")
    raise AttributeError(f"torch.distributed.{name}: {_parts.missing('distributed')}")
