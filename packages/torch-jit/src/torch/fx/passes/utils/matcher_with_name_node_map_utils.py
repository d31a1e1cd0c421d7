"""Patterns that name their nodes: a match tells which node of the graph each name stands for."""

from __future__ import annotations

import copy

from torch.fx.graph import CodeGen
from torch.fx.graph_module import GraphModule

from .matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["SubgraphMatcherWithNameNodeMap"]


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """A matcher of a pattern that returns its results and, last, a dict of its nodes by name; ``name_node_map`` of a match
    has the graph's nodes under those names.

    >>> def pattern(x):
    ...     y = torch.relu(x)
    ...     return y + 1, {"relu": y}
    >>> gm = torch.fx.symbolic_trace(lambda a, b: (torch.relu(a) + 1) * b)
    >>> [match.name_node_map for match in SubgraphMatcherWithNameNodeMap(torch.fx.symbolic_trace(pattern)).match(gm.graph)]
    [{'relu': relu}]
    """

    def __init__(
        self, pattern_gm, match_output=False, match_placeholder=False, remove_overlapping_matches=True, ignore_literals=False,
    ):  # fmt: skip
        plain, self.name_node_map = _taken_apart(pattern_gm)
        self.pattern_gm = plain
        super().__init__(plain.graph, match_output, match_placeholder, remove_overlapping_matches, ignore_literals)

    def match(self, graph, node_name_match=""):
        """The places, as :class:`SubgraphMatcher` finds them."""
        found: list[InternalMatch] = super().match(graph, node_name_match)
        for each in found:
            each.name_node_map = {name: each.nodes_map[node] for name, node in self.name_node_map.items()}
        return found


def _taken_apart(pattern: GraphModule):
    """A pattern without its dict of names, and that dict."""
    plain = copy.deepcopy(pattern)
    output = plain.graph.output_node()
    results = output.args[0]
    if (spec := getattr(pattern, "_out_spec", None)) is not None:  # of an exported program: its output is flat
        results = spec.unflatten(results)
        plain.graph.set_codegen(CodeGen())
    if not isinstance(results, (tuple, list)) or not isinstance(results[-1], dict):
        raise AssertionError("the pattern returns its results and, last, a dict of its nodes by name")
    *results, names = results
    output.args = (results[0] if len(results) == 1 else tuple(results),)
    plain.recompile()
    return plain, dict(names)
