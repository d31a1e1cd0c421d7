"""Operators of a functional graph that may write over an argument, since nothing reads it any more."""

from typing import Any

import torch
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node

from .fake_tensor_prop import FakeTensorProp

__all__ = ["reinplace"]


def reinplace(gm: GraphModule, *sample_args: Any) -> GraphModule:
    """Make ``x.add_(y)`` of ``x.add(y)`` where no later node, and no result, looks at the memory of ``x``; the graph is changed.

    ``sample_args`` are arguments like those of a call: which values share memory, and whether a result fits, is seen on them. Memory
    of arguments and of parameters is never written to.

    >>> from torch.fx.experimental.proxy_tensor import make_fx
    >>> traced = make_fx(lambda x: (x + 1).mul(2))(torch.ones(3))
    >>> [str(n.target) for n in reinplace(traced, torch.ones(3)).graph.nodes if n.op == "call_function"]
    ['aten.add.Tensor', 'aten.mul_.Tensor']
    """
    if not all(isinstance(a, torch.Tensor) for a in sample_args):
        raise TypeError("reinplace: sample_args must be tensors")
    FakeTensorProp(gm).propagate(*sample_args)
    nodes = list(gm.graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    families = _families(nodes)
    for node in nodes:
        target = _in_place(node)
        if target is None:
            continue
        own = node.args[0]
        members = families[own]
        others = [a for a in node.all_input_nodes if a is not own and a in members]
        later = any(place[user] > place[node] for member in members for user in member.users if user is not node)
        if others or later or node in members or any(m.op in ("placeholder", "get_attr") for m in members):
            continue
        node.target = target
        families[node].update(members)
        for member in list(families[node]):
            families[member] = families[node]
    gm.recompile()
    return gm


def _families(nodes):
    """For each node the nodes whose values may share its memory: what operators say of views, and calls of any function."""
    families: dict[Node, set[Node]] = {}
    for node in nodes:
        families[node] = {node}
        schema = getattr(node.target, "_schema", None)
        fresh = schema is not None and all(a.alias_info is None for a in schema.arguments) and not _may_view(node)
        if node.op in ("placeholder", "get_attr") or fresh:
            continue
        for used in node.all_input_nodes:
            families[node] |= families[used]
        for member in families[node]:
            families[member] = families[node]
    return families


def _may_view(node):
    from torch import _seams

    name = getattr(node.target, "__name__", "").partition(".")[0]
    rows = [row for row in _seams.rows() if row["schema"].partition("(")[0] == name]
    return not rows or any(row["view"] or row["composite"] for row in rows)


def _in_place(node):
    """The operator that writes over the first argument, where there is one and the result fits there."""
    if (
        node.op != "call_function"
        or not isinstance(node.target, torch._ops.OpOverload)
        or node.target.namespace != "aten"
    ):
        return None
    name, _, overload = str(node.target).removeprefix("aten.").partition(".")
    if name.endswith("_") or not node.args or not isinstance(node.args[0], Node):
        return None
    own, result = node.args[0].meta.get("val"), node.meta.get("val")
    if not isinstance(own, torch.Tensor) or not isinstance(result, torch.Tensor):
        return None
    if own.shape != result.shape or own.dtype != result.dtype or own.stride() != result.stride():
        return None
    packet = getattr(torch.ops.aten, f"{name}_", None)
    return None if packet is None else getattr(packet, overload or "default")
