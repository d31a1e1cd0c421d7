"""What a captured graph is run by: torch's own interpreter of programs, or a function of somebody's own that takes an
``fx.GraphModule`` with example inputs and gives a callable.
"""

from __future__ import annotations

import torch
from torch import _seams
from torch.jit import _ir as ir

from . import _frozen

NAMES = ("aot_eager", "cudagraphs", "eager", "inductor", "onnxrt", "openxla", "tvm")
_registered = {}


def native(observer, graph, outputs, compiled):
    """The graph as a function of torch.jit."""
    _frozen.freeze(observer, graph, compiled.options)
    return ir.Function("compiled", graph)


def lookup(backend):
    """How a backend, given by name or as a function, runs a graph. ValueError for an unknown name."""
    if callable(backend):
        return custom(backend)
    if backend in _registered:
        return custom(_registered[backend])
    if backend in ("inductor", "eager", "aot_eager", "cudagraphs"):
        return native
    if backend in NAMES:
        raise NotImplementedError(f"torch.compile: the backend {backend!r} is not part of this stack")
    from torch._dynamo.exc import InvalidBackend

    known = ", ".join(sorted({"aot_eager", "eager", "inductor", *_registered}))
    raise InvalidBackend(f"torch.compile: unknown backend {backend!r}; known are {known}")


def register(name, function):
    """Give a backend of one's own a name."""
    _registered[name] = function


def names(exclude_tags):
    """Names that torch.compile takes, without those of the tag "debug" where that is excluded."""
    debug = () if "debug" in (exclude_tags or ()) else ("eager", "aot_eager")
    return sorted({"inductor", "cudagraphs", *debug, *_registered})


def _alike(node, example):
    """An example for all sizes: fake, where a size may change."""
    like = node.meta["example_value"]
    return like if any(isinstance(n, torch.SymInt) for n in getattr(like, "shape", ())) else example


def custom(function):
    """A backend that is a function of a GraphModule and example inputs."""

    def build(observer, graph, outputs, compiled):
        from torch._dynamo.exc import BackendCompilerFailed

        from ._fx import graph_module

        module, example, given = graph_module(observer, graph)
        if observer.unasked and given is not None:
            example = [_alike(node, each) for node, each in zip(module.graph.find_nodes(op="placeholder"), example)]
        options = compiled.options if isinstance(compiled.options, dict) else None
        try:
            with _seams.numbers_of_sizes_read() as read:
                made = function(module, example, options=options) if options else function(module, example)
        except Exception as error:
            raise BackendCompilerFailed(function, error) from error
        if observer.unasked and read:
            raise BackendCompilerFailed(function, RuntimeError(f"it asks for the number of {read[0]}"))
        if not callable(made):
            raise BackendCompilerFailed(function, TypeError(f"expected a callable, got {type(made).__name__}"))
        if given is None:
            return lambda *inputs: tuple(made(*inputs))
        return lambda *inputs: tuple(made(*given(inputs)))

    return build
