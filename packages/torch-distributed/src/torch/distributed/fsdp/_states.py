"""The states of ``FullyShardedDataParallel`` and of optimizers of its parameters: whole tensors, or pieces."""

from ..checkpoint.state_dict import _spread
from ..tensor._dtensor import DTensor
from .api import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    StateDictSettings,
    StateDictType,
)

INNER = "_fsdp_wrapped_module."


def _wrappers(module):
    from .fully_sharded_data_parallel import FullyShardedDataParallel

    return [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]


def set_type(module, kind, config, optim_config):
    if kind is StateDictType.LOCAL_STATE_DICT:
        raise NotImplementedError("LOCAL_STATE_DICT: pieces without a word on the whole; use SHARDED_STATE_DICT")
    full = kind is StateDictType.FULL_STATE_DICT
    config = (FullStateDictConfig if full else ShardedStateDictConfig)() if config is None else config
    optim_config = (
        (FullOptimStateDictConfig if full else ShardedOptimStateDictConfig)() if optim_config is None else optim_config
    )
    if isinstance(config, FullStateDictConfig) is not full:
        raise RuntimeError(f"Expected state_dict_config of {kind.name}, got {config}")
    before = get_type(module)
    restore(module, StateDictSettings(kind, config, optim_config))
    return before


def get_type(module):
    wrappers = _wrappers(module)
    return wrappers[0]._settings if wrappers else StateDictSettings()


def restore(module, settings):
    for wrapper in _wrappers(module):
        wrapper._settings = settings


def _as_asked(value, full):
    return value.full_tensor() if full and isinstance(value, DTensor) else value


def after_state_dict(module, state, prefix, metadata):
    """Names without the wrapper's, and tensors as the type says."""
    settings = module._settings
    full = settings.state_dict_type is StateDictType.FULL_STATE_DICT
    rank0_only = full and getattr(settings.state_dict_config, "rank0_only", False)
    for name in [name for name in state if name.startswith(prefix)]:
        value = _as_asked(state.pop(name), full)
        if not (rank0_only and module.process_group.rank() != 0):
            state[prefix + name[len(prefix) :].replace(INNER, "")] = value
    return state


def before_load(module, state, prefix, *_):
    inner = prefix + INNER
    for name in [name for name in state if name.startswith(prefix) and not name.startswith(inner)]:
        state[inner + name[len(prefix) :]] = state.pop(name)


def _names(model):
    return {p: name.replace(INNER, "") for name, p in model.named_parameters()}


def optim_state_dict(model, optim, full=None):
    settings = get_type(model)
    full = settings.state_dict_type is StateDictType.FULL_STATE_DICT if full is None else full
    names = _names(model)
    state = {names[p]: {key: _as_asked(value, full) for key, value in held.items()} for p, held in optim.state.items()}
    groups = [group | {"params": [names[p] for p in group["params"]]} for group in optim.param_groups]
    rank0_only = full and getattr(settings.optim_state_dict_config, "rank0_only", False)
    wrappers = _wrappers(model)
    if rank0_only and wrappers and wrappers[0].process_group.rank() != 0:
        return {}
    return {"state": state, "param_groups": groups}


def optim_state_dict_to_load(model, optim, saved):
    names = _names(model)
    by_name = {name: p for p, name in names.items()}
    state, groups, number = {}, [], 0
    settings = {frozenset(group["params"]): group for group in saved["param_groups"]}
    for group in optim.param_groups:
        ours = [names[p] for p in group["params"]]
        if frozenset(ours) not in settings:
            raise KeyError(f"optim_state_dict_to_load: the saved state has no group of the parameters {ours[:5]}")
        groups.append(settings[frozenset(ours)] | {"params": list(range(number, number + len(ours)))})
        for name in ours:
            if name in saved["state"]:
                state[number] = {key: _spread(value, by_name[name]) for key, value in saved["state"][name].items()}
            number += 1
    return {"state": state, "param_groups": groups}
