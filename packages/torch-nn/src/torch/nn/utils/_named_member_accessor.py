"""Parameters, buffers and submodules by their dotted names: read, set, swapped and taken out."""

import torch

MISSING = object()


def _registry(module, name):
    """The dict of the module in which the tensor stands, or None."""
    for registry in (module._parameters, module._buffers):
        if name in registry:
            return registry
    return None


def set_tensor(module, name, tensor):
    """Put a tensor in the place of a parameter or buffer of the module, whatever its class."""
    _check(module, name)
    registry = _registry(module, name)
    if registry is None:
        setattr(module, name, tensor)
    else:
        registry[name] = tensor


def swap_tensor(module, name, tensor, allow_missing=False):
    """Put a tensor in the place of another one, which is returned."""
    _check(module, name)
    registry = _registry(module, name)
    if registry is not None:
        old = registry[name]
        if tensor is not MISSING:
            registry[name] = tensor
        else:
            del registry[name]
        return old
    old = vars(module).get(name, MISSING)
    if old is MISSING and not allow_missing:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    if old is not MISSING and not isinstance(old, torch.Tensor):
        raise TypeError(f"attribute `{name}`: {old!r:.80} is not an instance of torch.Tensor")
    if tensor is MISSING:
        delattr(module, name)
    else:
        setattr(module, name, tensor)
    return old


def swap_submodule(module, name, submodule):
    """Put a module in the place of another one, which is returned."""
    _check(module, name)
    if not isinstance(submodule, torch.nn.Module):
        raise TypeError(f"{submodule!r:.80} is not an instance of torch.nn.Module")
    if name not in module._modules:
        raise AttributeError(f"{type(module).__name__} has no submodule `{name}`")
    old = module._modules[name]
    module._modules[name] = submodule
    return old


def _check(module, name):
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{module!r:.80} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError(f'tensor name can\'t contain "." (got {name!r})')
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')


class NamedMemberAccessor:
    """The members of a module by dotted names; submodules that were found stay at hand.

    >>> access = NamedMemberAccessor(torch.nn.Sequential(torch.nn.Linear(1, 1)))
    >>> access.set_tensor("0.bias", torch.ones(1))
    >>> access.get_tensor("0.bias")
    tensor([1.])
    """

    def __init__(self, module):
        self.module, self._found = module, {}

    def _owner(self, path):
        owner, _, name = path.rpartition(".")
        return self.get_submodule(owner), name

    def get_submodule(self, name):
        """The submodule of that name; AttributeError when there is none."""
        if name not in self._found:
            self._found[name] = self.module.get_submodule(name)
        return self._found[name]

    def swap_submodule(self, path, value):
        """Put a module in the place of another one, which is returned."""
        self._found = {}
        return swap_submodule(*self._owner(path), value)

    def get_tensor(self, name):
        """The parameter, buffer or attribute of that name."""
        module, attribute = self._owner(name)
        tensor = getattr(module, attribute, None)
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} is a {type(tensor).__name__}, not a tensor")
        if tensor is None and _registry(module, attribute) is None:
            raise AttributeError(f"{type(module).__name__} has no attribute `{attribute}`")
        return tensor

    def set_tensor(self, name, value):
        """Put a tensor in the place of another one."""
        set_tensor(*self._owner(name), value)

    def del_tensor(self, name):
        """Take a tensor out."""
        module, attribute = self._owner(name)
        swap_tensor(module, attribute, MISSING)

    def swap_tensor(self, name, value, allow_missing=False):
        """Put a tensor in the place of another one, which is returned."""
        return swap_tensor(*self._owner(name), value, allow_missing)

    def get_tensors(self, names):
        """The tensors of these names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names, values):
        """Put tensors in the places of others; ValueError unless there are as many."""
        for name, value in self._pairs(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors):
        """Put tensors in the places of others by name."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names):
        """Take tensors out."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names, values, allow_missing=False):
        """Put tensors in the places of others, which are returned."""
        return [self.swap_tensor(name, value, allow_missing) for name, value in self._pairs(names, values)]

    def swap_tensors_dict(self, named_tensors, allow_missing=False):
        """Put tensors in the places of others by name; the old ones by name, and the names that were missing. What was
        swapped is put back when one fails.
        """
        old, missing = {}, []
        try:
            for name, value in named_tensors.items():
                before = self.swap_tensor(name, value, allow_missing=True)
                old[name] = before
                if before is MISSING:
                    missing.append(name)
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except Exception:
            for name, value in old.items():
                self.swap_tensor(name, value, allow_missing=True)
            raise
        return old, missing

    @staticmethod
    def _pairs(names, values):
        names, values = list(names), list(values)
        if len(names) != len(values):
            raise ValueError(f"names and values must have the same length, got {len(names)} and {len(values)}")
        return zip(names, values, strict=True)

    def check_keys(self, keys):
        """Names of tensors that are not among the keys, and keys that name none."""
        keys = set(keys)
        there = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return there - keys, keys - there

    def named_parameters(self, remove_duplicate=True):
        """Names and parameters."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate=True):
        """Names and buffers."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate=True):
        """Names and parameters, then buffers."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate=True):
        """Names and submodules."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
