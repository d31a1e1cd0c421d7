"""The functions that a network calls, and what they can be told for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from .part import Part
from .reentrant import CheckpointFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor
    from typing_extensions import Self


_settings: dict[str, bool | None] = {"early_stop": None, "debug": None}


def noop_context_fn() -> Any:
    """The two contexts, of the first run and of the second, that `checkpoint` uses unless told otherwise."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """The result of ``function(*args, **kwargs)``, whose intermediate results are computed again for the backward pass.

    Args:
        function: what to run; it must do the same when it runs again
        use_reentrant: True for the way of before 2022, in which the second run records a graph of its own: it needs an
            input that requires grad, and gives no gradients to tensors that are not arguments' own
        context_fn: gives two context managers, for the first run and for the second
        determinism_check: "default" compares shape, dtype and device of what is saved each time; "none" does not
        debug: errors name the first tensor that differs
        early_stop: the second run ends as soon as all has been saved
        preserve_rng_state: both runs draw the same random numbers (default: True)

    Example:
        >>> import torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> checkpoint(lambda x: x.exp().sin(), x).sum().backward()
        >>> x.grad
        tensor([-2.4783, -2.4783])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"checkpoint: determinism_check must be 'default' or 'none', got {determinism_check!r}")
    if use_reentrant:
        if kwargs:
            raise ValueError(
                f"checkpoint: with use_reentrant=True there are no keyword arguments; got {', '.join(kwargs)}"
            )
        if context_fn is not noop_context_fn or debug:
            raise ValueError("checkpoint: context_fn and debug need use_reentrant=False")
        return CheckpointFunction.apply(function, preserve, *args)
    first, again = context_fn()
    if not torch.is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    if _settings["early_stop"] is not None:
        early_stop = bool(_settings["early_stop"])
    if _settings["debug"] is not None:
        debug = bool(_settings["debug"])
    part = Part(function, args, kwargs, preserve, again, determinism_check == "default", early_stop, debug)
    with saved_tensors_hooks(part.pack, part.unpack), first:
        result = function(*args, **kwargs)
    part.complete = True
    return result


def checkpoint_sequential(
    functions: Any, segments: int, input: Tensor, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A sequence of modules, run in `segments` parts of which all but the last are checkpointed.

    Example:
        >>> import torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> checkpoint_sequential([torch.exp, torch.sin, torch.cos], 2, x).sum().backward()
        >>> x.grad
        tensor([0.9897, 0.9897])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"checkpoint_sequential: unexpected keyword arguments {', '.join(kwargs)}")
    functions = list(functions.children() if isinstance(functions, torch.nn.Module) else functions)
    if not 1 <= segments <= max(len(functions), 1):
        raise ValueError(f"checkpoint_sequential: {len(functions)} modules cannot make {segments} segments")
    size = len(functions) // segments

    def run(begin: int, end: int) -> Callable:
        def part(x):
            for function in functions[begin:end]:
                x = function(x)
            return x

        return part

    for begin in range(0, size * (segments - 1), size):
        input = checkpoint(run(begin, begin + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(size * (segments - 1), len(functions))(input)


class _Setting:
    def __init__(self, name: str, value: bool | None) -> None:
        self._name = name
        self._value = value

    def __enter__(self) -> Self:
        self._before = _settings[self._name]
        _settings[self._name] = self._value
        return self

    def __exit__(self, *error: Any) -> None:
        _settings[self._name] = self._before


def set_checkpoint_early_stop(enable: bool) -> _Setting:
    """Context in which `checkpoint` ends its second runs early, or does not."""
    return _Setting("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> _Setting:
    """Context in which `checkpoint` has debug on, off, or as its caller says (None)."""
    return _Setting("debug", enabled)
