# ruff: noqa: F403, F811
"""The collectives under the name of their module of 2017, and as they were called then: ranks come as ``src_rank`` and
``dst_rank``, and who gathers or scatters calls another function than the others."""

from __future__ import annotations

from . import _collectives as _now
from ._collectives import *
from ._reduce import ReduceOp, reduce_op  # noqa: F401
from ._world import get_rank, get_world_size, group, new_group  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


get_num_processes = get_world_size


def all_gather(tensors: Any, tensor: Tensor, group: Any = None) -> Any:
    """The tensors of all ranks, written into the tensors of a list.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> found = [torch.zeros(2)]
    >>> dist.collectives.all_gather(found, torch.ones(2))
    >>> found, dist.collectives.get_num_processes()
    ([tensor([1., 1.])], 1)
    >>> dist.destroy_process_group()
    """
    return _now.all_gather(tensors, tensor, group)


def broadcast(tensor: Tensor, src_rank: Any, group: Any = None) -> Any:
    """The tensor of one rank, written into those of the others.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.collectives.broadcast(x, src_rank=0)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return _now.broadcast(tensor, src_rank, group)


def reduce(tensor: Tensor, dst_rank: Any, op: str = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduction of all ranks' tensors, written into that of one rank.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.collectives.reduce(x, dst_rank=0)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return _now.reduce(tensor, dst_rank, op, group)


def gather_send(tensor: Tensor, dst_rank: Any, group: Any = None) -> Any:
    """Give a tensor to the rank that calls `gather_recv`.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> if dist.get_world_size() > 1:  # rank 0 and rank 1
    ...     _ = dist.collectives.gather_send(torch.ones(2), dst_rank=0)
    >>> dist.destroy_process_group()
    """
    return _now.gather(tensor, None, dst_rank, group)


def gather_recv(tensors: Any, tensor: Tensor, group: Any = None) -> Any:
    """Take the tensors of all ranks into a list.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> found = [torch.zeros(2)]
    >>> dist.collectives.gather_recv(found, torch.ones(2))
    >>> found
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    return _now.gather(tensor, tensors, get_rank(), group)


def scatter_send(tensors: Any, tensor: Tensor, group: Any = None) -> Any:
    """Give each rank one tensor of a list, and take one's own.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.collectives.scatter_send([torch.ones(2)], x)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return _now.scatter(tensor, tensors, get_rank(), group)


def scatter_recv(tensor: Tensor, src_rank: Any, group: Any = None) -> Any:
    """Take a tensor from the rank that calls `scatter_send`.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> if dist.get_world_size() > 1:  # rank 0 and rank 1
    ...     _ = dist.collectives.scatter_recv(torch.ones(2), src_rank=0)
    >>> dist.destroy_process_group()
    """
    return _now.scatter(tensor, None, src_rank, group)


def send(tensor: Tensor, dst_rank: Any) -> Any:
    """Send a tensor, and wait until it has left.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> if dist.get_world_size() > 1:  # rank 0 and rank 1
    ...     _ = dist.collectives.send(torch.ones(2), dst_rank=1)
    >>> dist.destroy_process_group()
    """
    return _now.send(tensor, dst_rank)


def recv(tensor: Tensor, src_rank: Any = None) -> Any:
    """Take a tensor from a rank, or from whichever sends first; gives the rank.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> if dist.get_world_size() > 1:  # rank 0 and rank 1
    ...     _ = dist.collectives.recv(torch.ones(2), src_rank=0)
    >>> dist.destroy_process_group()
    """
    return _now.recv(tensor, src_rank)


def isend(tensor: Tensor, dst_rank: Any) -> Any:
    """Begin to send a tensor; the result tells when it has left.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> if dist.get_world_size() > 1:  # rank 0 and rank 1
    ...     _ = dist.collectives.isend(torch.ones(2), dst_rank=1).wait()
    >>> dist.destroy_process_group()
    """
    return _now.isend(tensor, dst_rank)


def irecv(tensor: Tensor, src_rank: Any) -> Any:
    """Begin to take a tensor from a rank; the result tells when it is there.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> if dist.get_world_size() > 1:  # rank 0 and rank 1
    ...     _ = dist.collectives.irecv(torch.ones(2), src_rank=0).wait()
    >>> dist.destroy_process_group()
    """
    return _now.irecv(tensor, src_rank)
