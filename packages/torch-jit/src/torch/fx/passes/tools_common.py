"""Questions about nodes that passes ask."""

import heapq

import torch
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node, _get_qualified_name

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]

Tensors = tuple[torch.Tensor, ...] | list[torch.Tensor]
TensorOrTensors = torch.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k):
    """The name of a function, short for those of Python and torch."""
    if isinstance(k, str):
        return k
    module = getattr(k, "__module__", "") or ""
    return f"{module.rpartition('.')[2]}.{k.__name__}" if module else k.__name__


def get_node_target(submodules, node: Node) -> str:
    """What a node calls, as a str: the class of a submodule, the name of a function or method.

    >>> node = torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph.find_nodes(op="call_function")[0]
    >>> get_node_target({}, node)
    'torch.relu'
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(sorted(CALLABLE_NODE_OPS))}, but found {node.op}")
    if node.op == "call_module":
        inner = submodules[node.target]
        inner = getattr(inner, "_base_class_origin", type(inner))
        return f"{inner.__module__}.{inner.__qualname__}"
    if node.op == "call_function":
        return _get_qualified_name(node.target).removeprefix("builtins.")
    return node.target


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node's result is a tensor, as ``meta["type"]`` knows after ShapeProp."""
    kind = node.meta.get("type")
    return isinstance(kind, type) and issubclass(kind, torch.Tensor)


def _sorted_graph(gm, ready_first):
    """The nodes, each behind its inputs; RuntimeError where they run in a circle."""
    order = {node: i for i, node in enumerate(gm.graph.nodes)}
    nodes, missing = list(order), {node: len(node.all_input_nodes) for node in order}
    made, values, depth = Graph(), {}, {}
    # The first that is ready; or all that are ready, and only then what became so. The output is last.
    ready = [(node.op == "output", 0, i) for i, node in enumerate(nodes) if not missing[node]]
    while ready:
        *_, turn, i = heapq.heappop(ready)
        node = nodes[i]
        values[node] = made.node_copy(node, values.__getitem__)
        for user in node.users:
            missing[user] -= 1
            depth[user] = max(depth.get(user, 0), turn + 1 if ready_first else 0)
            if not missing[user]:
                heapq.heappush(ready, (user.op == "output", depth[user], order[user]))
    if len(values) < len(nodes):
        raise RuntimeError(f"Input graph has cycles, unable to add {[n.name for n in nodes if n not in values]}")
    made._codegen = gm.graph._codegen
    return made


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Sort the nodes of a GraphModule so that each stands behind its inputs."""
    gm.graph = _sorted_graph(gm, True)
    return gm


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """:func:`legalize_graph` that keeps the order of nodes where it can."""
    gm.graph = _sorted_graph(gm, False)
    return gm
