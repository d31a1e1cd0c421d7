"""Tensors that are spread over a mesh of ranks: their placements have names, the tensors are not there."""

from .._absent import absent_class, fill
from ..device_mesh import DeviceMesh, init_device_mesh
from .placement_types import Partial, Placement, Replicate, Shard

REASON = "tensors are whole on each rank; spread them by hand with torch.distributed.scatter and all_gather"
DTensor = absent_class(__name__, "DTensor", REASON)
fill(
    globals(),
    REASON,
    functions=["distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros"],
)
__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty",
    "full", "init_device_mesh", "ones", "rand", "randn", "zeros",
]  # fmt: skip
