"""The mesh under the name by which :mod:`torch.distributed.tensor` has it."""

from ..device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
