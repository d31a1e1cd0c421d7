"""Finding every place in a graph that looks like a pattern."""

import copy
from dataclasses import dataclass, field

import torch
from torch.fx.graph import Graph
from torch.fx.node import Node

__all__ = ["SubgraphMatcher", "InternalMatch"]


@dataclass
class InternalMatch:
    """One place: ``nodes_map`` leads from the pattern's nodes to the graph's nodes and constants."""

    anchors: list
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)
    returning_nodes: list = field(default_factory=list)
    name_node_map: dict = field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(
            self.anchors,
            dict(self.nodes_map),
            list(self.placeholder_nodes),
            list(self.returning_nodes),
            dict(self.name_node_map),
        )


class SubgraphMatcher:
    """Finds a pattern graph in other graphs.

    A placeholder of the pattern stands for any node or constant. Inner nodes of a match have no users outside it; those
    that the pattern returns may. ``ignore_literals`` lets constants differ.

    >>> pattern = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph
    >>> graph = torch.fx.symbolic_trace(lambda a, b: (torch.relu(a) + 1) * b).graph
    >>> [match.nodes_map[match.anchors[0]] for match in SubgraphMatcher(pattern).match(graph)]
    [add]
    """

    def __init__(
        self,
        pattern,
        match_output=False,
        match_placeholder=False,
        remove_overlapping_matches=True,
        ignore_literals=False,
    ):
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead code: nothing uses "
                    f"{node.name!r} of the pattern"
                )
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = next(reversed(pattern.nodes))
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:
            self.pattern_anchors = [n for n in self.pattern_returning_nodes if len(n.users) == 1]

    def _nodes_are_equal(self, pn, gn, node_name_match=""):
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return self._attributes_are_equal(pn, gn)
        if pn.op == "call_module":
            left, right = pn.graph.owning_module, gn.graph.owning_module
            if left is None or right is None:
                return pn.target == gn.target
            return type(left.get_submodule(pn.target)) is type(right.get_submodule(gn.target))
        return pn.target == gn.target

    @staticmethod
    def _attributes_are_equal(pn, gn):
        values = []
        for node in (pn, gn):
            value = node.graph.owning_module
            for name in node.target.split("."):
                value = getattr(value, name)
            values.append(value)
        left, right = values
        if isinstance(left, torch.Tensor):
            return isinstance(right, torch.Tensor)
        return type(left) is type(right)

    def _match_literals(self, pattern, value):
        return self.ignore_literals or (type(pattern) is type(value) and pattern == value)

    def _match_value(self, pattern, value, match):
        if isinstance(pattern, Node):
            return self._match_node(pattern, value, match)
        if isinstance(pattern, (list, tuple)):
            if not isinstance(value, (list, tuple)) or len(pattern) != len(value):
                return False
            return all(self._match_value(p, v, match) for p, v in zip(pattern, value, strict=True))
        if isinstance(pattern, dict):
            if not isinstance(value, dict) or pattern.keys() != value.keys():
                return False
            return all(self._match_value(p, value[key], match) for key, p in pattern.items())
        if isinstance(pattern, slice) and isinstance(value, slice):
            return all(
                self._match_value(getattr(pattern, n), getattr(value, n), match) for n in ("start", "stop", "step")
            )
        return not isinstance(value, Node) and self._match_literals(pattern, value)

    def _match_node(self, pn, gn, match, node_name_match=""):
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn or (not isinstance(gn, Node) and match.nodes_map[pn] == gn)
        if not isinstance(gn, Node):
            if pn.op != "placeholder" or self.match_placeholder:
                return False
            match.nodes_map[pn] = gn
            return True
        if any(found is gn for found in match.nodes_map.values()) or not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        saved = copy.copy(match)
        if self._match_value(pn.args, gn.args, match) and self._match_value(pn.kwargs, gn.kwargs, match):
            return True
        match.nodes_map = dict(saved.nodes_map)
        # The same call, written with other keywords.
        left, right = _by_name(pn), _by_name(gn)
        if left is not None and right is not None:
            if isinstance(pn.target, torch._ops.OpOverload):
                left, right = _of_one_length(left, right)
            if self._match_value(left, right, match):
                return True
        del match.nodes_map[pn]
        return False

    def _is_contained(self, nodes_map):
        matched = {gn for gn in nodes_map.values() if isinstance(gn, Node)}
        for pn, gn in nodes_map.items():
            if not isinstance(gn, Node) or pn.op in ("placeholder", "get_attr") or pn in self.pattern_returning_nodes:
                continue
            if any(user not in matched for user in gn.users):
                return False
        return True

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """All places of the pattern in a graph, in the order of the graph."""
        anchors = self.pattern_anchors
        partial = [InternalMatch(anchors)]
        for anchor in anchors:
            extended = []
            for match in partial:
                for node in graph.nodes:
                    attempt = copy.copy(match)
                    if self._nodes_are_equal(anchor, node, node_name_match) and self._match_node(
                        anchor, node, attempt, node_name_match
                    ):
                        extended.append(attempt)
            partial = extended
        complete = [m for m in partial if self._is_contained(m.nodes_map)] if anchors else []
        found, taken = [], set()
        for match in complete:
            match.placeholder_nodes = [
                match.nodes_map[pn] for pn in self.pattern_placeholder_nodes if pn in match.nodes_map
            ]
            match.returning_nodes = [match.nodes_map[pn] for pn in self.pattern_returning_nodes]
            match.name_node_map = {pn.name: gn for pn, gn in match.nodes_map.items()}
            inner = {
                gn
                for pn, gn in match.nodes_map.items()
                if isinstance(gn, Node) and pn.op not in ("placeholder", "get_attr", "output")
            }
            if (self.remove_overlapping_matches and inner & taken) or _needs_itself(match, inner):
                continue
            taken |= inner
            found.append(match)
        return found


def _needs_itself(match, inner):
    """Whether what stands for an argument of the pattern is computed from a node of the match: it could not be replaced by one call."""
    seen, left = set(), [node for node in match.placeholder_nodes if isinstance(node, Node)]
    while left:
        node = left.pop()
        if node in inner:
            return True
        if node not in seen:
            seen.add(node)
            left += node.all_input_nodes
    return False


def _by_name(node):
    """All arguments of a call by name, or None where its signature is not known."""
    if node.op != "call_function":
        return None
    if isinstance(node.target, torch._ops.OpOverload):
        arguments = node.target._schema.arguments
        given = {**dict(zip((a.name for a in arguments), node.args)), **node.kwargs}
        return {a.name: given.get(a.name, a.default_value) for a in arguments}
    from torch.fx.operator_schemas import normalize_function

    pair = normalize_function(node.target, node.args, node.kwargs, normalize_to_only_use_kwargs=True)
    return None if pair is None else pair.kwargs


def _of_one_length(left, right):
    """Arguments of an operator of which one call has a number for a list (``padding=0`` for ``[0, 0]``)."""
    left, right = dict(left), dict(right)
    for one, two in ((left, right), (right, left)):
        for name, value in one.items():
            if isinstance(value, (list, tuple)) and isinstance(two.get(name), (int, float)):
                two[name] = [two[name]] * len(value)
    return left, right
