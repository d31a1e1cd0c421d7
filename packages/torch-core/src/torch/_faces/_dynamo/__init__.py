"""Names of ``torch._dynamo`` that programs import, while there is no compiler."""

from torch import compiler
from torch._lazy import later
from torch.compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset

from . import config, exc

optimize = compiler.compile
is_dynamo_supported = is_inductor_supported = is_compiling  # False


def _nothing(*args, **kwargs):
    """A wish to the compiler about a tensor or a function; there is none to hear it."""


mark_dynamic = mark_static = mark_static_address = maybe_mark_dynamic = mark_unbacked = graph_break = _nothing
decorate_dynamic = forbid_in_graph = disallow_in_graph = lambda fn: fn


def explain(f, *args, **kwargs):
    """Raises NotImplementedError: no graph is captured that could be explained."""
    raise NotImplementedError(f"torch._dynamo.explain: {compiler.no_compiler()}")


def export(f, *args, **kwargs):
    """Raises NotImplementedError: no graph is captured."""
    raise NotImplementedError(f"torch._dynamo.export: {compiler.no_compiler()}")


__getattr__, __dir__ = later(
    globals(), ["_trace_wrapped_higher_order_op", "eval_frame", "utils"], {"OptimizedModule": "eval_frame"}
)


__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "exc", "explain", "export",
    "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static", "mark_static_address", "optimize", "reset",
]  # fmt: skip
