"""Names of ``torch._dynamo`` that programs import: the capture of ``torch.compile`` is in :mod:`torch.compiler`."""

from __future__ import annotations

from typing import NamedTuple

from torch import compiler
from torch.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    substitute_in_graph,
)

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
patch_dynamo_config = config.patch
reset_code_caches = reset


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


class ExportResult(NamedTuple):
    """What :func:`export` gives: a module of the graph, and what it was captured for."""

    graph_module: Any
    guards: Any


def export(
    f: Any, *extra_args: Any, aten_graph: bool = True, pre_dispatch: bool = False, decomposition_table: Any = None,
    tracing_mode: str = "symbolic", dynamic_shapes: Any = None, assume_static_by_default: bool = True,
    same_signature: bool = True, **extra_kwargs: Any,
) -> Any:  # fmt: skip
    """A function of arguments that gives the graph of a function or module for them, as an :class:`ExportResult`; by the older form
    at once, where the arguments follow ``f``.

    The graph calls operators of ``torch.ops.aten``, whatever ``aten_graph`` says, and is called as ``f``. Sizes that are marked
    (``mark_dynamic``) or named in ``dynamic_shapes`` may change. Raises :class:`exc.Unsupported` where the program goes on by values.

    >>> graph, guards = torch._dynamo.export(lambda x: torch.sin(x) + 1)(torch.zeros(2))
    >>> [str(n.target) for n in graph.graph.nodes if n.op == "call_function"], graph(torch.zeros(2))
    (['aten.sin.default', 'aten.add.Tensor'], tensor([1., 1.]))
    """

    def captured(*args: Any, **kwargs: Any) -> Any:
        from torch.export import UserError, _export

        from ._marks import marked

        try:
            moving = marked(args, kwargs) if dynamic_shapes is None else None
            program = _export(f, args, kwargs, dynamic_shapes, moving)
        except UserError as error:
            raise exc.Unsupported(str(error)) from error
        program = program if decomposition_table is None else program.run_decompositions(decomposition_table)
        return ExportResult(program.module(), list(program._guards))

    return captured(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else captured


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
    if name == "set_stance":
        return compiler.set_stance
    if name in ("eval_frame", "utils", "testing", "backends", "_trace_wrapped_higher_order_op"):
        from importlib import import_module

        return import_module(f"torch._dynamo.{name}")
    raise AttributeError(f"module 'torch._dynamo' has no attribute {name!r}")


__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "exc", "explain", "export",
    "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static", "mark_static_address",
    "maybe_mark_dynamic", "optimize", "optimize_assert", "patch_dynamo_config", "register_backend", "reset", "substitute_in_graph",
]  # fmt: skip
