"""Functions of 2016: classes whose instances are called, ``F(3)(x)``, with ``forward(self, x)`` and ``backward(self, grad)``.

The context of a call is then a copy of the instance: an object of its class, which shares its attributes.
"""

from __future__ import annotations

import threading
from typing import Any

from .function import Function, FunctionMeta

_calls = threading.local()


def call(instance: Any, args: tuple) -> Any:
    """Run ``forward`` of the instance, and record the call when an argument requires a gradient."""
    kind = type(instance)
    run = kind.__dict__.get("_run_of_instances") or _run(kind)
    before, _calls.instance = getattr(_calls, "instance", None), instance
    try:
        return run.apply(*args)
    finally:
        _calls.instance = before


def _run(kind: type) -> type:
    """The Function of today that runs a class of then."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        ctx.__dict__ = _calls.instance.__dict__
        return kind.forward(ctx, *inputs)

    def backward(ctx: Any, *grads: Any) -> Any:
        return kind.backward(ctx, *grads)

    run = FunctionMeta(
        kind.__name__, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    )
    # An object of the class itself, so that its methods are there, and grad_fn is one.
    run._backward_cls = type(
        kind.__name__,
        (kind,),
        {
            "_forward_cls": run,
            "_backward_function": staticmethod(run._run_backward),
            "__module__": kind.__module__,
            "__init__": lambda self: None,  # it takes over what that of the instance has set
        },
    )
    kind._run_of_instances = run
    return run
