"""Functions of 2018: traces by hand."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from ._trace import _get_trace_graph


def get_trace_graph(f: Any, args: Any = (), kwargs: Any = None, nderivs: int = 0) -> Any:
    """The graph of a call, and what the function gave.

    >>> graph, result = torch.jit.get_trace_graph(lambda x: 2 * x, torch.ones(2))
    >>> result
    tensor([2., 2.])
    """
    if nderivs:
        raise NotImplementedError("get_trace_graph: derivatives are not part of the graph (nderivs=0)")
    return _get_trace_graph(f, args, kwargs)


def compile(
    arg: Any = None, nderivs: int = 1, params: Any = (), optimize: bool = True, enabled: bool = True, **settings: Any
) -> Any:
    """Compile a function, or the ``forward`` of a class of modules, when it is called; a decorator of 0.4.

    It is :func:`torch.compile`, which derives as often as a program asks (``nderivs`` and the other settings change nothing).

    >>> @torch.jit.compile(nderivs=0)
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    if arg is None:
        return lambda arg: compile(arg, nderivs, params, optimize, enabled, **settings)
    if not enabled:
        return arg
    if not isinstance(arg, type):
        return torch.compile(arg)
    arg.forward = torch.compile(arg.forward)
    return arg


def get_tracing_state(args: Any = None) -> None:
    """None: values carry no state of a tracer; ``torch.jit.is_tracing()`` tells whether one is at work.

    >>> print(torch.jit.get_tracing_state(torch.ones(1)))
    None
    """


def weak_script(fn: Any) -> Any:
    """A mark of 2018 for what scripts compile when they call it, as they do all; it stays as it is.

    >>> torch.jit.weak_script(len) is len
    True
    """
    return fn


weak_module = weak_script_method = weak_script


@contextlib.contextmanager
def scope(scope_name: str, *vars: Any) -> Any:
    """A block of a trace with a name; the graph does not show it.

    >>> with torch.jit.scope("hidden"):
    ...     print(torch.ones(1))
    tensor([1.])
    """
    yield


def verify(model: Any, args: Any, loss_fn: Any = torch.sum, devices: Any = None) -> None:
    """Compare loss and gradients of a module with those of its trace; AssertionError where they differ.

    >>> torch.jit.verify(torch.nn.Linear(2, 3), torch.ones(1, 2)) is None
    True
    """
    args = args if isinstance(args, tuple) else (args,)
    traced = torch.jit.trace(model, args, check_trace=False)
    found = []
    for each in (model, traced):
        weights = list(model.parameters())
        loss = loss_fn(each(*args))
        found.append((loss, *torch.autograd.grad(loss, weights, allow_unused=True)))
    for mine, theirs in zip(*found):
        if mine is not None:
            torch.testing.assert_close(theirs, mine)
