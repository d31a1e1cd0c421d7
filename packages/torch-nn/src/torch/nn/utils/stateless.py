"""Calling a module with other parameters than its own."""

__all__ = ["functional_call"]


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
    """The tensor for every path that changes; other names of a tied tensor follow."""
    unexpected = [path for path in tensors if path not in places]
    missing = [path for path in places if path not in tensors]
    if strict and (unexpected or missing):
        raise RuntimeError(f"functional_call: unexpected key(s): {unexpected}, missing key(s): {missing}")
    if unexpected:
        raise AttributeError(f"functional_call: {type(module).__name__} has no parameter or buffer {unexpected[0]!r}")
    wanted = dict(tensors)
    if tie_weights:
        by_tensor = {}
        for path, tensor in tensors.items():
            registry, name = places[path]
            if by_tensor.setdefault(id(registry[name]), tensor) is not tensor:
                raise ValueError(f"functional_call: different values given for the tied weights that include {path!r}")
        for path, (registry, name) in places.items():
            if id(registry[name]) in by_tensor:
                wanted[path] = by_tensor[id(registry[name])]
    return wanted


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """``module(*args, **kwargs)`` with the tensors of the dict ``parameters_and_buffers`` in place of its own.

    >>> layer = torch.nn.Linear(1, 1)
    >>> functional_call(layer, {"weight": torch.ones(1, 1), "bias": torch.ones(1)}, torch.ones(1))
    tensor([2.])
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    places = _places(module)
    wanted = _replacements(module, parameters_and_buffers, places, tie_weights, strict)
    before = {path: places[path][0][places[path][1]] for path in wanted}

    def put(tensors):
        for path, tensor in tensors.items():
            registry, name = places[path]
            registry[name] = tensor

    put(wanted)
    try:
        return module(*args, **(kwargs or {}))
    finally:
        put(before)
