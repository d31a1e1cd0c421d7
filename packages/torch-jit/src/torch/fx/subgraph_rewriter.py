"""Replacing every place that looks like one program by another program."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import NamedTuple

import torch

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _put
from .node import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["Match", "replace_pattern", "replace_pattern_with_filters", "ReplacedPatterns"]


class Match(NamedTuple):
    """A place that was replaced: the pattern's last node, and the graph's node for each of the pattern's."""

    anchor: Node
    nodes_map: dict


@dataclass
class ReplacedPatterns:
    """A place that was replaced, and the nodes that stand there now."""

    anchor: Node
    nodes_map: dict
    replacements: list


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace every place in ``gm`` that does what ``pattern`` does by what ``replacement`` does; returns the matches.

    Both are functions or GraphModules with the same arguments. Matches do not overlap, and inner values of a match are
    used nowhere else.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) * 2)
    >>> len(replace_pattern(traced, lambda x: torch.relu(x), lambda x: torch.sigmoid(x)))
    1
    >>> traced(torch.zeros(1))
    tensor([1.])
    """
    return [Match(found.anchor, found.nodes_map) for found in _replace(gm, pattern, replacement)]


def replace_pattern_with_filters(gm: GraphModule, pattern: Any, replacement: Any = None, match_filters: Any = None, ignore_literals: bool = False,
                                 replacement_callback: Any = None, node_name_match: str = "") -> Any:  # fmt: skip
    """:func:`replace_pattern` where every filter ``(match, original_graph, pattern_graph)`` is true; returns
    :class:`ReplacedPatterns`. ``replacement_callback(match, original_graph, pattern_graph)`` gives the replacement's graph
    for each match instead of ``replacement``."""
    return _replace(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match)


def _graph_of(program, what):
    if isinstance(program, GraphModule):
        return program.graph
    if isinstance(program, Graph):
        return program
    if callable(program):
        return symbolic_trace(program).graph
    raise TypeError(
        f"replace_pattern: {what} must be a function, a Graph or a GraphModule, got {type(program).__name__}"
    )


def _replace(gm, pattern, replacement, match_filters=None, ignore_literals=False, callback=None, node_name_match=""):
    from .passes.utils.matcher_utils import SubgraphMatcher

    if replacement is None and callback is None:
        raise ValueError("replace_pattern: give replacement or replacement_callback")
    graph, pattern_graph = gm.graph, _graph_of(pattern, "pattern")
    matches = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals).match(graph, node_name_match)
    matches = [m for m in matches if all(keep(m, graph, pattern_graph) for keep in match_filters or ())]
    common = _graph_of(replacement, "replacement") if replacement is not None else None
    changed: dict = {}  # what earlier replacements put in the place of nodes
    done = []
    for match in matches:
        new_graph = common if callback is None else callback(match, graph, pattern_graph)
        _take_attributes(gm, new_graph)
        done.append(_replace_one(graph, match, new_graph, changed))
    gm.recompile()
    if isinstance(replacement, torch.nn.Module):  # what only the pattern called is not called any more
        gm.delete_all_unused_submodules()
    return done


def _current(value, changed):
    while isinstance(value, Node) and value in changed:
        value = changed[value]
    return value


def _replace_one(graph, match, new_graph, changed):
    placeholders = [n for n in new_graph.nodes if n.op == "placeholder"]
    if len(placeholders) != len(match.placeholder_nodes):
        raise AssertionError(
            f"replace_pattern: the pattern has {len(match.placeholder_nodes)} arguments that it uses, the replacement "
            f"{len(placeholders)}"
        )
    values = {p: _current(v, changed) for p, v in zip(placeholders, match.placeholder_nodes, strict=True)}
    returning = match.returning_nodes
    matched = [
        gn for pn, gn in match.nodes_map.items() if isinstance(gn, Node) and pn.op not in ("placeholder", "output")
    ]
    # Behind the last value that the replacement needs, before the first use of its result: where the match ends, or, if
    # an argument comes later than that, behind it.
    uses = [user for node in returning for user in node.users if user not in matched]
    place = min(uses) if uses else graph.output_node()
    known = set(values)
    with graph.inserting_before(place):
        result = graph.graph_copy(new_graph, values)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(results) != len(returning):
        raise AssertionError(
            f"replace_pattern: the pattern returns {len(returning)} values, the replacement {len(results)}"
        )
    for old, new in zip(returning, results, strict=True):
        old.replace_all_uses_with(new) if isinstance(new, Node) else _replace_by_constant(old, new)
        changed[old] = new
    for node in sorted(matched, reverse=True):
        if node.op != "placeholder" and not node.users:
            graph.erase_node(node)
    new_nodes = [node for old, node in values.items() if old not in known]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, new_nodes)


def _replace_by_constant(old, value):
    from .node import map_arg

    for user in list(old.users):
        swap = lambda node: value if node is old else node
        user.args, user.kwargs = map_arg(user.args, swap), map_arg(user.kwargs, swap)


def _take_attributes(gm, graph):
    """Copy what the replacement calls or reads and ``gm`` lacks."""
    source = graph.owning_module
    if source is None:
        return
    for node in graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        owner, value = gm, source
        *path, last = node.target.split(".")
        for name in path:
            value = getattr(value, name)
            if getattr(owner, name, None) is None:
                setattr(owner, name, torch.nn.Module())
            owner = getattr(owner, name)
        if getattr(owner, last, None) is None:
            _put(owner, last, copy.deepcopy(getattr(value, last)), True)
