"""Tensors that are spread over a mesh of ranks.

``distribute_tensor`` cuts one, ``DTensor.from_local`` takes every rank's piece as part of one, and ``full_tensor`` puts
it together.
"""

from torch.serialize import add_safe_globals

from .. import device_mesh
from ..device_mesh import DeviceMesh, init_device_mesh
from ._api import distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from ._dtensor import DTensor, Piece, again
from ._layout import Spec
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty",
    "full", "init_device_mesh", "ones", "rand", "randn", "zeros",
]  # fmt: skip

# What a file with DTensors names: torch.load takes them as data.
add_safe_globals([DTensor, Piece, Spec, again, device_mesh._again, Shard, Replicate, Partial])
