"""Trades time for memory: what a part of a network saves for its backward pass is thrown away and computed again.

The part runs under hooks that keep a placeholder in place of each saved tensor. When the backward pass asks for the first
of them, the part runs once more, from the same inputs and random state, until it has saved as many tensors as before.
(T. Chen, B. Xu, C. Zhang, C. Guestrin, Training deep nets with sublinear memory cost, arXiv:1604.06174.)
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import Function
from torch.autograd.graph import saved_tensors_hooks

_settings: dict[str, bool | None] = {"early_stop": None, "debug": None}


class CheckpointError(RuntimeError):
    """The part did something else when it ran again."""


def noop_context_fn():
    """The two contexts, of the first run and of the second, that `checkpoint` uses unless told otherwise."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable,
    *args,
    use_reentrant: bool | None = None,
    context_fn: Callable = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs,
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
    part = _Part(function, args, kwargs, preserve, again, determinism_check == "default", early_stop, debug)
    with saved_tensors_hooks(part.pack, part.unpack), first:
        result = function(*args, **kwargs)
    part.complete = True
    return result


class _Place:
    """Stands for tensor number `index` of those that the first run saved; holds it between the second run and its use."""

    __slots__ = ("__weakref__", "index", "value")

    def __init__(self, index: int):
        self.index = index
        self.value = None


class _Stop(Exception):
    """Everything that was saved at first has been saved again."""


class _Part:
    """One run of a checkpointed part, able to run again."""

    def __init__(self, function, args, kwargs, preserve, context, compare, early_stop, debug):
        self._call = function, args, kwargs
        self._random = torch.get_rng_state() if preserve else None
        self._context = context
        self._compare = compare
        self._early_stop = early_stop
        self._debug = debug
        self._facts: list[tuple] = []
        self._places: weakref.WeakValueDictionary[int, _Place] = weakref.WeakValueDictionary()
        self.complete = False

    def pack(self, tensor):
        place = _Place(len(self._facts))
        self._facts.append(_facts(tensor))
        self._places[place.index] = place
        return place

    def unpack(self, place: _Place):
        if not self.complete:
            raise CheckpointError("checkpoint: a backward pass began inside the part before it had ended")
        if place.value is None:
            self._run_again()
        return place.value

    def _run_again(self) -> None:
        function, args, kwargs = self._call
        count = 0

        def keep(tensor):
            nonlocal count
            index, count = count, count + 1
            if index >= len(self._facts):
                raise CheckpointError(
                    f"checkpoint: the part saved {len(self._facts)} tensors for its backward pass at first, and more when it "
                    "ran again: it does not do the same each time (does it read a flag, a counter or the time?)"
                )
            if self._compare and _facts(tensor) != self._facts[index]:
                raise CheckpointError(
                    f"checkpoint: tensor {index} of {len(self._facts)} saved for backward was {_words(self._facts[index])} "
                    f"at first and is {_words(_facts(tensor))} when the part runs again: it does not do the same each time"
                )
            if (place := self._places.get(index)) is not None:
                place.value = tensor.detach()
            if self._early_stop and count == len(self._facts):
                raise _Stop
            return tensor

        with _random_state(self._random), torch.enable_grad(), self._context:
            with saved_tensors_hooks(keep, _unused), contextlib.suppress(_Stop):
                function(*args, **kwargs)
        if count != len(self._facts):
            raise CheckpointError(
                f"checkpoint: the part saved {len(self._facts)} tensors for its backward pass at first, and {count} when it "
                "ran again: it does not do the same each time"
            )


def _unused(tensor):
    return tensor


def _facts(tensor) -> tuple:
    return tuple(tensor.shape), tensor.dtype, tensor.device


def _words(facts) -> str:
    shape, dtype, device = facts
    return f"{shape} {dtype} on {device}"


@contextlib.contextmanager
def _random_state(state):
    if state is None:
        yield
        return
    before = torch.get_rng_state()
    torch.set_rng_state(state)
    try:
        yield
    finally:
        torch.set_rng_state(before)


class CheckpointFunction(Function):
    """The reentrant way: the second run records a graph of its own and differentiates it inside the backward pass."""

    @staticmethod
    def forward(ctx, function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.function = function
        ctx.random = torch.get_rng_state() if preserve_rng_state else None
        ctx.tensors = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.others = [None if i in ctx.tensors else arg for i, arg in enumerate(args)]
        ctx.save_for_backward(*[args[i] for i in ctx.tensors])
        with torch.no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx, *grads):
        args = list(ctx.others)
        for i, tensor in zip(ctx.tensors, detach_variable(ctx.saved_tensors)):
            args[i] = tensor
        with _random_state(ctx.random), torch.enable_grad():
            outputs = ctx.function(*args)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        wanted = [
            (output, grad)
            for output, grad in zip(outputs, grads)
            if isinstance(output, torch.Tensor) and output.requires_grad
        ]
        if not wanted:
            raise RuntimeError(
                "checkpoint: no output requires grad, so the part has no backward pass (use_reentrant=False would have told)"
            )
        torch.autograd.backward([output for output, _ in wanted], [grad for _, grad in wanted])
        return (None, None, *[arg.grad if isinstance(arg, torch.Tensor) else None for arg in args])


def detach_variable(inputs: tuple) -> tuple:
    """The tensors without their history, requiring grad as they did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"detach_variable: expected a tuple of tensors, got {type(inputs).__name__}")
    out = []
    for tensor in inputs:
        if isinstance(tensor, torch.Tensor):
            detached = tensor.detach()
            detached.requires_grad_(tensor.requires_grad)
            tensor = detached
        out.append(tensor)
    return tuple(out)


def check_backward_validity(inputs) -> None:
    """Warns when no input requires grad: the reentrant way then gives no gradients at all."""
    if not any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
        import warnings

        warnings.warn(
            "checkpoint: no input requires grad, so with use_reentrant=True nothing gets a gradient; use use_reentrant=False",
            stacklevel=3,
        )


def checkpoint_sequential(functions, segments: int, input, use_reentrant: bool | None = None, **kwargs):
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
    def __init__(self, name: str, value: bool | None):
        self._name = name
        self._value = value

    def __enter__(self):
        self._before = _settings[self._name]
        _settings[self._name] = self._value
        return self

    def __exit__(self, *error):
        _settings[self._name] = self._before


def set_checkpoint_early_stop(enable: bool) -> _Setting:
    """Context in which `checkpoint` ends its second runs early, or does not."""
    return _Setting("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> _Setting:
    """Context in which `checkpoint` has debug on, off, or as its caller says (None)."""
    return _Setting("debug", enabled)
