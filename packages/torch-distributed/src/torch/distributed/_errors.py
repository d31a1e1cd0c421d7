"""What goes wrong between processes, as the classes that users catch."""

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(RuntimeError):
    """Something in torch.distributed went wrong."""


class DistBackendError(DistError):
    """A collective could not be completed: a rank died, hung or asked for something else."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A store did not have what was asked of it in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store has nothing to pop."""


class MisfitError(ValueError, RuntimeError):
    """Tensors, sizes or ranks do not fit a group: of PyTorch's backends some raise ValueError here, some RuntimeError."""


for _class in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _class.__module__ = "torch.distributed"
