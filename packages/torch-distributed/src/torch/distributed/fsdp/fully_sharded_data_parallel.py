"""``FullyShardedDataParallel``: the older face of :func:`fully_shard`, a wrapper around a module."""

from __future__ import annotations

import contextlib
import os

import torch
from torch import nn

from .. import _collectives as collectives
from .. import _world as world
from ..device_mesh import DeviceMesh
from ..tensor._dtensor import DTensor
from . import _states
from ._fully_shard import FSDPModule, fully_shard
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    MixedPrecisionPolicy,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .wrap import wrap_children

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "FullyShardedDataParallel",
    "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "OptimStateKeyType",
    "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings",
    "StateDictType",
]  # fmt: skip

INNER = "_fsdp_wrapped_module."


class FullyShardedDataParallel(nn.Module):
    """A module whose parameters, gradients and optimizer state are spread over the ranks of a group.

    Parameters keep their names and shapes (``use_orig_params`` is always as True) and are :class:`DTensor`\\ s; there is
    no flat parameter.  ``state_dict()`` has whole tensors, or DTensors after ``set_state_dict_type``.

    Args:
        sharding_strategy: ``FULL_SHARD`` unless given; ``NO_SHARD`` keeps parameters whole on every rank
        auto_wrap_policy: which submodules are sharded by themselves, for example a :class:`ModuleWrapPolicy`
        mixed_precision: the dtypes in which the module computes and sums gradients

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> net = FSDP(torch.nn.Linear(2, 1))
    >>> net(torch.ones(4, 2)).sum().backward()
    >>> {name: tuple(value.shape) for name, value in net.state_dict().items()}
    {'weight': (1, 2), 'bias': (1,)}
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Any,
        process_group: Any = None,
        sharding_strategy: Any = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: Any = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: Any = None,
        ignored_modules: Any = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: Any = None,
    ) -> None:
        super().__init__()
        if param_init_fn is not None:
            raise NotImplementedError("FullyShardedDataParallel: param_init_fn is not there; initialise before")
        strategy = ShardingStrategy.FULL_SHARD if sharding_strategy is None else sharding_strategy
        mesh = _mesh(process_group, device_mesh, strategy)
        settings = {
            "sharding_strategy": strategy,
            "mixed_precision": mixed_precision,
            "device_mesh": mesh,
            "ignored_modules": ignored_modules,
            "ignored_states": ignored_states,
        }
        ignored = set(ignored_modules or ())
        if auto_wrap_policy is not None:
            wrap_children(module, auto_wrap_policy, FullyShardedDataParallel, settings, ignored)
        left_out = {p for m in ignored for p in m.parameters()}
        for one in ignored_states or ():
            left_out |= set(one.parameters()) if isinstance(one, nn.Module) else {one}
        mixed = mixed_precision or MixedPrecision()
        if mixed.buffer_dtype is not None:
            for buffer in module.buffers():
                if buffer.is_floating_point():
                    buffer.data = buffer.data.to(mixed.buffer_dtype)
        policy = MixedPrecisionPolicy(
            mixed.param_dtype,
            mixed.reduce_dtype,
            cast_forward_inputs=mixed.cast_forward_inputs or mixed.cast_root_forward_inputs,
        )
        reshard = strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)
        self._fsdp_wrapped_module = fully_shard(
            module, mesh=mesh, reshard_after_forward=reshard, mp_policy=policy, ignored_params=left_out
        )
        self.sharding_strategy, self.mixed_precision = strategy, mixed
        self.process_group = mesh.get_group(mesh.ndim - 1)
        self._settings = StateDictSettings()
        self._register_state_dict_hook(_states.after_state_dict)
        self.register_load_state_dict_pre_hook(_states.before_load)

    @property
    def module(self) -> Any:
        """The module that is wrapped."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_fsdp_wrapped_module"), name)

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @staticmethod
    def fsdp_modules(module: Any, root_only: bool = False) -> list:
        """The wrappers in a module, or those that are in no other."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        if not root_only:
            return found
        inside = {id(part) for m in found for part in m.module.modules()}
        return [m for m in found if id(m) not in inside]

    def check_is_root(self) -> bool:
        """True: no wrapper has to be told that it is the outermost."""
        return True

    # ---- training

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[Any]:
        """Within it gradients are not summed; they are kept whole for the next backward outside."""
        self.module.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            self.module.set_requires_gradient_sync(True)

    def clip_grad_norm_(self, max_norm: Any, norm_type: float = 2.0) -> Any:
        """Scale the gradients down to a norm over all ranks; the norm before."""
        total = nn.utils.clip_grad_norm_([p for p in self.parameters() if p.grad is not None], max_norm, norm_type)
        return total.full_tensor() if isinstance(total, DTensor) else total

    def apply(self, fn: Callable[..., Any]) -> Any:
        """Call ``fn`` on every submodule, with whole parameters, and keep what it does to them."""
        with self.summon_full_params(self):
            return super().apply(fn)

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Any,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[Any]:
        """Within it parameters are whole; what was done to them is kept, unless ``writeback=False``."""
        if with_grads:
            raise NotImplementedError("summon_full_params: with_grads is not there; p.grad.full_tensor() is whole")
        if rank0_only and writeback:
            raise NotImplementedError("summon_full_params: writeback of one rank's changes is not there")
        states = [m._fsdp for m in module.modules() if isinstance(m, FSDPModule)]
        states = states if recurse else states[:1]
        held = []
        with torch.no_grad():
            for state in states:
                whole = [
                    nn.Parameter(one, slot.piece.requires_grad)
                    for one, slot in zip(state.gather(), state.slots, strict=True)
                ]
                held.append(whole)
                for slot, one in zip(state.slots, whole, strict=True):
                    slot.show(one)
        try:
            yield
        finally:
            with torch.no_grad():
                for state, whole in zip(states, held, strict=True):
                    for slot, one in zip(state.slots, whole, strict=True):
                        if writeback:
                            slot.piece._local_tensor.copy_(slot.cut(one))
                    state.reshard()

    # ---- states

    @staticmethod
    def set_state_dict_type(
        module: Any, state_dict_type: Any, state_dict_config: Any = None, optim_state_dict_config: Any = None
    ) -> Any:
        """Say whether states have whole tensors or DTensors; the settings before."""
        return _states.set_type(module, state_dict_type, state_dict_config, optim_state_dict_config)

    @staticmethod
    def get_state_dict_type(module: Any) -> StateDictSettings:
        """The settings now."""
        return _states.get_type(module)

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Any, state_dict_type: Any, state_dict_config: Any = None, optim_state_dict_config: Any = None
    ) -> Iterator[Any]:
        """Within it, states are of another type."""
        before = _states.set_type(module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            _states.restore(module, before)

    @staticmethod
    def optim_state_dict(model: Any, optim: Any, optim_state_dict: Any = None, group: Any = None) -> dict:
        """The state of an optimizer by names of parameters, with whole tensors or DTensors as the type says."""
        return _states.optim_state_dict(model, optim)

    full_optim_state_dict = staticmethod(
        lambda model, optim, *args, **kwargs: _states.optim_state_dict(model, optim, True)
    )
    sharded_optim_state_dict = staticmethod(
        lambda model, optim, *_, **__: _states.optim_state_dict(model, optim, False)
    )

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: Any, optim_state_key_type: Any, model: Any, optim_input: Any = None, optim: Any = None
    ) -> dict:
        """The state of an optimizer by numbers of parameters (``PARAM_ID``) instead of their names, or the other way."""
        names = [name for name, _ in model.named_parameters()]
        by_id = getattr(optim_state_key_type, "name", str(optim_state_key_type)) == "PARAM_ID"
        new = {name: i for i, name in enumerate(names)} if by_id else dict(enumerate(names))
        groups = [dict(g, params=[new[p] for p in g["params"]]) for g in optim_state_dict["param_groups"]]
        return {"state": {new[k]: v for k, v in optim_state_dict["state"].items()}, "param_groups": groups}

    @staticmethod
    def optim_state_dict_to_load(
        model: Any,
        optim: Any,
        optim_state_dict: Any,
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> Any:
        """Such a state as ``optim.load_state_dict`` takes it; with ``load_directly`` it is loaded."""
        made = _states.optim_state_dict_to_load(model, optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(made)
        return made


def _mesh(process_group, device_mesh, strategy) -> DeviceMesh:
    hybrid = strategy in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
    if device_mesh is not None:
        if process_group is not None:
            raise ValueError("Cannot pass both process_group and device_mesh at the same time.")
        if hybrid and device_mesh.ndim != 2:
            raise ValueError(f"{strategy.name} needs a mesh of two dims, got {device_mesh}")
        return device_mesh
    if hybrid:
        return _machines() if process_group is None else _of_groups(process_group, strategy)
    group = world.resolve(process_group)
    if strategy is ShardingStrategy.NO_SHARD:
        return DeviceMesh("cpu", torch.tensor(world.get_process_group_ranks(group)).view(-1, 1))
    return DeviceMesh.from_group(group)


def _machines() -> DeviceMesh:
    """A row for each machine, as ``torchrun`` says: parameters lie in pieces within it, and alike on all machines."""
    size, near = world.get_world_size(), int(os.environ.get("LOCAL_WORLD_SIZE", world.get_world_size()))
    if near < 1 or size % near:
        raise ValueError(
            f"FullyShardedDataParallel: LOCAL_WORLD_SIZE={near} does not divide the {size} ranks; pass device_mesh of two dims"
        )
    return DeviceMesh("cpu", torch.arange(size).view(-1, near))


def _of_groups(groups, strategy) -> DeviceMesh:
    """The mesh of (the group that shares the pieces, the group that holds alike ones)."""
    if not isinstance(groups, (list, tuple)) or len(groups) != 2:
        raise ValueError(
            f"FullyShardedDataParallel: with {strategy.name}, process_group is a pair, of the ranks that share the pieces and "
            f"of those that hold the same, got {type(groups).__name__}"
        )
    pieces, alike = groups
    own = torch.tensor(world.get_process_group_ranks(pieces))
    rows = [torch.empty_like(own) for _ in range(world.get_world_size(alike))]
    collectives.all_gather(rows, own, group=alike)
    return DeviceMesh.from_group([alike, pieces], "cpu", torch.stack(rows))
