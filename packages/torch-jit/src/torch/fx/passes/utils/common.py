"""Comparing graphs, and making modules of parts of them."""

from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.nn import Module

from .matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "lift_subgraph_as_module", "compare_graphs"]


class HolderModule(Module):
    """A module that holds the entries of a dict."""

    def __init__(self, d):
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(gm, subgraph, comp_name="", class_name="GraphModule"):
    """A GraphModule of a graph that was taken from ``gm``, with the submodules that it uses.

    Returns it and a dict from each new path to the one in ``gm``.
    """
    used = {n.target: gm for n in subgraph.nodes if n.op in ("call_module", "get_attr")}
    prefix = f"{comp_name}." if comp_name else ""
    return GraphModule(gm, subgraph, class_name), {f"{prefix}{path}": path for path in used}


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs are the same program, names aside.

    >>> import torch
    >>> trace = torch.fx.symbolic_trace
    >>> compare_graphs(trace(lambda x: x + 1).graph, trace(lambda y: y + 1).graph)
    True
    """
    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return len(left.nodes) == len(right.nodes) and len(matcher.match(right)) > 0
