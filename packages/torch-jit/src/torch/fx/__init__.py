"""Programs as graphs of Python calls: trace a module, look at its nodes, change them, run the result as a module.

>>> import torch
>>> traced = torch.fx.symbolic_trace(lambda x, y: torch.add(x, y).relu())
>>> for node in traced.graph.find_nodes(op="call_function", target=torch.add):
...     node.target = torch.mul
>>> _ = traced.recompile()
>>> traced(torch.tensor([2.0]), torch.tensor([3.0]))
tensor([6.])
"""

from torch import _seams

from . import _patches, immutable_collections  # noqa: F401
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "symbolic_trace", "Tracer", "wrap", "Graph", "GraphModule", "Interpreter", "Transformer", "Node", "Proxy", "replace_pattern",
    "has_side_effect", "map_arg", "CodeGen", "PH", "ProxyableClassMeta",
]  # fmt: skip


_MODULES = (
    "annotate", "config", "experimental", "graph", "graph_module", "interpreter", "node", "operator_schemas", "passes", "proxy",
    "subgraph_rewriter", "tensor_type", "traceback", "_pytree", "_compatibility", "_lazy_graph_module",
)  # fmt: skip

__getattr__, __dir__ = _seams.later(globals(), modules=_MODULES)
