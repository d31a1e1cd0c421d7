"""Switches for recording: each is a context manager, a decorator and, for ``set_grad_enabled``, a function."""

from __future__ import annotations

from functools import wraps
from inspect import isgeneratorfunction

from ._C import (
    _set_grad_enabled,
    _set_inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, overload

    from typing_extensions import Self

    F = TypeVar("F", bound=Callable[..., Any])

    def is_grad_enabled() -> bool: ...
    def is_inference_mode_enabled() -> bool: ...


__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class _Mode:
    """A context manager that also decorates functions and generators."""

    def again(self) -> Any:
        """A fresh instance with the same settings: a decorated function may be entered many times at once."""
        return type(self)()

    def __call__(self, function: F) -> F:
        if isgeneratorfunction(function):
            return _decorate_generator(self.again, function)
        again = self.again

        @wraps(function)
        def decorated(*args, **kwargs):
            with again():
                return function(*args, **kwargs)

        return decorated


def _decorate_generator(again, function):
    """The mode holds while the generator runs, and the caller's mode whenever it has yielded."""

    @wraps(function)
    def decorated(*args, **kwargs):
        generator = function(*args, **kwargs)
        try:
            with again():
                item = generator.send(None)
            while True:
                try:
                    request = yield item
                except GeneratorExit:
                    with again():
                        generator.close()
                    raise
                except BaseException as error:
                    with again():
                        item = generator.throw(error)
                else:
                    with again():
                        item = generator.send(request)
        except StopIteration as end:
            return end.value

    return decorated


class _OptionalCall(_Mode):
    """Lets ``@no_grad`` without parentheses decorate as well."""

    if TYPE_CHECKING:

        @overload
        def __new__(cls) -> Self: ...
        @overload
        def __new__(cls, function: F) -> F: ...
    else:

        def __new__(cls, function=None):
            self = object.__new__(cls)
            return self if function is None else self(function)


class no_grad(_OptionalCall):
    """Within it nothing is recorded: results have ``requires_grad=False``.

    >>> import torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __enter__(self) -> None:
        self.before = _set_grad_enabled(False)

    def __exit__(self, *error: Any) -> None:
        _set_grad_enabled(self.before)


class enable_grad(_OptionalCall):
    """Within it operations are recorded, also inside ``no_grad``.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = 2 * x
    >>> y.requires_grad
    True
    """

    def __enter__(self) -> None:
        self.before = _set_grad_enabled(True)

    def __exit__(self, *error: Any) -> None:
        _set_grad_enabled(self.before)


class set_grad_enabled(_Mode):
    """Switches recording on or off, at once; as a context manager until its end.

    >>> with torch.set_grad_enabled(False):
    ...     y = 2 * torch.ones(1, requires_grad=True)
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.before = _set_grad_enabled(self.mode)

    def again(self) -> Any:
        return set_grad_enabled(self.mode)

    def __call__(self, function: F) -> F:
        _set_grad_enabled(self.before)  # only the decorated function is to run in this mode
        return super().__call__(function)

    def __enter__(self) -> None:
        _set_grad_enabled(self.mode)

    def __exit__(self, *error: Any) -> None:
        _set_grad_enabled(self.before)

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"


class inference_mode(_Mode):
    """As ``no_grad``, for code that will never need a gradient of what it computes.

    Tensors made inside are inference tensors: no graph keeps them, and in-place operators outside refuse them.
    ``clone()`` makes a normal one; ``inference_mode(False)`` inside makes normal ones again.

    >>> with torch.inference_mode():
    ...     x = torch.ones(2)
    >>> x.is_inference(), x.clone().is_inference()
    (True, False)
    """

    if TYPE_CHECKING:

        @overload
        def __new__(cls, mode: bool = True) -> Self: ...
        @overload
        def __new__(cls, mode: F) -> F: ...
    else:

        def __new__(cls, mode=True):
            self = object.__new__(cls)
            if callable(mode):
                self.mode = True
                return self(mode)
            return self

    def __init__(self, mode: bool = True) -> None:
        self.mode = bool(mode)

    def again(self) -> Any:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self.before = _set_inference_mode(self.mode), _set_grad_enabled(not self.mode)

    def __exit__(self, *error: Any) -> None:
        inference, grad = self.before
        _set_inference_mode(inference)
        _set_grad_enabled(grad)


class set_multithreading_enabled(_Mode):
    """Kept for programs that call it: backward runs on the thread that asks for it, whatever the setting."""

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)

    def again(self) -> Any:
        return set_multithreading_enabled(self.mode)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: Any) -> None:
        return None
