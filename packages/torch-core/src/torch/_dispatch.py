"""``__torch_dispatch__``: classes and modes that get an operator in place of its kernel, beneath autograd.

The layer of torch._C (csrc/dispatch.cpp) comes here with the row of a call and its values. What is asked gets the operator
as ``torch.ops`` knows it, the classes that take part, and arguments without those that have their default; a mode does
not see what it calls itself.
"""

from __future__ import annotations

import threading

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_disabled = _C._disabled_torch_dispatch_impl


class _State(threading.local):
    """Of a thread: its modes, the innermost last, and whether none is asked."""

    def __init__(self):
        self.modes, self.off = [], False


_state = _State()


def answers(kind: type) -> bool:
    """Whether tensors of a class take part in operators."""
    return getattr(kind, "__torch_dispatch__", _disabled) is not _disabled


def _answering(values, found):
    """The tensors that are asked, one of a class, those of derived classes before those of their bases."""
    for value in values:
        kind = type(value)
        if kind is list or kind is tuple:
            _answering(value, found)
        elif isinstance(value, _C.Tensor) and answers(kind) and all(kind is not type(f) for f in found):
            place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
            found.insert(place, value)
    return found


def ask(operator: Callable[..., Any], text: str, values: tuple[Any, ...]) -> Any:
    """What a mode or a class makes of a call; NotImplemented when there is neither."""
    found = [] if _state.off else _answering(values, [])
    if not found and (_state.off or not _state.modes):
        return NotImplemented
    from ._overloads import of_call

    return offer(*of_call(operator, text, values), found)


def offer(overload: Any, args: Any, kwargs: Any, found: Any) -> Any:
    """What the innermost mode, else the tensors in ``found``, make of an operator; TypeError when all decline."""
    kinds, rules = tuple(map(type, found)), getattr(overload, "dispatch_rules", None) or {}
    if modes := _state.modes:
        mode = modes[-1]
        try:  # Ctrl-C may come after any call
            modes.pop()
            _refresh()
            if (rule := rules.get(type(mode))) is not None:
                result = rule(mode, overload, kinds, args, kwargs)
            else:
                result = mode.__torch_dispatch__(overload, kinds, args, kwargs)
        finally:
            modes.append(mode)
            _refresh()
        if result is not NotImplemented:
            return result
    for tensor in found:
        if (rule := rules.get(type(tensor))) is not None:
            result = rule(type(tensor), overload, kinds, args, kwargs)
        else:
            result = type(tensor).__torch_dispatch__(overload, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    asked = [*([f"mode {type(modes[-1])}"] if modes else []), *map(str, kinds)]
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.{overload}'; all __torch_dispatch__ handlers returned NotImplemented:\n"
        + "\n".join(f"  - {one}" for one in asked)
    )


def asks(values: Any) -> list[Any] | None:
    """For operators in Python: the tensors to ask about a call, None when neither they nor a mode take part."""
    if _state.off:
        return None
    found = _answering(values, [])
    return found if found or _state.modes else None


def lift_fresh(tensor: Any) -> Any:
    """What the innermost mode makes of a tensor that was made of the program's data."""
    from .ops import aten

    return offer(aten.lift_fresh.default, (tensor,), {}, [])


def empty(sizes: Any, dtype: Any, device: Any) -> Any:
    """What the innermost mode makes of a tensor of which only sizes are said: ``torch.FloatTensor(2, 3)``."""
    import torch

    return torch.empty(sizes, dtype=dtype, device=device)


def tensor(data: Any, dtype: Any, device: Any) -> Any:
    """What the innermost mode makes of numbers: ``torch.FloatTensor([1, 2])``."""
    import torch

    return torch.tensor(data, dtype=dtype, device=device)


def item(tensor: Any) -> Any:
    """The number of a tensor without memory, which its class has to know, or of one that a mode sees; RuntimeError when
    none is asked."""
    if _state.off:
        raise RuntimeError(f"item: a {type(tensor).__name__} has no memory, and its __torch_dispatch__ was not asked")
    from .ops import aten

    value = offer(aten._local_scalar_dense.default, (tensor,), {}, _answering([tensor], []))
    if not isinstance(value, (int, float, complex)):
        raise TypeError(f"item: __torch_dispatch__ must return a number, not {type(value).__name__}")
    return value


# --- modes ---


def _refresh():
    """Tells operators whether this thread has a mode."""
    _C._set_dispatch_mode(bool(_state.modes) and not _state.off)


def push(mode: Any) -> None:
    """Begin to ask a mode."""
    _state.modes.append(mode)
    _refresh()


def pop() -> Any:
    """End to ask the innermost mode."""
    if not _state.modes:
        raise RuntimeError("a mode of __torch_dispatch__ is left that this thread has not entered")
    try:
        return _state.modes.pop()
    finally:
        _refresh()


def modes() -> list[Any]:
    """The modes of this thread, the innermost last."""
    return list(_state.modes)


def set_modes(modes: list[Any]) -> None:
    """Have these modes, the innermost last."""
    _state.modes[:] = modes
    _refresh()


class without_modes:
    """A block in which no mode is asked; gives the modes that were."""

    def __enter__(self) -> list[Any]:
        self._before, _state.modes = _state.modes, []
        _refresh()
        return list(self._before)

    def __exit__(self, *error: Any) -> None:
        _state.modes = self._before
        _refresh()


class DisableTorchDispatch:
    """A block in which neither modes nor classes are asked. Also of use as an object that ends with its scope."""

    def __init__(self) -> None:
        self._before, _state.off = _state.off, True
        _refresh()

    def __enter__(self) -> DisableTorchDispatch:
        return self

    def __exit__(self, *error: Any) -> None:
        self.__del__()

    def __del__(self) -> None:
        if (before := self._before) is not None:
            self._before, _state.off = None, before
            _refresh()


# --- tensors without memory ---


def make_wrapper_subclass(
    cls: Any,
    size: Any,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = _C.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
) -> Any:
    """A tensor of a class with ``__torch_dispatch__`` that says a size, dtype and device and has no memory.

    >>> class Shape(torch.Tensor):
    ...     @staticmethod
    ...     def __new__(cls, *size):
    ...         return torch.Tensor._make_wrapper_subclass(cls, size)
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         return Shape(*args[0].shape)
    >>> Shape(2, 3).exp().shape
    torch.Size([2, 3])
    """
    if layout is not _C.strided:
        raise NotImplementedError(f"_make_wrapper_subclass: only torch.strided has sizes and strides, got {layout}")
    if dispatch_sizes_strides_policy not in (None, "sizes", "strides") or dispatch_device or dispatch_layout:
        raise NotImplementedError(
            "_make_wrapper_subclass: a tensor's size, device and layout are what it was made with"
        )
    if dispatch_sizes_strides_policy is not None:
        raise NotImplementedError(
            "_make_wrapper_subclass(dispatch_sizes_strides_policy=...): sizes and strides are what the tensor was made with"
        )
    if pin_memory:
        raise RuntimeError("_make_wrapper_subclass: only dense CPU tensors can be pinned, and this one has no memory")
    dtype = _C.get_default_dtype() if dtype is None else dtype
    device = _C.device("cpu") if device is None else device
    return _C._hollow(cls, size, strides, storage_offset or 0, dtype, device, requires_grad)
