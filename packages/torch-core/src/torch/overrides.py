"""``__torch_function__``: classes that take part in calls of operators, and modes that see all calls of a thread.

An operator whose argument is of a class with ``__torch_function__`` calls that in place of itself, a tensor's subclass or
not; so do functions in Python that ask (:func:`has_torch_function`, :func:`handle_torch_function`). Subclasses that define
nothing take ``Tensor.__torch_function__``, which computes the result and gives it the class.

>>> class Unit(torch.Tensor):
...     "Metres."
>>> length = torch.tensor([1.0, 2.0]).as_subclass(Unit)
>>> type(length * 2).__name__, type((length + torch.ones(2)).sum()).__name__
('Unit', 'Unit')
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions",
    "get_testing_overrides", "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
    "is_tensor_like", "is_tensor_method_or_property", "redispatch_function", "resolve_name", "wrap_torch_function",
]  # fmt: skip

_disabled = _C._disabled_torch_function_impl


class _State(threading.local):
    """Of a thread: the modes around it, the innermost last, and what is switched off."""

    def __init__(self):
        self.modes, self.without_classes, self.without_modes, self.skip = [], False, False, False


_state = _State()


# --- who is asked ---


def is_tensor_like(inp: Any) -> bool:
    """True of a tensor and of what brings ``__torch_function__``.

    >>> torch.overrides.is_tensor_like(torch.ones(2)), torch.overrides.is_tensor_like(2.0)
    (True, False)
    """
    return isinstance(inp, _C.Tensor) or hasattr(type(inp), "__torch_function__")


_PLAIN = {_C.Tensor, int, float, bool, str, type(None), slice, _C.dtype}


def _overriding(arguments, found=None, within=0):
    """The arguments that bring ``__torch_function__``, one of a class, those of derived classes before those of their bases;
    also those in lists and tuples, ``within`` levels of them."""
    found = [] if found is None else found
    for argument in arguments:
        kind = type(argument)
        if kind in _PLAIN or isinstance(argument, type):
            continue
        if kind is tuple or kind is list:
            if within:
                _overriding(argument, found, within - 1)
        elif getattr(kind, "__torch_function__", _disabled) is not _disabled:
            if not any(kind is type(other) for other in found):
                place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
                found.insert(place, argument)
    return found


_declined = object()  # of _ask(): all returned NotImplemented


def _in_force(found):
    """The modes and the overriding arguments that are asked."""
    return () if _state.without_modes else _state.modes, () if _state.without_classes else found


def _ask(function, found, args, kwargs):
    """What modes and overriding arguments make of a call; NotImplemented when there are none, ``_declined`` when none answers."""
    modes, found = _in_force(found)
    if not modes and not found:
        return NotImplemented
    kinds = tuple(map(type, found))
    if modes:
        mode = modes[-1]
        try:  # Ctrl-C may come after any call
            modes.pop()
            _refresh()
            result = mode.__torch_function__(function, kinds, args, kwargs)
        finally:
            modes.append(mode)
            _refresh()
        if result is not NotImplemented:
            return result
    for argument in found:
        result = argument.__torch_function__(function, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    return _declined


def _call(function, found, args, kwargs):
    """_ask(), and TypeError when none answers."""
    result = _ask(function, found, args, kwargs)
    if result is not _declined:
        return result
    name, (modes, found) = _name(function), _in_force(found)
    kinds = map(type, found)
    asked = [*([f"mode {type(modes[-1])}"] if modes else []), *map(str, kinds)]
    raise TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: [{', '.join(asked)}] all "
        "returned NotImplemented"
    )


def _enter(function, args, kwargs):
    """For operators: _call() with all arguments."""
    found = _overriding(args, within=2)
    if kwargs:
        _overriding(kwargs.values(), found, 2)
    return _call(function, found, args, kwargs or {})


def _enter_operator(function, operands):
    """For operators of the language: ``_declined`` when none answers, for Python to ask the other operand."""
    return _ask(function, _overriding(operands, within=2), operands, {})


def _name(function):
    """What errors call a function."""
    known = resolve_name(function) or getattr(function, "__name__", repr(function))
    return known if "." in known else f"{getattr(function, '__module__', '')}.{known}"


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument brings ``__torch_function__``, or a mode is there to see the call.

    >>> torch.overrides.has_torch_function((torch.ones(2), 1))
    False
    """
    if _state.skip:
        _state.skip = False
        return False
    if _state.modes and not _state.without_modes:
        return True
    return not _state.without_classes and bool(_overriding(relevant_args))


def has_torch_function_unary(argument: Any) -> bool:
    """:func:`has_torch_function` of one argument."""
    return has_torch_function((argument,))


def has_torch_function_variadic(*arguments: Any) -> bool:
    """:func:`has_torch_function` of arguments one by one."""
    return has_torch_function(arguments)


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Calls ``__torch_function__`` of the mode and of each argument that has one, until a result is not ``NotImplemented``;
    TypeError when all are."""
    result = _call(public_api, _overriding(relevant_args), args, kwargs)
    if result is NotImplemented:
        raise TypeError(f"handle_torch_function: no argument of '{_name(public_api)}' implements __torch_function__")
    return result


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorates a function so that ``__torch_function__`` of the arguments that ``dispatcher`` names takes part in it.

    >>> @torch.overrides.wrap_torch_function(lambda a: (a,))
    ... def double(a):
    ...     return a + a
    >>> double(torch.tensor(2.0))
    tensor(4.)
    """

    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
    """In a ``__torch_function__``: the function itself, which does not ask the classes or the mode again, while what a function
    in Python calls is seen as any other call.

    >>> class Log(torch.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return torch.overrides.redispatch_function(func, types, args, kwargs)
    >>> torch.tensor(1.0).as_subclass(Log) + 1
    add
    tensor(2.)
    """
    if inspect.isfunction(func):
        _state.skip = True  # for its own question
        try:
            return func(*args, **(kwargs or {}))
        finally:
            _state.skip = False
    with DisableTorchFunction():
        return func(*args, **(kwargs or {}))


def enable_reentrant_dispatch() -> Any:
    """A block within ``__torch_dispatch__`` whose operators are seen by autograd and autocast again.

    >>> with torch.overrides.enable_reentrant_dispatch():
    ...     x = torch.ones(1)
    """
    return _Reentrant()


class _Reentrant:
    def __enter__(self):
        self._before = _C._set_excluded_keys(-1)

    def __exit__(self, *error):
        _C._set_excluded_keys(self._before)


_TRACE = 1 << 13  # the layer of traces among dispatch keys


class _Unrecorded:
    """A block whose operators no trace records, nor an exported program: what is made in it is a constant to them."""

    _open = threading.local()

    def __enter__(self):
        self._before = _C._set_excluded_keys(-1)
        _C._set_excluded_keys(self._before | _TRACE)
        self._open.count = getattr(self._open, "count", 0) + 1

    def __exit__(self, *error):
        self._open.count -= 1
        _C._set_excluded_keys(self._before)


def _is_unrecorded():
    """Whether such a block runs on this thread."""
    return getattr(_Unrecorded._open, "count", 0) > 0


def _get_overloaded_args(relevant_args: Iterable[Any], get_type_fn: Any = None) -> list[Any]:
    """The arguments that bring ``__torch_function__``, one of a class, those of derived classes first."""
    return _overriding(relevant_args)


# --- subclasses ---


def _with_class(held, cls):
    """The one result in the list with its tensors, also in tuples and lists, as ones of the class."""
    result = held[0]
    if isinstance(result, _C.Tensor):
        if isinstance(result, cls):
            return result
        del result  # what only the list holds becomes of the class itself
        return _C._give_class(held, cls)
    if isinstance(result, (tuple, list)) and any(isinstance(r, (_C.Tensor, tuple, list)) for r in result):
        make, items = getattr(result, "_make", type(result)), list(result)
        del result
        held.clear()  # and the tuple, or each tensor would seem to be referred to
        items.reverse()
        return make([_with_class([items.pop()], cls) for _ in range(len(items))])
    return result


def _of_subclass(cls, func, types, args=(), kwargs=None):
    """``Tensor.__torch_function__``: the function's result, its tensors of the class ``cls``."""
    for kind in types:
        if not issubclass(cls, kind):
            return NotImplemented
    state = _state
    before, state.without_classes = state.without_classes, True
    was_off = _C._set_overrides_off(state.without_modes or not state.modes)
    try:
        held = [func(*args, **kwargs) if kwargs else func(*args)]
    finally:
        state.without_classes = before
        _C._set_overrides_off(was_off)
    return held[0] if cls is _C.Tensor or func in get_default_nowrap_functions() else _with_class(held, cls)


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results ``Tensor.__torch_function__`` leaves as they are."""
    # Without asking the descriptors: that of `grad` imports torch.autograd, which need not be installed.
    return {vars(_C.Tensor)[name].__get__ for name in ("_base", "grad")}


# --- switching off ---


def _refresh():
    """Tells operators whether an override can take part in this thread's calls."""
    _C._set_function_mode(bool(_state.modes))
    return _C._set_overrides_off(_state.without_classes and (_state.without_modes or not _state.modes))


class _Switch:
    _values = ()

    def __enter__(self):
        self._before = (_state.without_classes, _state.without_modes)
        _state.without_classes = self._values[0]
        _state.without_modes = self._values[1] or (self._values[1] is None and _state.without_modes)
        _refresh()
        return self

    def __exit__(self, *error):
        _state.without_classes, _state.without_modes = self._before
        _refresh()
        return False


class DisableTorchFunction(_Switch):
    """A block in which neither classes nor modes take part in calls."""

    _values = (True, True)


class _EnableTorchFunction(_Switch):
    """A block in which both do, inside of one in which they do not."""

    _values = (False, False)


class DisableTorchFunctionSubclass(_Switch):
    """A block in which classes do not take part in calls, and modes do."""

    _values = (True, None)


def _plain(func, args, kwargs):
    """``_disabled_torch_function_impl``: the function's own result."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def _is_torch_function_enabled():
    return not _state.without_classes


def _is_torch_function_all_disabled():
    return _state.without_classes and _state.without_modes


def _is_torch_function_mode_enabled():
    return bool(_state.modes) and not _state.without_modes


# --- modes ---


def _push_mode(mode):
    _state.modes.append(mode)
    _refresh()


def _pop_mode():
    if not _state.modes:
        raise RuntimeError("a mode of __torch_function__ is left that this thread has not entered")
    try:
        return _state.modes.pop()
    finally:
        _refresh()


def _get_current_function_mode():
    """The innermost mode, or None."""
    return _state.modes[-1] if _state.modes else None


def _get_current_function_mode_stack():
    """The modes of this thread, the innermost last."""
    return list(_state.modes)


def _set_modes(modes):
    """Have these modes, the innermost last."""
    _state.modes[:] = modes
    _refresh()


class TorchFunctionMode:
    """A block whose calls all go to the mode's ``__torch_function__``, which may make them: outside of the mode.

    >>> class Count(torch.overrides.TorchFunctionMode):
    ...     calls = 0
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         self.calls += 1
    ...         return func(*args, **(kwargs or {}))
    >>> with Count() as count:
    ...     x = torch.ones(2) + 1
    >>> count.calls
    2
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __torch_function__")

    def __enter__(self):
        _push_mode(self)
        return self

    def __exit__(self, *error):
        _pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """A mode, for ``with``."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that makes every call as it is."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


# --- what can be overridden ---


@functools.cache
def _overridable():
    import torch

    operator = type(_C._operator("add"))
    found = {torch: [], torch.Tensor: []}
    for module, functions in _C._functions().items():
        place = torch
        for name in filter(None, module.split(".")):
            try:
                place = getattr(place, name)
            except (AttributeError, ImportError):  # a part that is not installed
                place = None
                break
        if place is not None:
            found.setdefault(place, []).extend(functions.values())
    for name in dir(_C.Tensor):
        value = inspect.getattr_static(_C.Tensor, name)
        if isinstance(value, operator) or name in ("to", "__getitem__", "__setitem__"):
            found[torch.Tensor].append(value)
    return found


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that ``__torch_function__`` sees, by the module or class they stand in: operators, ``Tensor.to`` and
    indexing. Functions in Python are seen by the operators they call.

    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    return {place: list(functions) for place, functions in _overridable().items()}


@functools.cache
def _names():
    import torch

    names = {}
    for place, functions in _overridable().items():
        prefix = "torch.Tensor" if place is torch.Tensor else place.__name__
        for function in functions:
            names.setdefault(function, f"{prefix}.{function.__name__}")
    return names


def resolve_name(f: Any) -> str | None:
    """The public name of a function, or None.

    >>> torch.overrides.resolve_name(torch.nn.functional.linear), torch.overrides.resolve_name(torch.Tensor.add_)
    ('torch.nn.functional.linear', 'torch.Tensor.add_')
    """
    try:
        known = _names().get(f)
    except TypeError:  # not hashable
        return None
    owner, _, name = str(getattr(f, "__qualname__", "")).rpartition(".")
    if not known and owner == "Tensor" and getattr(_C.Tensor, name, None) is f:  # rare methods, and those of protocols
        return f"torch.Tensor.{name}"
    if known or not str(getattr(f, "__module__", None)).startswith("torch"):
        return known
    parent = f.__module__
    while (
        parent.rpartition(".")[0] != "torch"
        and getattr(sys.modules.get(parent.rpartition(".")[0]), f.__name__, None) is f
    ):
        parent = parent.rpartition(".")[0]
    return f"{parent}.{f.__qualname__}" if hasattr(f, "__qualname__") else None


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function is a method of Tensor, or the getter of one of its attributes.

    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add_)
    True
    """
    return func in _overridable()[_C.Tensor] or getattr(func, "__name__", None) == "__get__"


@functools.cache
def get_ignored_functions() -> set[Any]:
    """Public functions of torch that ``__torch_function__`` does not see."""
    import torch

    known = _names()
    found = set()
    for name in dir(torch):
        value = torch.__dict__.get(name)
        if not name.startswith("_") and callable(value) and not isinstance(value, type) and value not in known:
            found.add(value)
    return found


@functools.cache
def get_testing_overrides() -> dict[Any, Callable[..., int]]:
    """For each function that can be overridden, one of the same signature that gives -1."""

    def stand_in(function):
        def give(*args, **kwargs):
            return -1

        try:
            give.__signature__ = inspect.signature(function)
        except ValueError:  # nothing says it
            pass
        return give

    return {function: stand_in(function) for function in _names()}
