"""Finding the parts of a graph that a back end can run, as large as they can be, and making modules of them."""

import operator
from collections.abc import Iterable, Sequence

from torch.fx.graph_module import GraphModule
from torch.fx.node import Node, _get_qualified_name
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]

_NO_WORK = frozenset(("torch.ops.aten.view", "_operator.getitem"))


class Partition:
    """Nodes that run as one. ``nodes`` is a dict of them in their order, with their places in the graph."""

    def __init__(
        self, id: int | None = None, nodes: Iterable[Node] | None = None, node_orders: Iterable[int] | None = None
    ):
        self.id = id
        given = list(nodes or ())
        self.nodes: dict[Node, int | None] = dict(zip(given, node_orders or [None] * len(given), strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Take a node in."""
        self.nodes.update({node: node_order})

    def remove_node(self, node: Node) -> None:
        """Put a node out."""
        del self.nodes[node]

    def size(self) -> int:
        """How many nodes there are."""
        return len(self.nodes)


class _Reach:
    """What is needed by what, over nodes and groups of nodes that are to run as one: a set of nodes is an int of bits."""

    def __init__(self, nodes):
        self.at = {node: i for i, node in enumerate(nodes)}
        self.below, self.above = [0] * len(nodes), [0] * len(nodes)
        for node in reversed(nodes):
            self.below[self.at[node]] = self._join(self.below, node.users)
        for node in nodes:
            self.above[self.at[node]] = self._join(self.above, node.all_input_nodes)

    def _join(self, masks, nodes):
        found = 0
        for node in nodes:
            found |= masks[self.at[node]] | 1 << self.at[node]
        return found

    def merge(self, nodes):
        """Let nodes run as one, if no other would both need them and be needed by them."""
        inside = sum(1 << self.at[node] for node in nodes)
        below, above = self._join(self.below, nodes) & ~inside, self._join(self.above, nodes) & ~inside
        if below & above:
            return False
        for mask, gained, masks in ((above, below | inside, self.below), (below, above | inside, self.above)):
            while mask:
                lowest = mask & -mask
                masks[lowest.bit_length() - 1] |= gained
                mask ^= lowest
        for node in nodes:
            self.below[self.at[node]], self.above[self.at[node]] = below, above
        return True


class CapabilityBasedPartitioner:
    """Groups the nodes that ``operator_support`` answers for, so that no group waits for a node that waits for it.

    A group with fewer than two calls of functions, ``non_compute_ops`` (qualified names) not counted, is dropped unless
    ``allows_single_node_partition``, or unless it is one of ``allowed_single_node_partition_ops``. Groups that do not use each
    other are joined too, but with ``skip_horizontal_fusion``. Arguments and the result of the graph are in none.

    >>> import torch
    >>> from torch.fx.passes.operator_support import create_op_support
    >>> gm = torch.fx.symbolic_trace(lambda x: torch.tanh(torch.relu(x) + 1))
    >>> support = create_op_support(lambda modules, node: node.target is not torch.tanh)
    >>> fused = CapabilityBasedPartitioner(gm, support).partition_and_fuse()
    >>> [node.name for node in fused.graph.nodes]
    ['x', 'fused_0', 'tanh', 'output']
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        skip_horizontal_fusion: bool = False,
    ) -> None:
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops if non_compute_ops is not None else []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def propose_partitions(self) -> list[Partition]:
        """The groups, each with its nodes in the order of the graph."""
        nodes = list(self.graph_module.graph.nodes)
        places, reach = {node: i for i, node in enumerate(nodes)}, _Reach(nodes)
        groups: dict[int, list[Node]] = {}
        of: dict[Node, int] = {}
        made = 0
        for node in reversed(nodes):
            if node.op in ("placeholder", "output") or not self._is_node_supported(node):
                continue
            mine, made = made, made + 1
            groups[mine], of[node] = [node], mine
            if self.skip_horizontal_fusion:
                others = list(dict.fromkeys(of[user] for user in node.users if user in of))
            else:
                others = sorted((g for g in groups if g != mine), key=lambda g: min(places[n] for n in groups[g]))
            for other in others:
                if other == mine or not reach.merge(groups[mine] + groups[other]):
                    continue
                kept, gone = (mine, other) if len(groups[mine]) >= len(groups[other]) else (other, mine)
                groups[kept] += groups.pop(gone)
                of.update(dict.fromkeys(groups[kept], kept))
                mine = kept
        for node in nodes:  # an item of a result goes where the result is made
            maker = node.args[0] if node.target is operator.getitem else None
            if maker in of and of.get(node) != of[maker] and reach.merge([*groups[of[maker]], node]):
                if node in of:
                    groups[of[node]].remove(node)
                of[node] = of[maker]
                groups[of[node]].append(node)
        found = []
        for name, inside in groups.items():
            inside.sort(key=places.__getitem__)
            if inside and (self.allows_single_node_partition or self._works(inside) > 1):
                found.append(Partition(name, inside, map(places.__getitem__, inside)))
        return found

    def _works(self, nodes):
        """How much work there is in a group, by the names of the functions that it calls."""
        names = [_get_qualified_name(node.target) for node in nodes if node.op == "call_function"]
        idle = _NO_WORK.union(self.non_compute_ops)
        return sum((name not in idle) + (name in self.allowed_single_node_partition_ops) for name in names)

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """The GraphModule, in which modules ``<prefix><number>`` stand for the groups."""
        return fuse_by_partitions(self.graph_module, [partition.nodes for partition in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Put out of the groups what does no work (``non_compute_ops``) where they begin and end."""
        idle = set(self.non_compute_ops)

        def outer(partition, neighbours):
            while True:
                edge = [
                    node
                    for node in partition.nodes
                    if node.op == "call_function"
                    and _get_qualified_name(node.target) in idle
                    and not any(n in partition.nodes for n in neighbours(node))
                ]
                if not edge:
                    return
                for node in edge:
                    partition.remove_node(node)

        for partition in partitions:
            outer(partition, lambda node: node.all_input_nodes)
            outer(partition, lambda node: node.users)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """:meth:`propose_partitions` and :meth:`fuse_partitions`."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)
