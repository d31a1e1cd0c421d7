"""``DTensor``: a tensor whose pieces lie on the ranks of a mesh."""

from __future__ import annotations

import torch

from ._layout import Spec, local_layout, settled
from ._redistribute import redistribute
from .placement_types import Replicate, Shard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..device_mesh import DeviceMesh
    from .placement_types import Placement

__all__ = ["DTensor", "Piece"]

_plain = torch._C.DisableTorchFunctionSubclass
_grad = torch.Tensor.grad
_data = torch.Tensor.data


class DTensor(torch.Tensor):
    """A tensor spread over a :class:`DeviceMesh`: every rank holds a piece of it, and calls what is done with it.

    Element-wise operators, products, reductions, views, layers and losses work on the pieces, and move only what
    has to be whole; their results lie as is nearest.  Other operators put the whole together first, on every rank:
    right wherever the tensor lies, but no faster.  :mod:`torch.distributed.tensor.debug` tells of them.

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.tensor import Shard, distribute_tensor
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = distribute_tensor(torch.arange(6.0).view(3, 2), dist.init_device_mesh("cpu", (1,)), [Shard(0)])
    >>> x.shape, (x * 2).to_local().shape, x.sum().full_tensor()
    (torch.Size([3, 2]), torch.Size([3, 2]), tensor(15.))
    >>> dist.destroy_process_group()
    """

    __module__ = "torch.distributed.tensor"

    def __new__(cls, local_tensor, spec, *, requires_grad=False):
        made = torch.Tensor._make_subclass(cls, local_tensor.detach(), requires_grad)
        made._spec = spec
        return made

    # ---- making and leaving

    @staticmethod
    def from_local(
        local_tensor: torch.Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        **_: Any,
    ) -> DTensor:
        """The tensor of which every rank brings its piece; pieces of one size, unless ``shape`` says that of the whole.

        Gradients flow to the piece.  With ``run_check`` replicas are those of the first rank.
        """
        if device_mesh is None:
            from ..device_mesh import current_mesh

            device_mesh = current_mesh()
        placements = settled(placements, device_mesh, local_tensor.dim())
        if shape is None:
            shape = list(local_tensor.shape)
            for parts, placement in zip(device_mesh.shape, placements, strict=True):
                if isinstance(placement, Shard):
                    shape[placement.dim] *= parts
        spec = Spec(device_mesh, placements, torch.Size(shape))
        expected, _ = local_layout(spec.shape, device_mesh, placements)
        if tuple(local_tensor.shape) != expected:
            raise ValueError(
                f"DTensor.from_local: of {tuple(shape)}, {_said(placements)}, this rank holds {expected}, got "
                f"{tuple(local_tensor.shape)}"
            )
        if run_check:
            from .. import _collectives as collectives

            for group, placement in zip(device_mesh.get_all_groups(), placements, strict=True):
                if isinstance(placement, Replicate):
                    collectives.broadcast(local_tensor.detach(), group=group, group_src=0)
        return wrap(local_tensor, spec)

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> torch.Tensor:
        """Our piece, which shares memory and history with the tensor."""
        with _plain():
            return self.as_subclass(torch.Tensor)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> torch.Tensor:
        """The whole, on every rank; all ranks of the mesh must call it."""
        return self.redistribute(placements=self._spec.replicated.placements).to_local()

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: torch.dtype | None = None,
        backward_dtype: torch.dtype | None = None,
    ) -> DTensor:
        """The same tensor under other placements, or on another mesh of the same ranks; all ranks must call it."""
        if device_mesh is not None and device_mesh != self._spec.mesh:
            return self._on_mesh(device_mesh, placements)
        wanted = settled(placements, self._spec.mesh, len(self._spec.shape))
        if wanted == self._spec.placements:
            return self
        with _plain():
            return wrap(redistribute(self.to_local(), self._spec, wanted), self._spec.with_placements(wanted))

    def _on_mesh(self, mesh, placements):
        """By way of the whole, of which every rank then cuts its new piece."""
        wanted = settled(placements, mesh, len(self._spec.shape))
        here, there = (sorted(one.mesh.flatten().tolist()) for one in (self._spec.mesh, mesh))
        if here != there:
            raise ValueError(
                f"DTensor.redistribute: both meshes must have the same ranks, got {here} and {there}; ranks that hold "
                "nothing of a tensor take it over with full_tensor and distribute_tensor"
            )
        whole = self.redistribute(placements=self._spec.replicated.placements)
        spec = Spec(mesh, wanted, self._spec.shape)
        with _plain():
            return wrap(redistribute(whole.to_local(), spec.replicated, wanted), spec)

    # ---- what is known of it

    @property
    def device_mesh(self) -> DeviceMesh:
        """The ranks that hold it."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it lies along each dim of the mesh."""
        return self._spec.placements

    @property
    def _local_tensor(self):
        return self.to_local().detach()

    @property
    def shape(self):
        return self._spec.shape

    def size(self, dim=None):
        return self._spec.shape if dim is None else self._spec.shape[dim]

    @property
    def ndim(self):
        return len(self._spec.shape)

    def dim(self):
        return len(self._spec.shape)

    def numel(self):
        return self._spec.shape.numel()

    nelement = numel

    def __len__(self):
        return self._spec.shape[0]

    def stride(self, dim=None):
        """Of the whole, laid out row by row."""
        strides, step = [], 1
        for length in reversed(self._spec.shape):
            strides.append(step)
            step *= max(1, length)
        strides = tuple(reversed(strides))
        return strides if dim is None else strides[dim]

    def is_contiguous(self, memory_format=torch.contiguous_format):
        return memory_format in (torch.contiguous_format, torch.preserve_format)

    @property
    def data(self):
        """Without history, in the same memory."""
        return wrap(self._local_tensor, self._spec)

    @data.setter
    def data(self, value):
        if isinstance(value, DTensor):
            if value._spec != self._spec:
                raise RuntimeError(
                    f"DTensor.data: {_said(value.placements)} is put in the place of {_said(self.placements)}"
                )
            value = value._local_tensor
        with _plain():
            _data.__set__(self, value)

    @property
    def grad(self):
        with _plain():
            grad = _grad.__get__(self)
            if grad is not None and not isinstance(grad, DTensor):
                _grad.__set__(self, wrap(grad, self._spec))
                grad = _grad.__get__(self)
            return grad

    @grad.setter
    def grad(self, value):
        _grad.__set__(self, value)

    @grad.deleter
    def grad(self):
        _grad.__set__(self, None)

    def __repr__(self):
        kind = "Parameter of " if isinstance(self, torch.nn.Parameter) else ""
        return f"{kind}DTensor(local_tensor={self._local_tensor!r}, {self._spec.mesh!r}, {_said(self.placements)})"

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self._local_tensor.clone(), self._spec, requires_grad=self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        spec = self._spec
        return again, (type(self), self._local_tensor, spec.mesh, spec.placements, spec.shape, self.requires_grad)

    def _as_parameter(self, requires_grad):
        return Piece(self._local_tensor, self._spec, requires_grad=requires_grad)

    __torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None: _call(func, args, kwargs or {}))


class Piece(DTensor, torch.nn.Parameter):
    """A parameter that is a DTensor."""

    __module__ = "torch.distributed.tensor"
    __reduce_ex__ = DTensor.__reduce_ex__
    __deepcopy__ = DTensor.__deepcopy__


def wrap(local, spec):
    """A piece with its history as a DTensor."""
    made = local.as_subclass(DTensor)
    made._spec = spec
    return made


def again(kind, piece, mesh, placements, shape, requires_grad):
    """A DTensor from a rank's pickled piece; every rank reads its own."""
    return kind(piece, Spec(mesh, placements, shape), requires_grad=requires_grad)


def _said(placements) -> str:
    return f"[{', '.join(map(repr, placements))}]"


def _call(func, args, kwargs):
    from ._calls import call

    return call(func, args, kwargs)
