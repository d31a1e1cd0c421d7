"""Putting some of a graph's nodes into a module that the graph calls in their place."""

import operator

from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node, map_arg
from torch.fx.passes.tools_common import legalize_graph, stable_topological_sort

from .common import lift_subgraph_as_module

__all__ = [
    "erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "legalize_graph", "topo_sort", "validate_partition",
]  # fmt: skip


def topo_sort(nodes: list[Node]) -> list[Node]:
    """The nodes, each behind those of them that it uses; else in the order in which they are given.

    >>> import torch
    >>> x, relu, output = torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph.nodes
    >>> topo_sort([relu, x])
    [x, relu]
    """
    given, done = set(nodes), {}
    for first in nodes:
        stack = [(first, iter(first.all_input_nodes))]
        while stack:
            node, inputs = stack[-1]
            needed = next((n for n in inputs if n in given and n not in done), None)
            if needed is None:
                done[node] = None
                stack.pop()
            elif any(needed is each for each, _ in stack):
                raise AssertionError(f"topo_sort: {needed.name} needs its own result")
            else:
                stack.append((needed, iter(needed.all_input_nodes)))
    return list(done)


def validate_partition(partition: list[Node]) -> bool:
    """Whether the nodes can run as one: no node outside both needs one of them and is needed by one.

    >>> import torch
    >>> x, a, b, c, _ = torch.fx.symbolic_trace(lambda x: torch.relu(torch.tanh(torch.relu(x)))).graph.nodes
    >>> validate_partition([a, b]), validate_partition([a, c])
    (True, False)
    """
    inside = set(partition)
    waiting = [user for node in partition for user in node.users if user not in inside]
    seen = set(waiting)
    while waiting:
        for user in waiting.pop().users:
            if user in inside:
                return False
            if user not in seen:
                seen.add(user)
                waiting.append(user)
    return True


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: list[Node],
    module_name: str,
    partition_lookup_table=None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """The nodes, which stand in the order of their needs, as a GraphModule; the nodes of ``gm`` that it takes, and those that it gives.

    AssertionError where a node is of another graph or erased, or where they cannot run as one.
    """
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = set(nodes if partition_lookup_table is None else partition_lookup_table)
    graph, made, inputs = Graph(), {}, []

    def inner(node):
        if node not in made:
            if node in inside:
                raise AssertionError(f"{node} stands behind a node that uses it")
            made[node] = graph.placeholder(node.name, node.type)
            made[node].meta = dict(node.meta)
            inputs.append(node)
        return made[node]

    for node in nodes:
        map_arg((node.args, node.kwargs), inner)  # arguments first: placeholders stand in front
        made[node] = None
    arguments = {node: made[node] for node in inputs}
    made = dict(arguments)
    for node in nodes:
        made[node] = graph.node_copy(node, made.__getitem__)
    outputs = tuple(node for node in nodes if any(user not in inside for user in node.users))
    results = tuple(made[node] for node in outputs)
    graph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    graph.lint()
    fused, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return fused, tuple(inputs), outputs


def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> GraphModule:
    """Let ``gm`` call ``sub_gm``, under the name of its class, and use its results in place of ``orig_outputs``.

    Without ``insertion_point`` the call stands last: sort the graph before it is used (:func:`legalize_graph`).
    """
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    at = (
        gm.graph.inserting_after(insertion_point)
        if insertion_point
        else gm.graph.inserting_before(gm.graph.output_node())
    )
    with at:
        call = gm.graph.call_module(name, args=orig_inputs, kwargs=None)
    result = sub_gm.graph.output_node().args[0]
    if isinstance(result, Node):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        return gm
    last = call
    for i, node in enumerate(orig_outputs):
        with gm.graph.inserting_after(last):
            last = gm.graph.call_function(operator.getitem, (call, i))
        node.replace_all_uses_with(last, propagate_meta=True)
    call.meta["val"] = tuple(node.meta.get("val") for node in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: list[Node]) -> None:
    """Take nodes, which stand in the order of their needs, out of the graph."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule, partitions: list[dict[Node, int | None]], prefix: str = "fused_", always_return_tuple: bool = False
) -> GraphModule:
    """``gm`` with each of the partitions, whose keys are nodes, as a module ``<prefix><number>`` that it calls.

    >>> import torch
    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(torch.tanh(x)) + 1)
    >>> nodes = {node: None for node in gm.graph.nodes if node.name in ("relu", "tanh")}
    >>> print(fuse_by_partitions(gm, [nodes]).code.strip())
    def forward(self, x):
        fused_0 = self.fused_0(x);  x = None
        add = fused_0 + 1;  fused_0 = None
        return add
    """
    for i, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        fused, inputs, outputs = fuse_as_graphmodule(
            gm, nodes, f"{prefix}{i}", partition, always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, fused, inputs, outputs)
        erase_nodes(gm, nodes)
    return stable_topological_sort(gm)
