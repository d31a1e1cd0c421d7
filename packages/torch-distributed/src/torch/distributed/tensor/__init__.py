"""Tensors that are spread over a mesh of ranks.

``distribute_tensor`` cuts one, ``DTensor.from_local`` takes every rank's piece as part of one, and ``full_tensor`` puts
it together.
"""

from ..device_mesh import DeviceMesh, init_device_mesh
from ._api import distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from ._dtensor import DTensor
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty",
    "full", "init_device_mesh", "ones", "rand", "randn", "zeros",
]  # fmt: skip
