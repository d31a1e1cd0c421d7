"""``__torch_function__`` for functions written in Python: whether an argument brings one, and calling it.

The operators of torch itself do not look for it (docs/status.md); libraries whose own functions do use these.
"""

from . import _C

__all__ = [
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
]  # fmt: skip


def is_tensor_like(inp):
    """True of a tensor and of what brings ``__torch_function__``.

    >>> torch.overrides.is_tensor_like(torch.ones(2)), torch.overrides.is_tensor_like(2.0)
    (True, False)
    """
    return isinstance(inp, _C.Tensor) or hasattr(type(inp), "__torch_function__")


def _overriding(arguments):
    """The arguments that bring ``__torch_function__``, those of derived classes before those of their bases."""
    found = []
    for argument in arguments:
        kind = type(argument)
        if isinstance(argument, type) or not hasattr(kind, "__torch_function__"):
            continue
        if any(kind is type(other) for other in found):
            continue
        place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
        found.insert(place, argument)
    return found


def has_torch_function(relevant_args):
    """Whether an argument brings ``__torch_function__``."""
    return bool(_overriding(relevant_args))


def has_torch_function_unary(argument):
    """:func:`has_torch_function` of one argument."""
    return has_torch_function((argument,))


def has_torch_function_variadic(*arguments):
    """:func:`has_torch_function` of arguments one by one."""
    return has_torch_function(arguments)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Calls ``__torch_function__`` of each argument that has one, until a result is not ``NotImplemented``."""
    found = _overriding(relevant_args)
    kinds = tuple(map(type, found))
    for argument in found:
        result = argument.__torch_function__(public_api, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {list(kinds)}")
