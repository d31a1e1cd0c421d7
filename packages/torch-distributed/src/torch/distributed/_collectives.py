"""The functions that move tensors between the ranks of a group.

Those with ``async_op`` return a Work with it and None without, which annotations do not tell apart: Any.
"""

from __future__ import annotations

import warnings

import torch

from . import _options
from . import _world as world
from ._reduce import ReduceOp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from typing import Any

    from ._process_group import ProcessGroup
    from ._work import Work

__all__ = [
    "P2POp", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "gather",
    "irecv", "isend", "monitored_barrier", "recv", "reduce", "reduce_scatter", "reduce_scatter_single",
    "reduce_scatter_tensor", "scatter", "send", "supports_complex",
]  # fmt: skip


def _group(what, group):
    """The group, or None (with a warning) on a rank that is not in it."""
    if not world.is_member(group):
        world.warn_not_member(what)
        return None
    return world.resolve(group)


def _tensor(what, name, value):
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{what}: {name} must be a torch.Tensor, got {type(value).__name__}")


def _tensors(what, name, values):
    if not isinstance(values, (list, tuple)) or not all(isinstance(one, torch.Tensor) for one in values):
        raise TypeError(f"{what}: {name} must be a list of torch.Tensor, got {type(values).__name__}")


def _place(what, name, group, rank, group_rank, needed=True):
    """The place in the group of a global rank, or of a rank of the group; exactly one of them is given."""
    if rank is not None and group_rank is not None:
        raise ValueError(f"{what}: Can't specify both {name} and group_{name}")
    if group_rank is not None:
        return group_rank
    if rank is None:
        if needed:
            raise ValueError(f"{what}: Must specify {name} or group_{name}")
        return None
    return world.get_group_rank(group, rank)


def _finish(work, async_op):
    if async_op:
        return work
    if work is not None:
        work.wait()
    return None


def all_reduce(
    tensor: torch.Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Reduce the tensors of all ranks, in place; every rank gets the same bits.

    All ranks must bring the same shape and dtype; tensors in coordinates (sparse) are summed or averaged, whatever places
    each rank has.  Returns a Work with ``async_op``, else None; RuntimeError when a rank dies, brings something else or
    does not come in time.

    >>> import torch, torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.all_reduce(x, dist.ReduceOp.SUM)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _tensor("all_reduce", "tensor", tensor)
    if (pg := _group("all_reduce", group)) is None:
        return None
    return _finish(pg.allreduce([tensor], _options.AllreduceOptions(reduceOp=op, asyncOp=async_op)), async_op)


def all_reduce_coalesced(
    tensors: list[torch.Tensor], op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Reduce several tensors of one dtype at once, in place."""
    _tensors("all_reduce_coalesced", "tensors", tensors)
    if (pg := _group("all_reduce_coalesced", group)) is None:
        return None
    options = _options.AllreduceCoalescedOptions(reduceOp=op, asyncOp=async_op)
    work = pg.allreduce_coalesced(list(tensors), options)
    return work.get_future() if async_op else _finish(work, False)


def reduce(
    tensor: torch.Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Reduce the tensors of all ranks into that of ``dst``; the others keep theirs.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.reduce(x, dst=0)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _tensor("reduce", "tensor", tensor)
    if (pg := _group("reduce", group)) is None:
        return None
    place = _place("reduce", "dst", pg, dst, group_dst)
    options = _options.ReduceOptions(reduceOp=op, rootRank=place, asyncOp=async_op)
    return _finish(pg.reduce([tensor], options), async_op)


def broadcast(
    tensor: torch.Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Any:
    """Fill every rank's tensor with that of ``src``.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.broadcast(x, src=0)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _tensor("broadcast", "tensor", tensor)
    if (pg := _group("broadcast", group)) is None:
        return None
    place = _place("broadcast", "src", pg, src, group_src)
    return _finish(pg.broadcast([tensor], _options.BroadcastOptions(rootRank=place, asyncOp=async_op)), async_op)


def all_gather(
    tensor_list: list[torch.Tensor], tensor: torch.Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Fill every rank's ``tensor_list`` with the tensors of all ranks, which may differ in length.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> gathered = [torch.zeros(2)]
    >>> dist.all_gather(gathered, torch.ones(2))
    >>> gathered
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    _tensors("all_gather", "tensor_list", tensor_list)
    _tensor("all_gather", "tensor", tensor)
    if (pg := _group("all_gather", group)) is None:
        return None
    return _finish(pg.allgather([tensor_list], [tensor], _options.AllgatherOptions(asyncOp=async_op)), async_op)


def all_gather_into_tensor(
    output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Fill ``output_tensor`` with the inputs of all ranks, one behind the other along dim 0."""
    _tensor("all_gather_into_tensor", "output_tensor", output_tensor)
    _tensor("all_gather_into_tensor", "input_tensor", input_tensor)
    if (pg := _group("all_gather_into_tensor", group)) is None:
        return None
    return _finish(
        pg._allgather_base(output_tensor, input_tensor, _options.AllgatherOptions(asyncOp=async_op)), async_op
    )


all_gather_single = all_gather_into_tensor


def all_gather_coalesced(
    output_tensor_lists: list[list[torch.Tensor]],
    input_tensor_list: list[torch.Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """:func:`all_gather` of several tensors: ``output_tensor_lists[r][i]`` is tensor i of rank r."""
    _tensors("all_gather_coalesced", "input_tensor_list", input_tensor_list)
    if (pg := _group("all_gather_coalesced", group)) is None:
        return None
    works = []
    for i, tensor in enumerate(input_tensor_list):
        outputs = [outputs[i] for outputs in output_tensor_lists]
        works.append(pg.allgather([outputs], [tensor], _options.AllgatherOptions(asyncOp=True)))
    if async_op:
        return torch.futures.collect_all([work.get_future() for work in works])
    for work in works:
        work.wait()
    return None


def gather(
    tensor: torch.Tensor,
    gather_list: list[torch.Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Fill the ``gather_list`` of rank ``dst`` (0 unless given) with the tensors of all ranks.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> gathered = [torch.zeros(2)]
    >>> dist.gather(torch.ones(2), gathered)
    >>> gathered
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    _tensor("gather", "tensor", tensor)
    if (pg := _group("gather", group)) is None:
        return None
    place = _place("gather", "dst", pg, 0 if dst is None and group_dst is None else dst, group_dst)
    if pg.rank() == place:
        if not gather_list:
            raise ValueError("gather: Argument ``gather_list`` must be specified on destination rank.")
        _tensors("gather", "gather_list", gather_list)
    elif gather_list:
        raise ValueError("gather: Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    outputs = [gather_list] if pg.rank() == place else [[]]
    return _finish(pg.gather(outputs, [tensor], _options.GatherOptions(rootRank=place, asyncOp=async_op)), async_op)


def scatter(
    tensor: torch.Tensor,
    scatter_list: list[torch.Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Any:
    """Fill every rank's tensor with the one at its place in the ``scatter_list`` of rank ``src`` (0 unless given).

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.zeros(2)
    >>> dist.scatter(x, [torch.ones(2)])
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _tensor("scatter", "tensor", tensor)
    if (pg := _group("scatter", group)) is None:
        return None
    place = _place("scatter", "src", pg, 0 if src is None and group_src is None else src, group_src)
    if pg.rank() == place:
        if not scatter_list:
            raise ValueError("scatter: Argument ``scatter_list`` must be specified on source rank.")
        _tensors("scatter", "scatter_list", scatter_list)
    elif scatter_list:
        raise ValueError("scatter: Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    inputs = [scatter_list] if pg.rank() == place else [[]]
    return _finish(pg.scatter([tensor], inputs, _options.ScatterOptions(rootRank=place, asyncOp=async_op)), async_op)


def reduce_scatter(
    output: torch.Tensor,
    input_list: list[torch.Tensor],
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Reduce the lists of all ranks; each rank's output is the reduction of the tensors at its place."""
    _tensor("reduce_scatter", "output", output)
    _tensors("reduce_scatter", "input_list", input_list)
    if (pg := _group("reduce_scatter", group)) is None:
        return None
    options = _options.ReduceScatterOptions(reduceOp=op, asyncOp=async_op)
    return _finish(pg.reduce_scatter([output], [input_list], options), async_op)


def reduce_scatter_tensor(
    output: torch.Tensor,
    input: torch.Tensor,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Reduce the inputs of all ranks, cut along dim 0; each rank's output is the piece at its place."""
    _tensor("reduce_scatter_tensor", "output", output)
    _tensor("reduce_scatter_tensor", "input", input)
    if (pg := _group("reduce_scatter_tensor", group)) is None:
        return None
    options = _options.ReduceScatterOptions(reduceOp=op, asyncOp=async_op)
    return _finish(pg._reduce_scatter_base(output, input, options), async_op)


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(
    output_tensor_list: list[torch.Tensor],
    input_tensor_list: list[torch.Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Send ``input_tensor_list[r]`` to each rank r, and receive ``output_tensor_list[r]`` from there."""
    _tensors("all_to_all", "output_tensor_list", output_tensor_list)
    _tensors("all_to_all", "input_tensor_list", input_tensor_list)
    if (pg := _group("all_to_all", group)) is None:
        return None
    options = _options.AllToAllOptions(asyncOp=async_op)
    return _finish(pg.alltoall(output_tensor_list, input_tensor_list, options), async_op)


def all_to_all_single(
    output: torch.Tensor,
    input: torch.Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Cut ``input`` along dim 0, equally or by sizes, send piece r to rank r, and put what comes into ``output``."""
    _tensor("all_to_all_single", "output", output)
    _tensor("all_to_all_single", "input", input)
    if (pg := _group("all_to_all_single", group)) is None:
        return None
    options = _options.AllToAllOptions(asyncOp=async_op)
    sizes = [list(one) if one else [] for one in (output_split_sizes, input_split_sizes)]
    return _finish(pg.alltoall_base(output, input, *sizes, options), async_op)


def barrier(
    group: ProcessGroup | None = None,
    async_op: bool = False,
    device_ids: list[int] | None = None,
    timeout: timedelta | float | None = None,
) -> Any:
    """Wait until all ranks of the group have come here.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.barrier() is None
    True
    >>> dist.destroy_process_group()
    """
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError(f"Invalid function argument: device_ids type should be List[int], got {device_ids!r}")
    if (pg := _group("barrier", group)) is None:
        return None
    return _finish(pg.barrier(_options.BarrierOptions(timeout=timeout, asyncOp=async_op)), async_op)


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
) -> None:
    """A barrier that, when it fails within ``timeout``, names the ranks that have not come."""
    if (pg := _group("monitored_barrier", group)) is None:
        return
    pg.monitored_barrier(timeout, wait_all_ranks)


# ---- between two ranks


def isend(
    tensor: torch.Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send a tensor; leave it alone until the Work that is returned is done.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> if dist.get_world_size() > 1 and dist.get_rank() == 0:  # rank 0 sends what rank 1 receives
    ...     _ = dist.isend(torch.ones(2), dst=1)
    >>> dist.destroy_process_group()
    """
    _tensor("isend", "tensor", tensor)
    if (pg := _group("isend", group)) is None:
        return None
    return pg.send([tensor], _not_us("send", pg, _place("isend", "dst", pg, dst, group_dst)), tag)


def irecv(
    tensor: torch.Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive into a tensor, from any rank unless ``src`` is given.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> if dist.get_world_size() > 1 and dist.get_rank() == 1:  # rank 0 sends what rank 1 receives
    ...     _ = dist.irecv(torch.ones(2), src=0)
    >>> dist.destroy_process_group()
    """
    _tensor("irecv", "tensor", tensor)
    if (pg := _group("irecv", group)) is None:
        return None
    place = _place("irecv", "src", pg, src, group_src, needed=False)
    return pg.recv_anysource([tensor], tag) if place is None else pg.recv([tensor], _not_us("receive", pg, place), tag)


def send(
    tensor: torch.Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to rank ``dst``, which receives it under the same tag; returns when it may be changed again.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> if dist.get_world_size() > 1 and dist.get_rank() == 0:  # rank 0 sends what rank 1 receives
    ...     _ = dist.send(torch.ones(2), dst=1)
    >>> dist.destroy_process_group()
    """
    _tensor("send", "tensor", tensor)
    if (pg := _group("send", group)) is not None:
        pg.send_now([tensor], _not_us("send", pg, _place("send", "dst", pg, dst, group_dst)), tag)


def recv(
    tensor: torch.Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive into a tensor, of the shape and dtype that was sent; returns the sender's rank, -1 outside the group.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> if dist.get_world_size() > 1 and dist.get_rank() == 1:  # rank 0 sends what rank 1 receives
    ...     _ = dist.recv(torch.ones(2), src=0)
    >>> dist.destroy_process_group()
    """
    _tensor("recv", "tensor", tensor)
    if (pg := _group("recv", group)) is None:
        return -1
    place = _place("recv", "src", pg, src, group_src, needed=False)
    found = pg.recv_now([tensor], None if place is None else _not_us("receive", pg, place), tag)
    return world.get_global_rank(pg, found)


def _not_us(what, pg, place):
    if place == pg.rank():
        raise ValueError(
            f"Invalid {'destination' if what == 'send' else 'source'} rank: a rank cannot {what} to itself"
        )
    return place


class P2POp:
    """One of the operations of :func:`batch_isend_irecv`: ``P2POp(dist.isend, tensor, peer)``."""

    __module__ = "torch.distributed"

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: torch.Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or irecv.")
        _tensor("P2POp", "tensor", tensor)
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        self.group_peer = _place("P2POp", "peer", world.resolve(group), peer, group_peer)
        self.peer = world.get_global_rank(group, self.group_peer)

    def __repr__(self):
        return f"P2POp({self.op.__name__}, peer={self.peer}, shape={tuple(self.tensor.shape)}, tag={self.tag})"


def batch_isend_irecv(p2p_op_list) -> list:
    """Begin several sends and receives; returns their Works."""
    if not isinstance(p2p_op_list, list) or not p2p_op_list or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if len({id(world.resolve(one.group)) for one in p2p_op_list}) > 1:
        raise ValueError("All ops need to use the same group.")
    works = []
    # Receives first: what comes then has its place.
    for one in sorted(p2p_op_list, key=lambda p: p.op is isend):
        key = "group_dst" if one.op is isend else "group_src"
        works.append(
            (p2p_op_list.index(one), one.op(one.tensor, group=one.group, tag=one.tag, **{key: one.group_peer}))
        )
    return [work for _, work in sorted(works, key=lambda pair: pair[0])]


def supports_complex(reduceOp) -> bool:
    """Whether complex tensors can be reduced so.

    >>> import torch.distributed as dist
    >>> dist.supports_complex(dist.ReduceOp.SUM), dist.supports_complex(dist.ReduceOp.MAX)
    (True, False)
    """
    return reduceOp.name not in ("MIN", "MAX", "BAND", "BOR", "BXOR")


def _deprecated(old, new):
    def function(*args, **kwargs):
        warnings.warn(f"torch.distributed.{old} is now called {new.__name__}", FutureWarning, stacklevel=2)
        return new(*args, **kwargs)

    return function


_all_gather_base = _deprecated("_all_gather_base", all_gather_into_tensor)
_reduce_scatter_base = _deprecated("_reduce_scatter_base", reduce_scatter_tensor)
