"""States of models and optimizers whose names do not depend on wrappers, nor their values on the number of ranks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch._pytree import tree_map, tree_map_only
from torch.nn.parallel import DistributedDataParallel

from .. import _collectives as collectives
from .. import _objects
from .. import _world as world
from ..tensor._api import distribute_tensor
from ..tensor._dtensor import DTensor
from ._first_step import begun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


@dataclass
class StateDictOptions:
    """How states are taken and given.

    Args:
        full_state_dict: whole tensors in place of DTensors
        cpu_offload: with ``full_state_dict``, only on rank 0, and nothing on the others
        ignore_frozen_params: leave out parameters that need no gradients
        keep_submodule_prefixes: with ``submodules``, names as in the whole model
        strict: names must be those of the model when a state is loaded
        broadcast_from_rank0: with ``full_state_dict``, the state that rank 0 gives is loaded on all
        flatten_optimizer_state_dict: ``state.NAME.KEY`` and ``param_groups.NAME.KEY`` in place of nested dictionaries
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


_PARTS = {"_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod"}
"""Names under which wrappers hold what they wrap."""


def _plain_names(model) -> dict:
    """By the name in the model, the name without wrappers."""
    wrapped = {name for name, module in model.named_modules() if isinstance(module, DistributedDataParallel)}
    names = {}
    for name in dict.fromkeys([*model.state_dict(), *(n for n, _ in model.named_parameters(remove_duplicate=False))]):
        kept, path = [], name.split(".")
        for i, part in enumerate(path):
            before = ".".join(path[:i])
            if part in _PARTS or (part == "module" and before in wrapped):
                continue
            kept.append(part)
        names[name] = ".".join(kept)
    return names


def _options(options):
    options = StateDictOptions() if options is None else options
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _as_asked(tree, options):
    """The values whole where that was asked for; {} on ranks that are to have nothing."""
    if not options.full_state_dict:
        return tree
    whole = tree_map_only(DTensor, DTensor.full_tensor, tree)
    if options.cpu_offload and world.is_initialized() and world.get_rank() != 0:
        return {}
    return whole


def get_model_state_dict(model: Any, *, submodules: Any = None, options: Any = None) -> dict:
    """The state of a model under the names that it has without DistributedDataParallel and other wrappers.

    >>> import torch
    >>> from torch.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(torch.nn.Linear(2, 1)))
    ['weight', 'bias']
    """
    options = _options(options)
    names = _plain_names(model)
    frozen = {n for n, p in model.named_parameters() if not p.requires_grad} if options.ignore_frozen_params else ()
    state = {}
    for name, value in _inner_state(model).items():
        if name not in frozen:
            state[names.get(name, name)] = value
    if submodules is not None:
        prefixes = [names_of for names_of in (_prefix(model, m) for m in submodules) if names_of is not None]
        keep = options.keep_submodule_prefixes
        state = {
            name if keep else name.removeprefix(prefix): value
            for prefix in prefixes
            for name, value in state.items()
            if name.startswith(prefix)
        }
    return _as_asked(state, options)


def _prefix(model, submodule):
    for name, module in model.named_modules():
        if module is submodule:
            return ".".join(p for p in name.split(".") if p not in _PARTS) + "."
    return None


def _inner_state(model):
    """The state with DTensors, also of FullyShardedDataParallel, whose own has whole tensors."""
    from ..fsdp import FullyShardedDataParallel, StateDictType

    if not FullyShardedDataParallel.fsdp_modules(model):
        return model.state_dict()
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        return model.state_dict()


def set_model_state_dict(model: Any, model_state_dict: Any, *, options: Any = None) -> Any:
    """Load such a state; what is missing and what is too much, as ``load_state_dict`` returns it."""
    options = _options(options)
    if options.broadcast_from_rank0:
        model_state_dict = _from_first(model_state_dict)
    inner: dict = {}
    for name, plain in _plain_names(model).items():
        inner.setdefault(plain, []).append(name)
    renamed = {}
    for name, value in model_state_dict.items():
        for own in inner.get(name, [name]):
            renamed[own] = value
    return model.load_state_dict(renamed, strict=options.strict)


def _from_first(state):
    """Rank 0's state on all ranks: what is no tensor first, then the tensors one by one."""
    if not world.is_initialized():
        return state
    first = world.get_rank() == 0
    tensors: list = []

    def taken(value):
        if not isinstance(value, torch.Tensor):
            return value
        tensors.append(value.detach().contiguous())
        return _Place(len(tensors) - 1, tuple(value.shape), value.dtype)

    skeleton = [tree_map(taken, state) if first else None]
    _objects.broadcast_object_list(skeleton, src=0)

    def filled(value):
        if not isinstance(value, _Place):
            return value
        tensor = tensors[value.number] if first else torch.empty(value.shape, dtype=value.dtype)
        collectives.broadcast(tensor, 0)
        return tensor

    return tree_map(filled, skeleton[0])


@dataclass
class _Place:
    number: int
    shape: tuple
    dtype: torch.dtype


def _by_parameter(model) -> dict:
    names = _plain_names(model)
    return {parameter: names[name] for name, parameter in model.named_parameters()}


def _list(optimizers):
    return [optimizers] if isinstance(optimizers, torch.optim.Optimizer) else list(optimizers)


def get_optimizer_state_dict(model: Any, optimizers: Any, *, submodules: Any = None, options: Any = None) -> dict:
    """The state of optimizers with parameters by name: ``{"state": {name: ...}, "param_groups": [{"params": [names]}]}``.

    Of an optimizer that has made no step, the state that a step with gradients and a learning rate of zero makes: places
    for what a checkpoint holds.
    """
    options = _options(options)
    if submodules is not None:
        raise NotImplementedError("get_optimizer_state_dict: submodules is not there")
    names = _by_parameter(model)
    state, groups = {}, []
    for optimizer in _list(optimizers):
        groups += [group | {"params": [names[p] for p in group["params"]]} for group in optimizer.param_groups]
        with begun(optimizer):
            state |= {names[p]: dict(held) for p, held in optimizer.state.items()}
    whole = {"state": state, "param_groups": groups}
    if options.flatten_optimizer_state_dict:
        flat = {f"state.{name}.{key}": v for name, held in state.items() for key, v in held.items()}
        for group in groups:
            for name in group["params"]:
                flat |= {f"param_groups.{name}.{key}": v for key, v in group.items() if key != "params"}
        whole = flat
    return _as_asked(whole, options)


def _unflattened(model, optimizers, flat):
    """Nested dictionaries of a flat state; the parameters' groups are those of the optimizers."""
    names = _by_parameter(model)
    state, groups = {}, []
    for optimizer in _list(optimizers):
        for group in optimizer.param_groups:
            ours = [names[p] for p in group["params"]]
            groups.append({"params": ours})
            for name in ours:
                start, group_start = f"state.{name}.", f"param_groups.{name}."
                held = {k.removeprefix(start): v for k, v in flat.items() if _belongs(k, start)}
                if held:
                    state[name] = held
                groups[-1] |= {k.removeprefix(group_start): v for k, v in flat.items() if _belongs(k, group_start)}
    return {"state": state, "param_groups": groups}


def _belongs(key, start) -> bool:
    return key.startswith(start) and "." not in key[len(start) :]


def set_optimizer_state_dict(model: Any, optimizers: Any, optim_state_dict: Any, *, options: Any = None) -> None:
    """Load such a state; KeyError for a parameter that no group of it has."""
    options = _options(options)
    if options.broadcast_from_rank0:
        optim_state_dict = _from_first(optim_state_dict)
    if options.flatten_optimizer_state_dict:
        optim_state_dict = _unflattened(model, optimizers, optim_state_dict)
    names = _by_parameter(model)
    saved = {frozenset(group["params"]): group for group in optim_state_dict["param_groups"]}
    for optimizer in _list(optimizers):
        groups, state, number = [], {}, 0
        for group in optimizer.param_groups:
            ours = [names[p] for p in group["params"]]
            if frozenset(ours) not in saved:
                raise KeyError(f"set_optimizer_state_dict: the saved state has no group of the parameters {ours[:5]}")
            groups.append(saved[frozenset(ours)] | {"params": list(range(number, number + len(ours)))})
            for parameter, name in zip(group["params"], ours, strict=True):
                if name in optim_state_dict["state"]:
                    held = optim_state_dict["state"][name]
                    state[number] = {key: _spread(value, parameter) for key, value in held.items()}
                number += 1
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def _spread(value, parameter):
    """A whole tensor of a parameter's state as one that lies as the parameter does."""
    if isinstance(parameter, DTensor) and isinstance(value, torch.Tensor) and not isinstance(value, DTensor):
        if tuple(value.shape) == tuple(parameter.shape):
            return distribute_tensor(value, parameter.device_mesh, parameter.placements, src_data_rank=None)
    return value


def get_state_dict(model: Any, optimizers: Any, *, submodules: Any = None, options: Any = None) -> tuple:
    """The states of a model and its optimizers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


def set_state_dict(
    model: Any, optimizers: Any, *, model_state_dict: Any, optim_state_dict: Any, options: Any = None
) -> Any:
    """Load both."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result
