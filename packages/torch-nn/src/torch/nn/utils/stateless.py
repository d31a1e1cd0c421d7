"""Modules as functions of their parameters: ``functional_call`` and what ``torch.func`` has beside it."""

from __future__ import annotations

import contextlib
import warnings

import torch
from torch import nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor
    from torch.nn import Module


__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


_ABSENT = object()


def _places(module):
    """For every path the registry that holds the tensor, and its name there."""
    tensors = [(path, "_parameters") for path, _ in module.named_parameters(remove_duplicate=False)]
    tensors += [(path, "_buffers") for path, _ in module.named_buffers(remove_duplicate=False)]
    places = {}
    for path, kind in tensors:
        owner, _, name = path.rpartition(".")
        places[path] = (getattr(module.get_submodule(owner), kind), name)
    return places


def _replacements(module, tensors, places, tie_weights, strict):
    """The tensor for every path that changes, other names of a tied tensor with it; ``places`` gets those that it lacks."""
    wanted = dict(tensors)
    if tie_weights:
        by_tensor = {}
        for path in filter(places.__contains__, tensors):
            registry, name = places[path]
            if by_tensor.setdefault(id(registry[name]), tensors[path]) is not tensors[path]:
                raise ValueError(f"functional_call: different values given for the tied weights that include {path!r}")
        for path, (registry, name) in places.items():
            if id(registry[name]) in by_tensor:
                wanted[path] = by_tensor[id(registry[name])]
    if strict:
        unexpected = [path for path in tensors if path not in places]
        missing = [path for path in places if path not in wanted]
        if unexpected or missing:
            raise RuntimeError(f"functional_call: unexpected key(s): {unexpected}, missing key(s): {missing}")
    for path in wanted:
        if path not in places:
            places[path] = _place(module, path, tensors[path])
    return wanted


def _place(module, path, tensor):
    """The registry that holds a tensor, and its name there; a plain attribute may be one, or become one for the call."""
    owner, _, name = path.rpartition(".")
    owner = module.get_submodule(owner)
    for registry in (owner._parameters, owner._buffers):
        if name in registry:
            return registry, name
    if name in owner._modules or hasattr(type(owner), name):
        raise TypeError(f"functional_call: {path!r} of {type(module).__name__} is not a tensor")
    if name in owner.__dict__:
        if not isinstance(owner.__dict__[name], torch.Tensor):
            raise TypeError(f"functional_call: {path!r} is a {type(owner.__dict__[name]).__name__}, not a tensor")
        return owner.__dict__, name
    warnings.warn(
        f"functional_call: {type(module).__name__} has no parameter, buffer or tensor {path!r}; the call gets an attribute of that name",
        stacklevel=6,
    )
    return owner._parameters if isinstance(tensor, nn.Parameter) else owner.__dict__, name


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any | tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with the tensors of the dict ``parameters_and_buffers`` in place of its own.

    A buffer that the call sets anew is set in the dict, and the module keeps its own. Several dicts may be given as a
    tuple, as long as no name stands in two of them (ValueError).

    >>> layer = torch.nn.Linear(1, 1)
    >>> functional_call(layer, {"weight": torch.ones(1, 1), "bias": torch.ones(1)}, torch.ones(1))
    tensor([2.])
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    if isinstance(parameters_and_buffers, (list, tuple)):
        parameters_and_buffers = _joined(parameters_and_buffers)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


_functional_call = functional_call  # programs of 2022 and 2023 that had to tie weights call it so


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False):
    """A block in which the module has the tensors of the dict in place of its own. What the module sets anew within the
    block (a buffer) stands in the dict at its end, and no more in the module.
    """
    for path, tensor in parameters_and_buffers.items():
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"functional_call: {path!r} is given {tensor!r}, a {type(tensor).__name__}; give a tensor or None"
            )
    places = _places(module) if tie_weights or strict else {}  # by given paths alone, modules may hold each other
    wanted = _replacements(module, parameters_and_buffers, places, tie_weights, strict)
    before = {path: places[path][0].get(places[path][1], _ABSENT) for path in wanted}

    def put(tensors):
        for path, tensor in tensors.items():
            registry, name = places[path]
            if tensor is _ABSENT:
                registry.pop(name, None)
            else:
                registry[name] = tensor

    put(wanted)
    try:
        yield
    finally:
        after = {path: places[path][0].get(places[path][1], _ABSENT) for path in parameters_and_buffers}
        put(before)
        for path, tensor in after.items():
            if tensor is not _ABSENT and tensor is not parameters_and_buffers[path]:
                parameters_and_buffers[path] = tensor


def _joined(dicts):
    everything = {}
    for one in dicts:
        if twice := sorted(everything.keys() & one.keys()):
            raise ValueError(
                f"functional_call: {', '.join(twice)} appeared in multiple dictionaries; behavior is ambiguous"
            )
        everything.update(one)
    return everything


def stack_module_state(models: Any) -> Any:
    """The parameters and the buffers of modules of one structure, each stacked along a new first dim: two dicts by name.

    With ``functional_call`` under ``vmap`` they run the modules as one batch. RuntimeError when there are none, or when
    their classes or modes differ.

    >>> parameters, buffers = stack_module_state([torch.nn.Linear(2, 3) for _ in range(4)])
    >>> parameters["weight"].shape
    torch.Size([4, 3, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        kinds = ", ".join(sorted({type(m).__name__ for m in models}))
        raise RuntimeError(f"stack_module_state: Expected all models to be of the same class, got {kinds}.")

    def stacked(dicts, is_parameter):
        names = list(dicts[0])
        if any(list(d) != names for d in dicts):
            raise RuntimeError("stack_module_state: Expected all models to have the same parameters and buffers.")
        found = {}
        for name in names:
            given = [d[name] for d in dicts]
            if is_parameter and len({g.requires_grad for g in given}) > 1:
                raise RuntimeError(
                    f"stack_module_state: Expected {name} to require a gradient in all models or in none."
                )
            found[name] = torch.stack([g.detach() for g in given]).requires_grad_(given[0].requires_grad)
        return found

    return (
        stacked([dict(m.named_parameters()) for m in models], True),
        stacked([dict(m.named_buffers()) for m in models], False),
    )


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch norms below a module use the statistics of each batch, and keep none: they then change nothing in place."""
    for module in root.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
