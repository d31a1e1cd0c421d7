"""What a process group is asked to do, whatever carries the bytes."""

from ._stores.base import to_seconds

DEFAULT = 1800.0  # seconds


class ProcessGroup:
    """Ranks that communicate with each other; a backend is a subclass that defines the collectives it has.

    Each method takes lists of tensors and options and returns a :class:`torch.distributed.Work`.  Ranks are places in
    the group, from 0 to ``size() - 1``.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> isinstance(dist.group.WORLD, dist.ProcessGroup), dist.group.WORLD.size()
    (True, 1)
    >>> dist.destroy_process_group()
    """

    __module__ = "torch.distributed"

    def __init__(self, rank: int, size: int):
        self._rank, self._size = rank, size
        self._timeout = DEFAULT
        self._name = self._description = ""
        self.bound_device_id = None

    def rank(self) -> int:
        """Our place in the group.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.group.WORLD.rank()
        0
        >>> dist.destroy_process_group()
        """
        return self._rank

    def size(self) -> int:
        """How many ranks the group has.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.group.WORLD.size()
        1
        >>> dist.destroy_process_group()
        """
        return self._size

    def name(self) -> str:
        """The name of the backend."""
        return type(self).__name__

    def getBackendName(self) -> str:
        """The name of the backend."""
        return self.name()

    def engine(self) -> str:
        """What carries the bytes, in words."""
        return f"{type(self).__module__}.{type(self).__qualname__}"

    @property
    def group_name(self) -> str:
        """The name of the group, equal on all ranks."""
        return self._name

    @property
    def group_desc(self) -> str:
        """What its maker said that it is for."""
        return self._description

    def set_timeout(self, timeout) -> None:
        """Give every later operation so much time."""
        self._timeout = to_seconds(timeout)

    def shutdown(self) -> None:
        """Let go of what the group holds."""

    def leave(self, reason: str) -> None:
        """The process ends."""
        self.shutdown()

    def abort(self) -> None:
        """End the operations under way with an error."""
        self.shutdown()

    def get_group_store(self):
        """The part of the store that belongs to this group."""
        return self._store

    def _absent(self, what):
        raise NotImplementedError(f"backend {self.name()!r} has no {what}")

    def broadcast(self, tensors, opts=None):
        """Fill every rank's tensor with that of ``opts.rootRank``.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> x = torch.ones(2)
        >>> _ = dist.group.WORLD.broadcast([x]).wait()
        >>> x
        tensor([1., 1.])
        >>> dist.destroy_process_group()
        """
        return self._absent("broadcast")

    def allreduce(self, tensors, opts=None):
        """Reduce the tensors of all ranks, in place.

        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> x = torch.ones(2)
        >>> _ = dist.group.WORLD.allreduce([x]).wait()
        >>> x
        tensor([1., 1.])
        >>> dist.destroy_process_group()
        """
        return self._absent("all_reduce")

    def allreduce_coalesced(self, tensors, opts=None):
        """Reduce several tensors at once."""
        return self._absent("all_reduce_coalesced")

    def reduce(self, tensors, opts=None):
        """Reduce the tensors of all ranks into that of ``opts.rootRank``."""
        return self._absent("reduce")

    def allgather(self, output_lists, tensors, opts=None):
        """Fill each rank's list with the tensors of all ranks."""
        return self._absent("all_gather")

    def _allgather_base(self, output, input, opts=None):
        return self._absent("all_gather_into_tensor")

    def gather(self, output_lists, tensors, opts=None):
        """Fill the list of ``opts.rootRank`` with the tensors of all ranks."""
        return self._absent("gather")

    def scatter(self, tensors, input_lists, opts=None):
        """Give each rank one tensor of the list of ``opts.rootRank``."""
        return self._absent("scatter")

    def reduce_scatter(self, outputs, input_lists, opts=None):
        """Reduce lists of tensors; each rank receives the one at its place."""
        return self._absent("reduce_scatter")

    def _reduce_scatter_base(self, output, input, opts=None):
        return self._absent("reduce_scatter_tensor")

    def alltoall(self, outputs, inputs, opts=None):
        """Send one tensor to each rank and receive one from each."""
        return self._absent("all_to_all")

    def alltoall_base(self, output, input, output_split_sizes, input_split_sizes, opts=None):
        """Send one piece of ``input`` to each rank and receive one of ``output`` from each."""
        return self._absent("all_to_all_single")

    def barrier(self, opts=None):
        """Wait until all ranks have come here."""
        return self._absent("barrier")

    def monitored_barrier(self, timeout=None, wait_all_ranks: bool = False):
        """A barrier that names the ranks that have not come."""
        return self._absent("monitored_barrier")

    def send(self, tensors, dst: int, tag: int = 0):
        """Send a tensor to a rank."""
        return self._absent("send")

    def recv(self, tensors, src: int, tag: int = 0):
        """Receive a tensor from a rank."""
        return self._absent("recv")

    def recv_anysource(self, tensors, tag: int = 0):
        """Receive a tensor from whichever rank sends first."""
        return self._absent("recv from any rank")

    def send_now(self, tensors, dst: int, tag: int = 0):
        """Send a tensor and wait until it has gone."""
        self.send(tensors, dst, tag).wait()

    def recv_now(self, tensors, src, tag: int = 0) -> int:
        """Receive a tensor, of any rank with ``src`` None, and say whose it is."""
        if src is not None:
            self.recv(tensors, src, tag).wait()
            return src
        work = self.recv_anysource(tensors, tag)
        work.wait()
        return work.source_rank()

    def _seconds(self, opts):
        return self._timeout if opts.timeout is None else to_seconds(opts.timeout)


def options(opts, kind):
    return kind() if opts is None else opts


def one(what, tensors):
    """The only tensor of a list: several would be of several devices, of which there is one."""
    tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    if len(tensors) != 1:
        raise ValueError(f"{what}: expected one tensor per rank, got {len(tensors)}")
    return tensors[0]
