"""The operators ``torch.ops.c10d``: what a process group is asked to do, as operators on the tensors, which return them with
the :class:`torch.distributed.Work` under way. The functions of torch.distributed call the group itself.

>>> torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
>>> tensors, work = torch.ops.c10d.broadcast_([torch.ones(2)], torch.distributed.group.WORLD, 0, 0)
>>> work.wait(), tensors
(True, [tensor([1., 1.])])
>>> torch.distributed.destroy_process_group()
"""

from torch.library import Library

from . import _options as options

_library = Library("c10d", "DEF")
GROUP, REDUCTION = "Any process_group", "Any reduce_op"
END = "bool async_op=True, int timeout=-1"


def _told(kind, async_op, timeout, **values):
    """The options of a call; a timeout in milliseconds, -1 for that of the group."""
    if "reduceOp" in values and not isinstance(values["reduceOp"], options.ReduceOp):
        raise TypeError(f"reduce_op must be a torch.distributed.ReduceOp, got {values['reduceOp']!r}")
    return kind(asyncOp=async_op, timeout=None if timeout < 0 else timeout / 1000, **values)


def broadcast_(tensors, group, root_rank, root_tensor, async_op, timeout):
    told = _told(options.BroadcastOptions, async_op, timeout, rootRank=root_rank, rootTensor=root_tensor)
    return tensors, group.broadcast(tensors, told)


def allreduce_(tensors, group, reduce_op, sparse_indices, async_op, timeout):
    if sparse_indices is not None:
        raise NotImplementedError(
            "c10d::allreduce_: places of sparse tensors are not taken apart; leave sparse_indices away"
        )
    return tensors, group.allreduce(tensors, _told(options.AllreduceOptions, async_op, timeout, reduceOp=reduce_op))


def reduce_(tensors, group, reduce_op, root_rank, root_tensor, async_op, timeout):
    told = _told(
        options.ReduceOptions, async_op, timeout, reduceOp=reduce_op, rootRank=root_rank, rootTensor=root_tensor
    )
    return group.reduce(tensors, told)


def allgather_(output_tensors, input_tensors, group, async_op, timeout):
    return output_tensors, group.allgather(
        output_tensors, input_tensors, _told(options.AllgatherOptions, async_op, timeout)
    )


def _allgather_base_(output_tensor, input_tensor, group, async_op, timeout):
    return output_tensor, group._allgather_base(
        output_tensor, input_tensor, _told(options.AllgatherOptions, async_op, timeout)
    )


def _reduce_scatter_base_(output_tensor, input_tensor, group, reduce_op, async_op, timeout):
    told = _told(options.ReduceScatterOptions, async_op, timeout, reduceOp=reduce_op)
    return output_tensor, group._reduce_scatter_base(output_tensor, input_tensor, told)


def gather_(output_tensors, input_tensors, group, root_rank, async_op, timeout):
    told = _told(options.GatherOptions, async_op, timeout, rootRank=root_rank)
    return group.gather(output_tensors, input_tensors, told)


def scatter_(output_tensors, input_tensors, group, root_rank, async_op, timeout):
    told = _told(options.ScatterOptions, async_op, timeout, rootRank=root_rank)
    return output_tensors, group.scatter(output_tensors, input_tensors, told)


def reduce_scatter_(output_tensors, input_tensors, group, reduce_op, async_op, timeout):
    told = _told(options.ReduceScatterOptions, async_op, timeout, reduceOp=reduce_op)
    return output_tensors, group.reduce_scatter(output_tensors, input_tensors, told)


def alltoall_base_(output, input, group, output_split_sizes, input_split_sizes, async_op, timeout):
    told = _told(options.AllToAllOptions, async_op, timeout)
    return group.alltoall_base(output, input, output_split_sizes, input_split_sizes, told)


def alltoall_(output_tensors, input_tensors, group, async_op, timeout):
    told = _told(options.AllToAllOptions, async_op, timeout)
    return output_tensors, group.alltoall(output_tensors, input_tensors, told)


def send(tensors, group, dst, tag):
    return group.send(tensors, dst, tag)


def recv_(tensors, group, src, tag):
    return group.recv(tensors, src, tag)


def recv_any_source_(tensors, group, tag):
    return group.recv_anysource(tensors, tag)


for _function, _arguments, _result in (
    (broadcast_, f"Tensor[] tensors, {GROUP}, int root_rank, int root_tensor, {END}", "(Tensor[], Any)"),
    (allreduce_, f"Tensor[] tensors, {GROUP}, {REDUCTION}, Tensor? sparse_indices, {END}", "(Tensor[], Any)"),
    (reduce_, f"Tensor[] tensors, {GROUP}, {REDUCTION}, int root_rank, int root_tensor, {END}", "Any"),
    (allgather_, f"Tensor[][] output_tensors, Tensor[] input_tensors, {GROUP}, {END}", "(Tensor[][], Any)"),
    (_allgather_base_, f"Tensor output_tensor, Tensor input_tensor, {GROUP}, {END}", "(Tensor, Any)"),
    (_reduce_scatter_base_, f"Tensor output_tensor, Tensor input_tensor, {GROUP}, {REDUCTION}, {END}", "(Tensor, Any)"),
    (gather_, f"Tensor[][] output_tensors, Tensor[] input_tensors, {GROUP}, int root_rank, {END}", "Any"),
    (scatter_, f"Tensor[] output_tensors, Tensor[][] input_tensors, {GROUP}, int root_rank, {END}", "(Tensor[], Any)"),
    (reduce_scatter_, f"Tensor[] output_tensors, Tensor[][] input_tensors, {GROUP}, {REDUCTION}, {END}", "(Tensor[], Any)"),
    (alltoall_base_, f"Tensor output, Tensor input, {GROUP}, int[] output_split_sizes, int[] input_split_sizes, {END}", "Any"),
    (alltoall_, f"Tensor[] output_tensors, Tensor[] input_tensors, {GROUP}, {END}", "(Tensor[], Any)"),
    (send, f"Tensor[] tensors, {GROUP}, int dst, int tag", "Any"),
    (recv_, f"Tensor[] tensors, {GROUP}, int src, int tag", "Any"),
    (recv_any_source_, f"Tensor[] tensors, {GROUP}, int tag", "Any"),
):  # fmt: skip
    _library.define(f"{_function.__name__}({_arguments}) -> {_result}")
    _library.impl(_function.__name__, _function, "CompositeExplicitAutograd")
