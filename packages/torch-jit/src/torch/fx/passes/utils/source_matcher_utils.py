"""Nodes that come from one call of a module or function of the traced program."""

from dataclasses import dataclass, field

from torch.fx.graph import Graph
from torch.fx.node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes of one call, and the nodes by which it is connected with the others."""

    nodes: list[Node]
    source: object
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def get_source_partitions(graph: Graph, wanted_sources: list, filter_fn=None) -> dict:
    """The calls of wanted modules' classes and functions: a dict from each source to its :class:`SourcePartition`.

    Sources come from ``meta["source_fn_stack"]``, ``meta["nn_module_stack"]``, ``meta["torch_fn"]`` (the name of a function: ``"linear"``),
    or the target of a call.
    """
    found: dict = {}
    wanted = [each for each in wanted_sources if callable(each)]
    named = {
        f"{each.__module__}.{each.__qualname__}" if isinstance(each, type) else _name(each): each for each in wanted
    }
    for node in graph.nodes:
        for key, source in _sources(node):
            source = named.get(source, source) if isinstance(source, str) else source
            if source in wanted_sources:
                found.setdefault(source, {}).setdefault(key, []).append(node)
                break
    if filter_fn:
        found = {s: {k: n for k, n in calls.items() if all(map(filter_fn, n))} for s, calls in found.items()}
    return {source: [_partition(nodes, source) for nodes in calls.values() if nodes] for source, calls in found.items()}


def _name(function):
    return getattr(function, "__name__", "")


def _sources(node):
    yield from reversed(node.meta.get("source_fn_stack") or ())
    if "torch_fn" in node.meta:
        key, source = node.meta["torch_fn"]
        yield key, source.split(".")[-1]
    for key, (_, kind) in reversed(node.meta.get("nn_module_stack", {}).items()):
        yield key, kind
    if node.op == "call_function":
        yield node.name, node.target


def _partition(nodes, source):
    inside = set(nodes)
    inputs = {used: None for n in nodes for used in n.all_input_nodes if used not in inside}
    outputs = [n for n in nodes if any(user not in inside for user in n.users)]
    return SourcePartition(nodes, source, list(inputs), outputs, [n for n in inputs if n.op == "get_attr"])


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether the second uses a result of the first."""
    return any(used in subgraph1.nodes for node in subgraph2.nodes for used in node.all_input_nodes)
