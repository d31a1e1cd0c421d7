"""Calling a module with other parameters than its own."""

import contextlib

__all__ = ["functional_call"]


@contextlib.contextmanager
def _swapped(module, tensors, tie_weights, strict):
    places = {}
    for path, kind in [(p, "_parameters") for p, _ in module.named_parameters(remove_duplicate=False)] + [
        (p, "_buffers") for p, _ in module.named_buffers(remove_duplicate=False)
    ]:
        owner, _, name = path.rpartition(".")
        places[path] = (getattr(module.get_submodule(owner), kind), name)
    unexpected = [path for path in tensors if path not in places]
    missing = [path for path in places if path not in tensors]
    if strict and (unexpected or missing):
        raise RuntimeError(f"functional_call: unexpected key(s): {unexpected}, missing key(s): {missing}")
    if unexpected:
        raise AttributeError(f"functional_call: {type(module).__name__} has no parameter or buffer {unexpected[0]!r}")
    wanted = {path: tensors[path] for path in tensors}
    if tie_weights:  # other names of the same tensor follow
        by_tensor = {}
        for path, tensor in tensors.items():
            registry, name = places[path]
            known = by_tensor.setdefault(id(registry[name]), tensor)
            if known is not tensor:
                raise ValueError(f"functional_call: different values given for the tied weights that include {path!r}")
        for path, (registry, name) in places.items():
            if id(registry[name]) in by_tensor:
                wanted[path] = by_tensor[id(registry[name])]
    before = {path: places[path][0][places[path][1]] for path in wanted}
    try:
        for path, tensor in wanted.items():
            registry, name = places[path]
            registry[name] = tensor
        yield
    finally:
        for path, tensor in before.items():
            registry, name = places[path]
            registry[name] = tensor


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """``module(*args, **kwargs)`` with the tensors of the dict ``parameters_and_buffers`` in place of its own.

    >>> layer = torch.nn.Linear(1, 1)
    >>> functional_call(layer, {"weight": torch.ones(1, 1), "bias": torch.ones(1)}, torch.ones(1))
    tensor([2.])
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _swapped(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))
