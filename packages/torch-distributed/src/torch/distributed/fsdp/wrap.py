"""Which modules of a model are to be sharded by themselves."""

import contextlib

__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap",
]  # fmt: skip


def always_wrap_policy(*args, **kwargs) -> bool:
    """Every module."""
    return True


def lambda_auto_wrap_policy(module, recurse: bool, nonwrapped_numel: int, lambda_fn) -> bool:
    """Modules of which ``lambda_fn(module)`` holds."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls) -> bool:
    """Modules of some classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def _module_wrap_policy(module, recurse: bool, nonwrapped_numel: int, module_classes) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def size_based_auto_wrap_policy(
    module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules=None,
    exclude_wrap_modules=None,
) -> bool:
    """Modules with at least ``min_num_params`` elements of parameters that are in no module that is sharded by itself."""
    from torch import nn

    leaves = (nn.MultiheadAttention,) if force_leaf_modules is None else tuple(force_leaf_modules)
    excluded = (nn.ModuleList, nn.ModuleDict) if exclude_wrap_modules is None else tuple(exclude_wrap_modules)
    large = nonwrapped_numel >= min_num_params
    if recurse:
        return large and not isinstance(module, leaves)
    return large and not isinstance(module, excluded)


def _or_policy(module, recurse: bool, nonwrapped_numel: int, policies) -> bool:
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


class ModuleWrapPolicy:
    """Modules of some classes.

    >>> import torch
    >>> policy = ModuleWrapPolicy({torch.nn.Linear})
    >>> policy(torch.nn.Linear(1, 1), recurse=False), policy(torch.nn.ReLU(), recurse=False)
    (True, False)
    """

    def __init__(self, module_classes):
        self._module_classes = tuple(module_classes)

    def __call__(self, module, recurse: bool, *args, **kwargs) -> bool:
        return recurse or isinstance(module, self._module_classes)

    def __repr__(self):
        return f"ModuleWrapPolicy({set(self._module_classes)})"


class CustomPolicy:
    """Modules of which ``lambda_fn(module)`` is True or a dictionary of settings of their own."""

    def __init__(self, lambda_fn):
        self._lambda_fn = lambda_fn

    def __call__(self, module, recurse: bool, *args, **kwargs):
        return True if recurse else self._lambda_fn(module)


_wrapping: list = []


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls, **wrapper_kwargs):
    """Within it, :func:`wrap` puts modules into ``wrapper_cls``."""
    _wrapping.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.pop()


def wrap(module, **wrap_overrides):
    """The module in the wrapper of the :func:`enable_wrap` around, or as it is."""
    if not _wrapping:
        return module
    wrapper, settings = _wrapping[-1]
    return wrapper(module, **{**settings, **wrap_overrides})


def wrap_children(module, policy, wrapper, settings, ignored=()) -> int:
    """Wrap those below ``module`` that a policy picks, the innermost first; how many elements were wrapped."""
    policy = policy if callable(policy) else policy._policy
    total = sum(p.numel() for p in module.parameters())
    wrapped = 0
    if not policy(module=module, recurse=True, nonwrapped_numel=total):
        return 0
    for name, child in list(module.named_children()):
        if child in ignored or (isinstance(wrapper, type) and isinstance(child, wrapper)):
            continue
        inside = wrap_children(child, policy, wrapper, settings, ignored)
        rest = sum(p.numel() for p in child.parameters()) - inside
        picked = policy(module=child, recurse=False, nonwrapped_numel=rest)
        if picked and any(True for _ in child.parameters()):
            setattr(module, name, wrapper(child, **{**settings, **(picked if isinstance(picked, dict) else {})}))
            inside += rest
        wrapped += inside
    return wrapped
