"""A graph cut into submodules by the tags of its nodes."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule, _assign_attr
from torch.fx.node import Node, map_arg

from .tools_common import is_node_output_tensor

if TYPE_CHECKING:
    from .splitter_base import Subgraph

__all__ = ["Component", "getattr_recursive", "move_non_tensor_nodes_on_boundary", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj: Any, name: str) -> Any:
    """What stands at the end of a path of names, or None.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3))
    >>> getattr_recursive(net, "0.weight").shape, getattr_recursive(net, "0.scale")
    (torch.Size([3, 2]), None)
    """
    for part in name.split("."):
        if isinstance(obj, torch.nn.ModuleList) and part.isdigit():
            obj = obj[int(part)]
        else:
            obj = getattr(obj, part, None)
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Set the attribute at the end of a path of names. AttributeError where the path breaks off.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3))
    >>> setattr_recursive(net, "0.bias", None)
    >>> net[0].bias is None
    True
    """
    *path, last = attr.split(".")
    for part in path:
        obj = getattr(obj, part)
    setattr(obj, last, value)


@dataclass
class Component:
    """What becomes a submodule: its graph, what it takes of the whole and gives to it, and the names it has of the whole's."""

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None

    def taken(self, node: Node, found: dict[Node, Node], owner: Component | None) -> Node:
        """The node of this graph for one of the whole: its own, an attribute that is read here, or an input."""
        if owner is self:
            return found[node]
        if node.op == "get_attr":
            if node not in self.getattr_maps:
                self.getattr_maps[node] = self.graph.node_copy(node)
                self.constructor_args.append(str(node.target))
            return self.getattr_maps[node]
        if node not in self.orig_inputs:
            if owner is not None and owner.order > self.order:
                raise AssertionError(
                    f"split_by_tags: {self.name} reads {node.name} of {owner.name}, which stands behind it in tags"
                )
            last = next(reversed(self.input_placeholders), None)
            with self.graph.inserting_after(last) if last else self.graph.inserting_before():
                made = self.graph.placeholder(node.name, node.type)
            made.meta = dict(node.meta)
            self.orig_inputs.append(node)
            self.input_placeholders.append(made)
        return self.input_placeholders[self.orig_inputs.index(node)]


def split_by_tags(
    gm: GraphModule, tags: list[str], return_fqn_mapping: bool = False, return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> GraphModule | tuple[GraphModule, dict[str, str]]:  # fmt: skip
    """A module that calls one submodule for each tag, in the order of ``tags``: it has the nodes whose ``node.tag`` that is.

    An attribute that a submodule reads is its own. With ``return_tuple`` each submodule gives a tuple, also of one value. With
    ``return_fqn_mapping`` comes, for the path of each module and attribute in ``gm``, that in the new module. Raises
    AssertionError for a call without a tag, and where a tag needs a later one.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1))
    >>> for node, tag in zip(traced.graph.find_nodes(op="call_function", target=operator.add), ["first"]):
    ...     node.tag = tag
    >>> traced.graph.find_nodes(op="call_function", target=torch.relu)[0].tag = "second"
    >>> cut = split_by_tags(traced, ["first", "second"])
    >>> [name for name, _ in cut.named_children()], cut(torch.tensor([-2.0, 2.0]))
    (['first', 'second'], tensor([0., 3.]))
    """
    parts = {tag: Component(Graph(), i, tag) for i, tag in enumerate(tags)}
    if len(parts) < len(tags):
        raise ValueError(f"split_by_tags: a tag stands twice in {tags}")
    owner, found = _filled(gm, parts)
    result = next(n for n in gm.graph.nodes if n.op == "output")
    for node, part in owner.items():
        if any(owner.get(user) is not part for user in node.users):
            part.orig_outputs.append(node)
    whole = torch.nn.Module()
    for part in parts.values():
        outputs = [found[n] for n in part.orig_outputs]
        part.graph.output(outputs[0] if len(outputs) == 1 and not return_tuple else tuple(outputs))
        part.gm = GraphModuleCls(gm, part.graph)
        whole.add_module(part.name, part.gm)
    cut = GraphModuleCls(_with_attributes(whole, gm, result), _calls(gm, parts.values(), result, return_tuple))
    if not return_fqn_mapping:
        return cut
    return cut, {path: f"{part.name}.{path}" for part in parts.values() for path in part.constructor_args}


def _filled(gm, parts):
    """The part of each call, and the node there; the parts' graphs without their outputs."""
    owner: dict[Node, Component] = {}
    found: dict[Node, Node] = {}
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        if not hasattr(node, "tag"):
            raise AssertionError(f"split_by_tags: Node does not have tag: {node.format_node()}")
        part = parts.get(node.tag)
        if part is None:
            raise KeyError(f"split_by_tags: {node.name} has the tag {node.tag!r}, and tags are {list(parts)}")
        found[node] = part.graph.node_copy(node, lambda n, part=part: part.taken(n, found, owner.get(n)))
        owner[node] = part
        if node.op == "call_module":
            part.constructor_args.append(node.target)
    return owner, found


def _with_attributes(whole, gm, result):
    """The module around the parts, with what the whole gives back unchanged."""
    for node in result.all_input_nodes:
        if node.op == "get_attr":
            _assign_attr(getattr_recursive(gm, str(node.target)), whole, str(node.target))
    return whole


def _calls(gm, parts: Iterable[Component], result, return_tuple):
    """The graph that calls the parts."""
    graph, values = Graph(), {}
    for node in gm.graph.nodes:
        if node.op == "placeholder" or (node.op == "get_attr" and result in node.users):
            values[node] = graph.node_copy(node)
    for part in parts:
        made = graph.call_module(part.name, tuple(values[n] for n in part.orig_inputs))
        if len(part.orig_outputs) == 1 and not return_tuple:
            values[part.orig_outputs[0]] = made
            made.meta = dict(part.orig_outputs[0].meta)
            continue
        for i, node in enumerate(part.orig_outputs):
            values[node] = graph.call_function(operator.getitem, (made, i))
            values[node].meta = dict(node.meta)
    graph.output(map_arg(result.args[0], lambda n: values[n]), type_expr=result.type)
    return graph


def move_non_tensor_nodes_on_boundary(subgraphs: list[Subgraph]) -> None:
    """Calls of an accelerator's part that give others what is no tensor go to the part that follows, with those that read them."""
    for here, following in itertools.pairwise(subgraphs):
        if not here.is_acc:
            continue
        inside, moved = set(here.nodes), set()
        for node in here.nodes:
            leaves = not is_node_output_tensor(node) and any(user not in inside for user in node.users)
            if leaves or any(n in moved for n in node.all_input_nodes):
                moved.add(node)
        following.nodes = [n for n in here.nodes if n in moved] + following.nodes
        here.nodes = [n for n in here.nodes if n not in moved]
