"""``fully_shard``: a module whose parameters, gradients and optimizer state are spread over the ranks of a mesh."""

from __future__ import annotations

import torch
from torch import nn

from .. import _collectives as collectives
from .. import _world as world
from ..device_mesh import DeviceMesh, init_device_mesh
from ..tensor._dtensor import DTensor
from ..tensor.placement_types import Partial, Shard
from ._group import ShardedParameters, Slot
from .api import MixedPrecisionPolicy, OffloadPolicy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method", "share_comm_ctx"]

_classes: dict = {}


class UnshardHandle:
    """What ``unshard(async_op=True)`` returns: the parameters are on their way."""

    def __init__(self, state):
        self._state = state

    def wait(self) -> None:
        """Let the module have them."""
        if self._state is not None:
            self._state.unshard()
            self._state = None


class FSDPModule:
    """What :func:`fully_shard` adds to the class of a module."""

    def __deepcopy__(self, memo):
        raise NotImplementedError("a sharded module is not copied; copy it before fully_shard")

    def __reduce_ex__(self, protocol):
        raise NotImplementedError("a sharded module is not pickled; torch.distributed.checkpoint saves its state")

    def unshard(self, async_op: bool = False):
        """Make this module's own parameters whole until :meth:`reshard`; all ranks must call it."""
        if async_op:
            self._fsdp.begin()
            return UnshardHandle(self._fsdp)
        self._fsdp.unshard()
        return None

    def reshard(self) -> None:
        """Go back to the pieces."""
        self._fsdp.reshard()

    def _sharded_modules(self, recurse=True):
        return [m for m in self.modules() if isinstance(m, FSDPModule)] if recurse else [self]

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward sums gradients over the ranks; without, they are kept whole for the next pass that does."""
        for module in self._sharded_modules(recurse):
            module._fsdp.sync = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether gradients are summed over replicas too, on a mesh of two dims."""
        for module in self._sharded_modules(recurse):
            module._fsdp.all_reduces = requires_all_reduce

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether whole parameters are let go of when their gradients are there."""
        for module in self._sharded_modules(recurse):
            module._fsdp.reshard_after_backward = reshard_after_backward

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether whole parameters are let go of between forward and backward."""
        for module in self._sharded_modules(recurse):
            module._fsdp.reshard_after_forward = reshard_after_forward

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted: nothing waits for the last pass."""

    def set_modules_to_forward_prefetch(self, modules) -> None:
        """While this module computes, gather the parameters of those; all ranks must name the same."""
        self._fsdp.next_forward = _sharded("set_modules_to_forward_prefetch", modules)

    def set_modules_to_backward_prefetch(self, modules) -> None:
        """The same in backward."""
        self._fsdp.next_backward = _sharded("set_modules_to_backward_prefetch", modules)

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide this module's gradients by a number of one's own, not by the number of ranks."""
        self._fsdp.divide = float(factor)


def _sharded(name, modules):
    modules = tuple(modules)
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"{name}: expects modules that fully_shard was applied to, got {type(module).__name__}")
    return modules


def fully_shard(
    module: nn.Module | list[nn.Module],
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[nn.Parameter], Any] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[nn.Parameter] | None = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """Spread the parameters of ``module`` over the ranks, but for those of submodules that are sharded already.

    Each rank keeps a piece of every parameter, a :class:`DTensor` cut along its first dim or another; so are the gradients, and
    the state of an optimizer that is made afterwards.  While the module computes it has whole parameters.  Shard the
    layers of a model one by one and then the model, so that only one layer is whole at a time.

    A list of modules is sharded as one: their parameters are gathered before the first of them computes, and let go of
    after the last.

    Args:
        mesh: of one dim, or of two: replicas of what the second dim shares
        shard_placement_fn: where to cut a parameter: ``Shard(dim)``, or None for its first dim
        reshard_after_forward: gather the parameters again for backward; False keeps them whole in between
        mp_policy: a :class:`MixedPrecisionPolicy`

    Ranks must begin with equal parameters: those of the first rank are taken over.  A module that was made on the ``meta``
    device gets memory for its pieces by ``to_empty(device="cpu")``, and values afterwards.  Layers that ``parallelize_module``
    has spread over another dim of the same mesh are cut once more: ``parallelize_module(net, mesh["tp"], plan)``,
    then ``fully_shard(net, mesh=mesh["dp"])``.

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.fsdp import fully_shard
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> net = fully_shard(torch.nn.Linear(2, 1))
    >>> net(torch.ones(4, 2)).sum().backward()
    >>> net.weight.placements, net.weight.grad.full_tensor()
    ((Shard(dim=0),), tensor([[4., 4.]]))
    >>> dist.destroy_process_group()
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    if not modules:
        raise ValueError("fully_shard: the list of modules is empty")
    if dp_mesh_dims is not None:
        raise NotImplementedError("fully_shard: dp_mesh_dims is not there; give mesh['name']")
    for one in modules:
        if isinstance(one, FSDPModule):
            raise ValueError("fully_shard: the module is sharded already")
        if isinstance(one, (nn.ModuleList, nn.ModuleDict)) and type(one).forward is nn.Module.forward:
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {one}")
    mesh = init_device_mesh("cpu", (world.default_group().size(),)) if mesh is None else mesh
    if not isinstance(mesh, DeviceMesh) or mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    offload_policy = OffloadPolicy() if offload_policy is None else offload_policy
    ignored = set(ignored_params or ())
    slots = _slots(modules, mesh, ignored, shard_placement_fn)
    policy = MixedPrecisionPolicy() if mp_policy is None else mp_policy
    reshard = True if reshard_after_forward is None else bool(reshard_after_forward)
    state = ShardedParameters(slots, mesh, policy, reshard, {id(one) for one in modules})
    for one in modules:
        kind = type(one)
        if kind not in _classes:
            _classes[kind] = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {})
        one.__class__ = _classes[kind]
        object.__setattr__(one, "_fsdp", state)
        one.register_forward_pre_hook(_before, prepend=True, with_kwargs=True)
        one.register_forward_hook(_after, always_call=True)
    for slot in slots:
        slot.show(slot.piece)
    return module


def _slots(modules, mesh, ignored, place):
    places: dict = {}
    theirs: set = set()
    for module in modules:
        sharded = [m for m in module.modules() if m is not module and isinstance(m, FSDPModule)]
        theirs |= {id(part) for m in sharded for part in m.modules()}
        for part in module.modules():
            if id(part) in theirs:
                continue
            theirs.add(id(part))  # a module of the list within another counts once
            for name, parameter in part._parameters.items():
                if parameter is not None and parameter not in ignored:
                    places.setdefault(parameter, []).append((part, name))
    for parameter, found in places.items():
        if isinstance(parameter, nn.parameter.UninitializedParameter):
            raise RuntimeError(f"fully_shard: {found[0][1]} has no shape yet; run a forward pass first")
        if isinstance(parameter, DTensor) and any(isinstance(p, Partial) for p in parameter.placements):
            raise ValueError(f"fully_shard: {found[0][1]} is a sum over ranks, {parameter.placements}; redistribute it")
        if parameter.dim() == 0:
            raise ValueError(
                f"fully_shard doesn't support scalar parameters. Change {found[0][1]} to a 1D tensor with numel equal to 1."
            )
    dims = {parameter: _dim(parameter, found[0][1], place) for parameter, found in places.items()}
    valued = [parameter for parameter in places if parameter.device.type != "meta"]  # others are filled later
    with torch.no_grad():
        for group in reversed(mesh.get_all_groups()):
            for parameter in valued:
                whole = parameter._local_tensor if isinstance(parameter, DTensor) else parameter.detach()
                line = whole.contiguous()
                collectives.broadcast(line, group=group, group_src=0)
                if line.data_ptr() != whole.data_ptr():
                    whole.copy_(line)
    return [Slot(found, parameter, mesh, dims[parameter]) for parameter, found in places.items()]


def _dim(parameter, name, place):
    """The dim along which a parameter is cut."""
    wanted = None if place is None else place(parameter)
    if wanted is None:
        return 0
    if not isinstance(wanted, Shard):
        raise TypeError(f"fully_shard: shard_placement_fn of {name} returned {wanted!r}; expected Shard(dim) or None")
    if not -parameter.dim() <= wanted.dim < parameter.dim():
        raise ValueError(
            f"fully_shard: shard_placement_fn of {name}, of shape {tuple(parameter.shape)}, returned {wanted!r}"
        )
    return wanted.dim % parameter.dim()


def _cast(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        items = [_cast(one, dtype) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: _cast(one, dtype) for key, one in value.items()}
    return value


def _before(module, args, kwargs):
    state = module._fsdp
    state.depth += 1
    if state.depth == 1:  # a module that calls itself keeps what the outer call has set up
        if not state.awaited:
            state.awaited = set(state.modules)
        state.unshard()
        state.begin_next(state.next_forward)
        if torch.is_grad_enabled():
            state.hooks = torch.autograd.graph.saved_tensors_hooks(state.pack, state.unpack)
            state.hooks.__enter__()
    policy = state.policy
    if policy.param_dtype is not None and policy.cast_forward_inputs:
        args, kwargs = _cast(args, policy.param_dtype), _cast(kwargs, policy.param_dtype)
    return args, kwargs


def _after(module, args, outputs):
    state = module._fsdp
    state.depth -= 1
    if state.depth == 0:
        if state.hooks is not None:
            state.hooks.__exit__()
            state.hooks = None
        state.awaited.discard(id(module))
        if state.reshard_after_forward and not state.awaited:
            state.reshard()
    if outputs is None:
        return None
    if torch.is_grad_enabled() and state.reshard_after_forward:
        _tell(outputs, state)
    return outputs if state.policy.output_dtype is None else _cast(outputs, state.policy.output_dtype)


def _tell(value, state):
    """When backward reaches the module, it has whole parameters again, for what is computed anew."""
    if isinstance(value, torch.Tensor):
        if value.requires_grad and not value.is_leaf:
            value.register_hook(lambda grad: _show_whole(state))
    elif isinstance(value, (list, tuple)):
        for one in value:
            _tell(one, state)
    elif isinstance(value, dict):
        _tell(list(value.values()), state)


def _show_whole(state):
    if state.whole is None:
        state._keep([w.requires_grad_(s.piece.requires_grad) for w, s in zip(state.gather(), state.slots, strict=True)])
        state.begin_next(state.next_backward)
    for slot, tensor in zip(state.slots, state.whole, strict=True):
        slot.show_whole(tensor)


def register_fsdp_forward_method(module, method_name: str) -> None:
    """Let another method than ``forward`` have whole parameters."""
    if not isinstance(module, FSDPModule):
        return
    method = getattr(module, method_name)

    def wrapped(*args, **kwargs):
        args, kwargs = _before(module, args, kwargs)
        outputs = None
        try:
            outputs = method(*args, **kwargs)
        finally:
            outputs = _after(module, args, outputs)
        return outputs

    object.__setattr__(module, method_name, wrapped)


def share_comm_ctx(modules) -> None:
    """Accepted: there are no streams to share."""
