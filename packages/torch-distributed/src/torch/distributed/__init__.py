# ruff: noqa: F401, F403
"""Processes that compute together: groups of ranks, collectives of their tensors, and training over them.

>>> import torch, torch.distributed as dist
>>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
>>> x = torch.tensor([1.0, 2.0])
>>> dist.all_reduce(x)
>>> x
tensor([1., 2.])
>>> dist.destroy_process_group()
"""

from datetime import timedelta

from torch import _seams

from .distributed_c10d import *
from .distributed_c10d import (
    _all_gather_base,
    _coalescing_manager,
    _CoalescingManager,
    _get_default_group,
    _make_nccl_premul_sum,
    _rank_not_in_group,
    _reduce_scatter_base,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._data_parallel.module import DistributedDataParallel as DistributedDataParallel
    from .device_mesh import DeviceMesh as DeviceMesh
    from .device_mesh import init_device_mesh as init_device_mesh

_LAZY = {
    "extend_scope": "_old",
    "init_master_worker": "_old",
    "ProcessGroupGloo": "_engines.sockets",
    "DistributedDataParallel": "_data_parallel.module",
    "ProcessGroupMPI": "_engines.mpi",
    "DeviceMesh": "device_mesh",
    "init_device_mesh": "device_mesh",
    "GradBucket": "_data_parallel.buckets",
    "_MixedPrecision": "_data_parallel.precision",
    "Reducer": "_data_parallel.reducer",
    "BuiltinCommHookType": "_data_parallel.module",
    "breakpoint": "_breakpoint",
    **dict.fromkeys(
        [
            "all_gather_multigpu",
            "all_reduce_multigpu",
            "broadcast_multigpu",
            "reduce_multigpu",
            "reduce_scatter_multigpu",
        ],
        "_multigpu",
    ),
}
_MODULES = {
    "_composable", "_composable_state", "_functional_collectives", "_tensor", "algorithms", "autograd", "c10d", "checkpoint", "collectives", "deprecated",
    "device_mesh", "elastic", "fsdp", "launch", "launcher", "nn", "optim", "pipelining", "rpc", "run", "tensor", "utils",
}  # fmt: skip

__getattr__, __dir__ = _seams.later(globals(), _MODULES, _LAZY)
