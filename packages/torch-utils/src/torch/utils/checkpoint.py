"""Trades time for memory: what a part of a network saves for its backward pass is thrown away and computed again.

The part runs under hooks that keep a placeholder in place of each saved tensor. When the backward pass asks for the first
of them, the part runs once more, from the same inputs and random state, until it has saved as many tensors as before.
(T. Chen, B. Xu, C. Zhang, C. Guestrin, Training deep nets with sublinear memory cost, arXiv:1604.06174.)
"""

from __future__ import annotations

import contextlib
import enum
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


# --- selective checkpoints: some results are kept instead of being computed again


class CheckpointPolicy(enum.Enum):
    """What a policy says of an operator: keep its result, or compute it again. MUST and PREFER mean the same here."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


SAC_IGNORED_OPS: set = set()


class SelectiveCheckpointContext:
    """What a policy is told beside the operator: whether this is the second run, and the operator's result if it is known."""

    def __init__(self, *, is_recompute: bool, op_output=None):
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation: bool = False):
    """The two contexts that ``checkpoint(..., context_fn=...)`` takes, of which the first keeps results for the second.

    Products and convolutions are asked about (``mm``, ``bmm``, ``addmm``, ``matmul``, ``linear``, ``convolution`` and their kin); the
    rest is always computed again.

    Args:
        policy_fn_or_list: ``policy(ctx, op, *args)``, which gives a `CheckpointPolicy` or a bool (True: keep), where op
            is the function of torch; or a list of functions, or their names, whose results are kept
        allow_cache_entry_mutation: results that were changed in place meanwhile are used all the same

    Example:
        >>> import functools
        >>> x = torch.ones(2, 2, requires_grad=True)
        >>> contexts = functools.partial(create_selective_checkpoint_contexts, [torch.mm])
        >>> checkpoint(lambda x: x.mm(x).sin(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    """
    if callable(policy_fn_or_list):
        policy = policy_fn_or_list
    elif isinstance(policy_fn_or_list, (list, tuple, set)):
        kept = {op if isinstance(op, str) else op.__name__ for op in policy_fn_or_list}

        def policy(ctx, op, *args):
            return op.__name__ in kept

    else:
        raise TypeError(
            f"create_selective_checkpoint_contexts: expected a function or a list, got {type(policy_fn_or_list).__name__}"
        )
    results: list[tuple[str, Any, int]] = []
    return _Keeping(policy, results), _Using(policy, results, allow_cache_entry_mutation)


class _Hook:
    """A context in which this thread's products and convolutions ask `_asked`."""

    def __init__(self, policy, results):
        self._policy, self._results = policy, results

    def __enter__(self):
        from torch import _cold

        self._before = _cold.set_hook(self._asked)
        return self

    def __exit__(self, *error):
        from torch import _cold

        _cold.set_hook(self._before)

    def _keeps(self, op: str, args, again: bool) -> bool:
        function = getattr(torch, op, None) or getattr(torch.nn.functional, op)
        said = self._policy(SelectiveCheckpointContext(is_recompute=again), function, *args)
        if isinstance(said, bool):
            return said
        if said is CheckpointPolicy.MUST_CPU_OFFLOAD:
            raise NotImplementedError("checkpoint: results are kept where they are; MUST_CPU_OFFLOAD waits for CUDA")
        if not isinstance(said, CheckpointPolicy):
            raise TypeError(
                f"checkpoint: a policy gives a CheckpointPolicy or a bool, got {type(said).__name__} for {op}"
            )
        return said in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class _Keeping(_Hook):
    """Of the first run."""

    def _asked(self, op, args):
        if not self._keeps(op, args, False):
            return None
        return lambda result: self._results.append((op, result, result._version))


class _Using(_Hook):
    """Of the second run."""

    def __init__(self, policy, results, mutable):
        super().__init__(policy, results)
        self._mutable = mutable

    def __enter__(self):
        self._next = 0
        return super().__enter__()

    def _asked(self, op, args):
        if not self._keeps(op, args, True):
            return None
        if self._next >= len(self._results) or self._results[self._next][0] != op:
            there = self._results[self._next][0] if self._next < len(self._results) else "none"
            raise CheckpointError(
                f"checkpoint: the policy keeps {op} when the part runs again, where at first it kept {there}: it does not do the "
                "same each time"
            )
        _, result, version = self._results[self._next]
        self._next += 1
        if result._version != version and not self._mutable:
            raise CheckpointError(
                f"checkpoint: the kept result of {op} was changed in place after it was kept; "
                "allow_cache_entry_mutation=True uses it all the same"
            )
        return result
