"""Names of ``torch._dynamo`` that programs import: the capture of ``torch.compile`` is in :mod:`torch.compiler`."""

from __future__ import annotations

from torch import compiler
from torch.compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset

from . import config, exc
from ._marks import mark_dynamic, mark_static, maybe_mark_dynamic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def optimize(
    backend: Any = "inductor", *, nopython: bool = False, guard_export_fn: Any = None, guard_fail_fn: Any = None,
    disable: bool = False, dynamic: bool | None = None,
) -> Any:  # fmt: skip
    """``torch.compile`` by its older name: what it gives compiles the function or module that it is called with.

    >>> double = torch._dynamo.optimize("eager", nopython=True)(lambda x: 2 * x)
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    if guard_export_fn is not None or guard_fail_fn is not None:
        raise NotImplementedError(
            "torch._dynamo.optimize: guards are not told to functions; TORCH_LOGS=recompiles prints them"
        )
    return compiler.compile(backend=backend, fullgraph=nopython, disable=disable, dynamic=dynamic)


def optimize_assert(backend: Any, *, dynamic: bool | None = None, **settings: Any) -> Any:
    """:func:`optimize` of what has to be captured whole.

    >>> torch._dynamo.optimize_assert("eager")(lambda x: 2 * x)(torch.ones(1))
    tensor([2.])
    """
    return compiler.compile(backend=backend, fullgraph=True, dynamic=dynamic)


def is_dynamo_supported() -> Any:
    """Whether functions can be compiled."""
    return True


is_inductor_supported = is_dynamo_supported


def _nothing(*args, **kwargs):
    """A wish about memory, or about values that follow from others: it changes nothing here."""


mark_static_address = mark_unbacked = _nothing
decorate_dynamic = lambda fn: fn


def graph_break(msg: str = "") -> None:
    """End the graph that is being captured: the function runs as it was written."""
    from torch.compiler._observer import current

    observer = current()
    if observer is not None:
        observer.stop(msg or "torch._dynamo.graph_break() is called")


def forbid_in_graph(fn: Callable[..., Any]) -> Any:
    """Mark a function that may not stand in a graph."""
    if isinstance(fn, (list, tuple)):
        return [forbid_in_graph(each) for each in fn]
    fn._torchdynamo_disable = True
    return fn


disallow_in_graph = forbid_in_graph


def run(fn: Callable[..., Any] | None = None) -> Any:
    """A compiled function without further captures."""
    return fn


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """What a function is captured as: ``explain(f)(*args)`` has the graphs, and the reason for each cut between them.

    The function is called once, and once more for each cut.

    >>> torch._dynamo.explain(lambda x: x.relu() + 1)(torch.ones(2)).graph_count
    1
    """
    from .backends.debugging import explained

    def inner(*args, **kwargs):
        return explained(f, args, kwargs)

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def export(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises NotImplementedError: ``torch.export.export`` gives a graph that stands by itself."""
    raise NotImplementedError("torch._dynamo.export: use torch.export.export")


def lookup_backend(name: str) -> Any:
    """The function behind the name of a backend."""
    from torch.compiler import _backends

    return _backends.lookup(name)


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Any = ()) -> Any:
    """Give a backend of one's own a name for ``torch.compile(backend=name)``; usable as a decorator."""
    from torch.compiler import _backends

    if compiler_fn is None:
        return lambda fn: register_backend(fn, name, tags)
    _backends.register(name or compiler_fn.__name__, compiler_fn)
    return compiler_fn


def __getattr__(name: str) -> Any:
    if name == "OptimizedModule":
        from .eval_frame import OptimizedModule

        globals()[name] = OptimizedModule
        return OptimizedModule
    if name in ("eval_frame", "utils", "testing", "backends", "_trace_wrapped_higher_order_op"):
        from importlib import import_module

        return import_module(f"torch._dynamo.{name}")
    raise AttributeError(f"module 'torch._dynamo' has no attribute {name!r}")


__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "exc", "explain", "export",
    "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static", "mark_static_address",
    "maybe_mark_dynamic", "optimize", "optimize_assert", "register_backend", "reset",
]  # fmt: skip
