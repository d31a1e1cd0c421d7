"""Small changes of graphs."""

from typing import NamedTuple

import torch
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node, map_aggregate

from .shape_prop import ShapeProp

__all__ = ["replace_target_nodes_with", "size_bytes", "get_size_of_all_nodes", "get_tensor_meta", "get_size_of_node"]


class size_bytes(NamedTuple):
    """Bytes of a node's result, and of it together with its parameters."""

    output_size: int
    total_size: int


def replace_target_nodes_with(fx_module: GraphModule, old_op, old_target, new_op, new_target):
    """Let every node with one op and target have another op and target; recompile afterwards happens by itself.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> replace_target_nodes_with(traced, "call_function", torch.relu, "call_function", torch.neg)
    >>> traced(torch.ones(1))
    tensor([-1.])
    """
    made, values = Graph(), {}
    for node in fx_module.graph.nodes:
        new = values[node] = made.node_copy(node, values.__getitem__)
        if node.op == old_op and node.target == old_target:
            new.op, new.target = new_op, new_target
    made._codegen = fx_module.graph._codegen
    fx_module.graph = made


def get_tensor_meta(node: Node):
    """The node's ``tensor_meta``; RuntimeError where ShapeProp has not run."""
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run."
        )
    return meta


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """Bytes of a node's result and parameters, after ShapeProp."""
    sizes: list[int] = []

    def note(meta):
        if hasattr(meta, "dtype") and hasattr(meta, "shape"):
            sizes.append(torch.Size(meta.shape).numel() * meta.dtype.itemsize)
        return meta

    meta = get_tensor_meta(node)
    note(meta) if hasattr(meta, "dtype") else map_aggregate(meta, note)
    output = sum(sizes)
    own = 0
    if node.op == "call_module":
        inner = fx_module.get_submodule(node.target)
        own = sum(t.numel() * t.element_size() for t in (*inner.parameters(), *inner.buffers()))
    return size_bytes(output, output + own)


def get_size_of_all_nodes(fx_module: GraphModule, args=None):
    """Note ``node.size_bytes`` on every node, after running ShapeProp with ``args`` where they are given."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)
