"""Types of items, which follow from the type of the tuple or list."""

from __future__ import annotations

import operator
import typing

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph):
    """Give each ``operator.getitem`` node of a constant place the type that the annotation of the container says.

    >>> graph = torch.fx.symbolic_trace(lambda x: x[1]).graph
    >>> next(iter(graph.nodes)).type = tuple[int, float]
    >>> annotate_getitem_nodes(graph)
    >>> [node.type for node in graph.nodes][1]
    <class 'float'>
    """
    for node in graph.nodes:
        if node.op != "call_function" or node.target is not operator.getitem:
            continue
        owner, place = node.args
        whole = getattr(owner, "type", None)
        inner = typing.get_args(whole)
        if typing.get_origin(whole) is list and len(inner) == 1:
            node.type = inner[0]
        elif isinstance(place, int) and typing.get_origin(whole) is tuple:
            if len(inner) == 2 and inner[1] is Ellipsis:
                node.type = inner[0]
            elif -len(inner) <= place < len(inner):
                node.type = inner[place]
        elif isinstance(place, int) and hasattr(whole, "_fields"):
            node.type = typing.get_type_hints(whole).get(whole._fields[place])
