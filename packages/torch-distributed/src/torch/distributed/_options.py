"""What a collective is told beside its tensors, in the form in which process groups take it."""

from ._reduce import ReduceOp

__all__ = [
    "AllToAllOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "AllgatherOptions", "BarrierOptions",
    "BroadcastOptions", "GatherOptions", "ReduceOptions", "ReduceScatterOptions", "ScatterOptions",
]  # fmt: skip


class _Options:
    __module__ = "torch.distributed"
    reduceOp = ReduceOp.SUM
    rootRank = 0
    rootTensor = 0
    timeout = None  # seconds or a timedelta; None: the group's
    asyncOp = True
    wait_all_ranks = False
    device_ids = ()

    def __init__(self, **values):
        for name, value in values.items():
            if not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} has no option {name!r}")
            setattr(self, name, value)


class AllreduceOptions(_Options):
    """Options of ``ProcessGroup.allreduce``: reduceOp, timeout, asyncOp.

    >>> torch.distributed.c10d.AllreduceOptions().reduceOp == torch.distributed.ReduceOp.SUM
    True
    """


class AllreduceCoalescedOptions(AllreduceOptions):
    """Options of ``ProcessGroup.allreduce_coalesced``."""


class AllgatherOptions(_Options):
    """Options of ``ProcessGroup.allgather``."""


class BroadcastOptions(_Options):
    """Options of ``ProcessGroup.broadcast``: rootRank, timeout, asyncOp.

    >>> torch.distributed.c10d.BroadcastOptions().rootRank
    0
    """


class ReduceOptions(_Options):
    """Options of ``ProcessGroup.reduce``: reduceOp, rootRank, timeout, asyncOp."""


class GatherOptions(_Options):
    """Options of ``ProcessGroup.gather``: rootRank, timeout, asyncOp."""


class ScatterOptions(_Options):
    """Options of ``ProcessGroup.scatter``: rootRank, timeout, asyncOp."""


class ReduceScatterOptions(_Options):
    """Options of ``ProcessGroup.reduce_scatter``: reduceOp, timeout, asyncOp."""


class AllToAllOptions(_Options):
    """Options of ``ProcessGroup.alltoall``: timeout, asyncOp."""


class BarrierOptions(_Options):
    """Options of ``ProcessGroup.barrier``: timeout, asyncOp."""
