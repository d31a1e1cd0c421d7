"""Functions of torch that call other functions, in a program. Of the transforms of ``torch.func`` the function that is
transformed is followed, the transform runs by itself, and what both compute is recorded as operators of plain tensors.
"""

from __future__ import annotations

import functools
import sys

import torch

from ._tables import tensors_in

#: what makes a function of a function; what calls one, and may give a function
_MAKING = ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian")
_CALLING = ("vjp", "jvp", "linearize")


def behind(tensor):
    """The plain tensors that one stands for: all examples of a batch, the primal and the tangent of a dual number.

    >>> torch.func.vmap(lambda x: [print(each.shape) for each in behind(x)] and x)(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    torch.Size([2, 3])
    """
    functions = sys.modules["torch.autograd._C"]
    level, is_dual = functions._level_among((tensor,))
    if not level:
        yield tensor
        return
    inner = functions._dual_parts(tensor) if is_dual else (functions._vmap_unwrap(tensor, level),)
    for each in inner:
        if each is not None:
            yield from behind(each)


def stand_for_others(tensors):
    """Whether tensors are batches or dual numbers of a transform that calls a compiled function: it runs as it was written."""
    functions = sys.modules.get("torch.autograd._C")
    return functions is not None and functions._level_among(tuple(tensors))[0] > 0


def _watched(observer, function):
    """A function that is followed where a transform calls it."""

    def within(*args, **kwargs):
        before = observer.working, observer.transforming
        observer.working, observer.transforming = False, None
        try:
            return observer.apply_all(function, args, kwargs)
        finally:
            observer.working, observer.transforming = before

    within.__name__ = within.__qualname__ = getattr(function, "__name__", type(function).__name__)
    return within


def _run(observer, function, args, kwargs):
    before = observer.working, observer.transforming
    observer.working, observer.transforming = True, function
    observer.transforms += 1
    try:
        result = function(*args, **kwargs)
    finally:
        observer.transforms -= 1
        observer.working, observer.transforming = before
    if observer.reason is None and not observer.transforms:
        for each in tensors_in(result):  # a dual number's primal is a tensor beside the operator's result
            if not observer.tracer.has_value(each) and observer.tracer.has_alias(each):
                observer.tracer.value_of(each)
    if observer.reason is None and not observer.result(result):
        observer.stop("a transform of torch.func gives a tensor that is not recorded")
    return result


def _marked(observer, made):
    """A function that a transform gave: it runs as the transform does."""
    observer.kept.append(made)
    observer.transformed.add(id(made))
    return made


def run(observer, function, args, kwargs):
    """Call a function that a transform gave."""
    return _run(observer, function, args, kwargs)


def _making(name, observer, args, kwargs):
    function, *rest = args
    before, observer.working = observer.working, True
    try:
        made = getattr(torch.func, name)(_watched(observer, function), *rest, **kwargs)
    finally:
        observer.working = before
    return _marked(observer, made)


def _calling(name, observer, args, kwargs):
    function, *rest = args
    result = _run(observer, getattr(torch.func, name), (_watched(observer, function), *rest), kwargs)
    for each in result:
        if callable(each) and not isinstance(each, torch.Tensor):
            _marked(observer, each)
    return result


def _functional_call(observer, args, kwargs):
    """The module runs with other tensors in place of its own, for all that reads them, and the program takes them from where
    they came.
    """
    from torch.nn.utils import stateless

    module, tensors, args, kwargs, options = _given(*args, **kwargs)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    before, observer.working = observer.working, True
    try:
        tensors = stateless._joined(tensors) if isinstance(tensors, (list, tuple)) else tensors
        wanted = stateless._replacements(module, tensors, stateless._places(module), **options)
        with stateless._reparametrize_module(module, tensors, **options):
            outer, observer.replaced = observer.replaced, {**observer.replaced}
            for path, tensor in wanted.items():
                owner, _, name = path.rpartition(".")
                observer.replaced[id(module.get_submodule(owner)), name] = tensor
            observer.working = before
            try:
                return observer.apply_all(module, args, kwargs or {})
            finally:
                observer.working, observer.replaced = True, outer
    finally:
        observer.working = before


def _given(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    return module, parameter_and_buffer_dicts, args, kwargs, {"tie_weights": tie_weights, "strict": strict}


def _checkpoint(observer, args, kwargs):
    """``checkpoint(function, *args)``: the program decides by itself what it keeps."""
    function, *given = args
    options = {k: kwargs[k] for k in kwargs if k in _OF_CHECKPOINT}
    if options.get("context_fn") is not None or options.get("debug"):
        observer.stop("checkpoint(context_fn=...) is called")
    return observer.apply_all(function, given, {k: v for k, v in kwargs.items() if k not in _OF_CHECKPOINT})


_OF_CHECKPOINT = ("use_reentrant", "context_fn", "determinism_check", "debug", "preserve_rng_state", "early_stop")
_TABLE = {
    **{f"torch.func.{name}": functools.partial(_making, name) for name in _MAKING},
    **{f"torch.func.{name}": functools.partial(_calling, name) for name in _CALLING},
    "torch.func.functional_call": _functional_call,
    "torch.utils.checkpoint.calls.checkpoint": _checkpoint,
}


def handler(function, module):
    """What stands for a function of torch that calls others while a program is captured, or None."""
    if module.startswith("torch.func"):
        module = "torch.func"
    return _TABLE.get(f"{module}.{function.__qualname__}") if module.startswith("torch.") else None
