"""Modes that get every operator, and tensors that wrap others: ``__torch_dispatch__``.

>>> class Names(TorchDispatchMode):
...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
...         print(func)
...         return func(*args, **(kwargs or {}))
>>> with Names():
...     x = torch.ones(2) + 1
aten.ones.default
aten.add.Tensor

An operator arrives beneath autograd and vmap, after what it is composed of: products as ``mm`` or ``linear``, views as the
view that was taken. A mode does not see what it calls itself.
"""

from __future__ import annotations

from torch import _seams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor

__all__ = [
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class says how its tensors are taken apart and put together: ``__tensor_flatten__`` and its inverse.

    >>> is_traceable_wrapper_subclass_type(torch.Tensor)
    False
    """
    import torch

    if not issubclass(t, torch.Tensor) or t is torch.Tensor:
        return False
    return hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor's class says how it is taken apart and put together."""
    import torch

    return isinstance(t, torch.Tensor) and is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any, callback: Callable[[str, Tensor], Tensor], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A wrapping tensor made anew of what ``callback(name, inner)`` makes of the tensors within it."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)


class TorchDispatchMode:
    """A block whose operators go to ``__torch_dispatch__``, which may run them: outside of the mode.

    Modes nest: the innermost is asked first, and what it calls goes to the next one.
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        self.old_dispatch_mode_flags: Any = ()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What derived classes do with an operator."""
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__")

    def __enter__(self) -> Any:
        _seams.push_mode(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _seams.pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """A mode, for ``with``."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether the mode is a means of a library, which programs need not know of; derived classes say so."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that runs every operator as it is."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> Any:
    """The innermost mode, or None."""
    modes = _seams.modes()
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes of this thread, the innermost last."""
    return _seams.modes()


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is in force on this thread; without ``include_infra_modes``, one that is no means of a library."""
    own = lambda mode: (
        not isinstance(mode, TorchDispatchMode) or mode.is_infra_mode()
    )  # other classes are of this stack
    return any(include_infra_modes or not own(mode) for mode in _seams.modes())


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Whether a mode is in force on this thread."""
    return bool(_seams.modes())


any_torch_dispatch_mode_on_stack = is_in_any_mode_without_ignore_compile_internals


def _push_mode(mode: Any) -> None:
    """Begin to ask a mode."""
    _seams.push_mode(mode)


def _pop_mode(k: Any = None) -> Any:
    """End to ask the innermost mode, which it gives."""
    return _seams.pop_mode()


def _len_torch_dispatch_stack() -> int:
    """How many modes this thread has."""
    return len(_seams.modes())


def _get_dispatch_stack_at(idx: int) -> Any:
    """A mode by its place, the outermost being 0."""
    return _seams.modes()[idx]


def _disable_current_modes() -> Any:
    """A block in which no mode is asked; gives the modes that were."""
    return _seams.without_modes()


def _pop_mode_temporarily(k: Any = None) -> Any:
    """A block without the innermost mode, which it gives."""
    from contextlib import contextmanager

    @contextmanager
    def block():
        mode = _seams.pop_mode()
        try:
            yield mode
        finally:
            _seams.push_mode(mode)

    return block()


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What ``__torch_dispatch__`` of a wrapping tensor should return for an operator whose result on the tensors within is
    ``out``: of one that writes to an argument, that argument; of any other, ``out``.

    A view of a wrapping tensor is a wrapping tensor of the view: both share the memory of the tensors within.
    """
    schema = func._schema
    written = [a.name for a in schema.arguments if a.is_write]
    if not written or not schema.returns:
        return out
    given = {a.name: value for a, value in zip(schema.arguments, args, strict=False)} | dict(kwargs or {})
    changed = [given[name] for name in written if given.get(name) is not None]
    if not any(r.alias_info is not None and r.alias_info.is_write for r in schema.returns) or not changed:
        return out
    return changed[0] if len(schema.returns) == 1 else type(out)(changed)


def _disable_infra_mode(key: Any) -> Any:
    """A block as any other: no mode here belongs to a compiler."""
    from contextlib import nullcontext

    return nullcontext()
