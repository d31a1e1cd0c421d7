"""Nodes that compute the same become one."""

import functools

import torch
from torch import _seams
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]


@functools.cache
def get_CSE_banned_ops() -> set:
    """The operators of ``torch.ops.aten`` that draw random numbers or write in place: two calls of them are two calls."""
    names = {row["schema"].partition("(")[0] for row in _seams.rows() if row["random"] or "!)" in row["schema"]}
    return {getattr(torch.ops.aten, name) for name in names if hasattr(torch.ops.aten, name)}


class CSEPass(PassBase):
    """Leaves one of the nodes that call the same with the same arguments, unless it is one of ``banned_ops``.

    Nodes that write, draw random numbers or call modules are all kept, and what stood before a write is not taken for what
    stands behind it.

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x) + torch.relu(x))
    >>> print(CSEPass()(gm).graph_module.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + relu;  relu = None
        return add
    """

    def __init__(self, banned_ops=None):
        super().__init__()
        self.banned_ops = get_CSE_banned_ops() if banned_ops is None else banned_ops

    def call(self, graph_module: GraphModule) -> PassResult:
        graph, values, known, modified = Graph(), {}, {}, False
        for node in graph_module.graph.nodes:
            if node.op == "output":
                made = graph.node_copy(node, values.__getitem__)
                continue
            key = None
            if node.op == "get_attr":
                key = node.op, node.target
            elif node.op in ("call_function", "call_method"):
                if node.is_impure(impure_random=False):
                    known.clear()
                elif not node.is_impure() and not self._is_banned(node.target):
                    key = self._key(node, values)
            elif node.op == "call_module" and node.is_impure():
                known.clear()
            if key is not None and key in known:
                values[node], modified = known[key], True
                continue
            made = values[node] = graph.node_copy(node, values.__getitem__)
            if key is not None:
                known[key] = made
        if not modified:
            return PassResult(graph_module, False)
        graph._codegen = graph_module.graph._codegen
        return PassResult(GraphModule(graph_module, graph), True)

    def _is_banned(self, target):
        return target in self.banned_ops or getattr(target, "overloadpacket", None) in self.banned_ops

    @staticmethod
    def _key(node, values):
        """What a node does, as something to look up; None where an argument cannot be one."""

        def frozen(value):
            if isinstance(value, Node):
                return Node, id(values[value])
            if isinstance(value, (list, tuple)):
                return (type(value), *map(frozen, value))
            if isinstance(value, dict):
                return (dict, *((name, frozen(value[name])) for name in value))
            if isinstance(value, slice):
                return slice, frozen(value.start), frozen(value.stop), frozen(value.step)
            return type(value), value if value != 0 else repr(value)  # 0.0 is not -0.0

        key = node.op, node.target, frozen(node.args), frozen(dict(sorted(node.kwargs.items())))
        try:
            hash(key)
        except TypeError:
            return None
        return key
