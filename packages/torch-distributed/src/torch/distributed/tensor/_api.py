"""Spreading tensors and modules over a mesh."""

from __future__ import annotations

import torch

from .. import _collectives as collectives
from ..device_mesh import current_mesh
from ._calls import _part
from ._dtensor import DTensor, Piece
from ._layout import Spec, local_layout, settled
from .placement_types import Partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..device_mesh import DeviceMesh
    from .placement_types import Placement

__all__ = ["distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros"]


def distribute_tensor(
    tensor: torch.Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """The first rank's tensor as one that is spread over the mesh; its gradient does not reach ``tensor``.

    With ``src_data_rank=None`` every rank takes its piece of what it has, and nothing is sent.

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.tensor import Shard, distribute_tensor
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> distribute_tensor(torch.ones(4), dist.init_device_mesh("cpu", (1,)), [Shard(0)]).placements
    (Shard(dim=0),)
    >>> dist.destroy_process_group()
    """
    mesh = current_mesh() if device_mesh is None else device_mesh
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(f"distribute_tensor: the tensor is spread over {tensor.device_mesh} already")
        return tensor.redistribute(mesh, placements)
    spec = Spec(mesh, settled(placements, mesh, tensor.dim()), tensor.shape)
    if any(isinstance(p, Partial) for p in spec.placements):
        raise ValueError(f"distribute_tensor: a tensor is cut or replicated, not {spec.placements}")
    whole = tensor.detach()
    if src_data_rank is not None:
        whole = whole.clone(memory_format=torch.contiguous_format)
        for group in reversed(mesh.get_all_groups()):
            collectives.broadcast(whole, group=group, group_src=0)
    piece = _part(whole, spec).clone(memory_format=torch.contiguous_format)
    made = Piece if isinstance(tensor, torch.nn.Parameter) else DTensor
    return made(piece, spec, requires_grad=tensor.requires_grad)


def distribute_module(
    module: torch.nn.Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, torch.nn.Module, DeviceMesh], None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> torch.nn.Module:
    """The module with its parameters and buffers as DTensors: by ``partition_fn(name, module, mesh)``, else replicas.

    ``input_fn(module, inputs, mesh)`` and ``output_fn(module, outputs, mesh)`` go around its forward.
    """
    mesh = current_mesh() if device_mesh is None else device_mesh
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for key, value in [*part._parameters.items()]:
            if value is not None and not isinstance(value, DTensor):
                part.register_parameter(key, distribute_tensor(value, mesh))
        for key, value in [*part._buffers.items()]:
            if value is not None and not isinstance(value, DTensor):
                part._buffers[key] = distribute_tensor(value, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, inputs: input_fn(m, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, inputs, outputs: output_fn(m, outputs, mesh))
    return module


def _make(size, fill, dtype, requires_grad, device_mesh, placements):
    size = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list, torch.Size)) else size
    mesh = current_mesh() if device_mesh is None else device_mesh
    spec = Spec(mesh, settled(placements, mesh, len(size)), torch.Size(size))
    local = torch.empty(local_layout(spec.shape, mesh, spec.placements)[0], dtype=dtype)
    made = DTensor(local, spec)
    with torch.no_grad():
        fill(made)
    return made.requires_grad_(requires_grad)


def _maker(name, fill, what):
    def make(*size, dtype=None, layout=torch.strided, requires_grad=False, device_mesh=None, placements=None):
        return _make(size, fill, dtype, requires_grad, device_mesh, placements)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A spread tensor {what}; a replica unless ``placements`` say otherwise."
    make.__module__ = "torch.distributed.tensor"
    return make


empty = _maker("empty", lambda x: x, "whose values are whatever was in memory")
ones = _maker("ones", lambda x: x.fill_(1), "of ones")
zeros = _maker("zeros", lambda x: x.zero_(), "of zeros")
rand = _maker("rand", lambda x: x.uniform_(), "of numbers from 0 to 1, the same for any placement")
randn = _maker("randn", lambda x: x.normal_(), "of normally distributed numbers, the same for any placement")


def full(size, fill_value, *, dtype=None, layout=torch.strided, requires_grad=False, device_mesh=None, placements=None):
    """A spread tensor of one value; a replica unless ``placements`` say otherwise."""
    if dtype is None:
        dtype = torch.tensor(fill_value).dtype
    return _make((tuple(size),), lambda x: x.fill_(fill_value), dtype, requires_grad, device_mesh, placements)
