"""States of models and optimizers whose names do not depend on the wrapper or the number of ranks."""

from dataclasses import dataclass

import torch
from torch.nn.parallel import DistributedDataParallel

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


@dataclass
class StateDictOptions:
    """``strict`` and ``ignore_frozen_params`` are heeded; parameters are whole on every rank, whatever the others say."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _plain(model):
    """By the name in the model's state, the name without wrappers."""
    wrapped = [name for name, module in model.named_modules() if isinstance(module, DistributedDataParallel)]
    names = {}
    for name in [*model.state_dict(), *(n for n, _ in model.named_parameters())]:
        plain = name
        for prefix in sorted(wrapped, key=len, reverse=True):
            start = f"{prefix}.module." if prefix else "module."
            if name.startswith(start):
                plain = (f"{prefix}." if prefix else "") + plain.removeprefix(start)
        names[name] = plain
    return names


def _check(options):
    options = StateDictOptions() if options is None else options
    for name in ("broadcast_from_rank0", "flatten_optimizer_state_dict"):
        if getattr(options, name):
            raise NotImplementedError(f"StateDictOptions: {name}=True is not there")
    return options


def get_model_state_dict(model, *, submodules=None, options=None) -> dict:
    """The state of a model under the names that it has without DistributedDataParallel.

    >>> import torch
    >>> from torch.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(torch.nn.Linear(2, 1)))
    ['weight', 'bias']
    """
    options = _check(options)
    if submodules is not None:
        raise NotImplementedError("get_model_state_dict: submodules is not there; call it with the submodule")
    names = _plain(model)
    frozen = {n for n, p in model.named_parameters() if not p.requires_grad} if options.ignore_frozen_params else ()
    return {names[name]: value for name, value in model.state_dict().items() if name not in frozen}


def set_model_state_dict(model, model_state_dict, *, options=None):
    """Load such a state; what is missing and what is too much, as ``load_state_dict`` returns it."""
    options = _check(options)
    inner = {plain: name for name, plain in _plain(model).items()}
    renamed = {inner.get(name, name): value for name, value in model_state_dict.items()}
    return model.load_state_dict(renamed, strict=options.strict)


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None) -> dict:
    """The state of optimizers with parameters by name: ``{"state": {name: ...}, "param_groups": [{"params": [names]}]}``."""
    _check(options)
    names = _plain(model)
    by_parameter = {parameter: names[name] for name, parameter in model.named_parameters()}
    state, groups = {}, []
    for optimizer in [optimizers] if isinstance(optimizers, torch.optim.Optimizer) else optimizers:
        for group in optimizer.param_groups:
            groups.append(group | {"params": [by_parameter[p] for p in group["params"]]})
        state |= {by_parameter[p]: dict(held) for p, held in optimizer.state.items()}
    return {"state": state, "param_groups": groups}


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None) -> None:
    """Load such a state; KeyError for a parameter that no group of it has."""
    _check(options)
    names = _plain(model)
    by_parameter = {parameter: names[name] for name, parameter in model.named_parameters()}
    saved = {frozenset(group["params"]): group for group in optim_state_dict["param_groups"]}
    for optimizer in [optimizers] if isinstance(optimizers, torch.optim.Optimizer) else optimizers:
        groups, state, number = [], {}, 0
        for group in optimizer.param_groups:
            ours = [by_parameter[p] for p in group["params"]]
            if frozenset(ours) not in saved:
                raise KeyError(f"set_optimizer_state_dict: the saved state has no group of the parameters {ours[:5]}")
            groups.append(saved[frozenset(ours)] | {"params": list(range(number, number + len(ours)))})
            state |= {
                number + i: optim_state_dict["state"][n] for i, n in enumerate(ours) if n in optim_state_dict["state"]
            }
            number += len(ours)
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def get_state_dict(model, optimizers, *, submodules=None, options=None) -> tuple:
    """The states of a model and its optimizers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    """Load both."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result
