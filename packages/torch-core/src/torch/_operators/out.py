"""The borders of functions written in Python: arguments that must be tensors, and ``out=``."""

from __future__ import annotations

import functools

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


def into(name, result, out):
    """The result, or ``out`` with it: of its dtype, resized where it has another shape."""
    if out is None:
        return result
    if not isinstance(out, _C.Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if out.dtype != result.dtype:
        raise RuntimeError(
            f"{name}(): Expected out tensor to have dtype {result.dtype}, that of the result, but got {out.dtype} instead; "
            "leave out= away and convert the result"
        )
    return _C._operator("clone")(result, out=out)


def check_tensor(name, **arguments):
    """TypeError for the first argument that is not a tensor."""
    for argument, value in arguments.items():
        if not isinstance(value, _C.Tensor):
            raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(value).__name__}")


def check_tensors(function, args, kwargs):
    """TypeError for the first argument of a call that is annotated as a tensor and is none."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    for argument, value in (*zip(names, args), *kwargs.items()):
        if function.__annotations__.get(argument) == "Tensor":
            check_tensor(function.__name__, **{argument: value})


def of_tensors(function: F) -> F:
    """Say of an argument that is no tensor that it is none, where its attributes are missed. Calls that go well are not
    looked at."""

    @functools.wraps(function)
    def called(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except AttributeError:
            check_tensors(function, args, kwargs)
            raise

    return called  # type: ignore[return-value]
