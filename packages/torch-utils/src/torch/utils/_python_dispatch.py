"""Tensors that wrap others, and modes that see every operator: what libraries ask about them.

Operators do not call ``__torch_dispatch__`` in this stack (docs/status.md), so that a mode is refused when it is entered.
"""

__all__ = [
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "transform_subclass",
]


def is_traceable_wrapper_subclass_type(t):
    """Whether a class says how its tensors are taken apart and put together: ``__tensor_flatten__`` and its inverse.

    >>> is_traceable_wrapper_subclass_type(torch.Tensor)
    False
    """
    import torch

    if not issubclass(t, torch.Tensor) or t is torch.Tensor:
        return False
    return hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t):
    """Whether a tensor's class says how it is taken apart and put together."""
    import torch

    return isinstance(t, torch.Tensor) and is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """A wrapping tensor made anew of what ``callback(name, inner)`` makes of the tensors within it."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)


class TorchDispatchMode:
    """A block whose operators go to ``__torch_dispatch__``. Raises NotImplementedError when entered."""

    def __init__(self, _dispatch_key=None):
        self.old_dispatch_mode_flags = ()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """What derived classes do with an operator."""
        raise NotImplementedError

    def __enter__(self):
        raise NotImplementedError(
            f"{type(self).__name__}: operators do not call __torch_dispatch__ in this stack; "
            "torch.overrides.TorchFunctionMode sees functions, torch.autograd.profiler what ran"
        )

    def __exit__(self, *error):
        pass


def _get_current_dispatch_mode():
    """The mode in force: None."""


def _get_current_dispatch_mode_stack():
    """The modes in force: none."""
    return []


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a mode is in force: never."""
    return False


def _disable_current_modes():
    """A block without the modes in force, of which there are none."""
    import contextlib

    return contextlib.nullcontext([])
