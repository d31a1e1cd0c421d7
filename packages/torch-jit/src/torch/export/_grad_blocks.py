"""Blocks of ``torch.no_grad()`` and ``set_grad_enabled`` in an exported program: a graph of their own within one call, so that a
module that trains what was exported has the gradients of the original.
"""

from __future__ import annotations

import copy
import operator
from typing import NamedTuple

import torch
from torch._higher_order_ops.wrap import wrap_with_set_grad_enabled
from torch.autograd import grad_mode
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg
from torch.jit import _native
from torch.jit._threads import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["fold", "inline", "plain", "plain_graph", "watching"]


class _Was(NamedTuple):
    """A mode to go back to: as the program knows it, and as it is while it is recorded."""

    told: bool
    real: bool


_TOGETHER = "place", "stack_trace", "nn_module_stack", "torch_fn"


def watching(recorder: Any) -> Any:
    """A block in which this thread's changes of the grad mode are told to ``recorder.grad``. What is recorded runs without gradients
    but where the program itself enables them."""
    before = grad_mode._set_grad_enabled

    def told(mode: bool) -> bool:
        if (within := recorder.innermost()).is_busy:
            return before(mode)
        was = _Was(within.grad, torch.is_grad_enabled())
        within.grad, real = (mode.told, mode.real) if isinstance(mode, _Was) else (bool(mode), bool(mode))
        before(real)
        return was

    return _native.Replaced([(grad_mode, "_set_grad_enabled", here(told, before))])


def fold(
    graph: Graph, modules: dict[str, GraphModule], marked: dict[Node, bool], needed: Iterable[Node]
) -> dict[Node, Node]:
    """Put each stretch of nodes of one mode into a graph of its own. ``marked`` has the modes of nodes that lie in another than
    that around the program. Gives what stands for the nodes that others, or ``needed``, take."""
    stands: dict[Node, Node] = {}
    kept = set(needed)
    for stretch in _stretches(graph, marked):
        stands.update(_folded(graph, modules, stretch, marked[stretch[0]], kept))
    return stands


def _stretches(graph, marked):
    found, last = [], None
    for node in graph.nodes:
        mode = marked.get(node)
        if mode is not None:
            if mode is not last:
                found.append([])
            found[-1].append(node)
        last = mode
    return found


def _folded(graph, modules, stretch, mode, kept):
    inside, operands, nodes = set(stretch), {}, {}
    body = Graph()
    results = [n for n in stretch if n in kept or any(user not in inside for user in n.users)]

    def taken(node: Node) -> Node:
        if node not in nodes:
            with body.inserting_before(next(iter(body.nodes), None)):
                nodes[node] = body.placeholder(node.name)
            nodes[node].meta = dict(node.meta)
            operands[node] = nodes[node]
        return nodes[node]

    functions = {}
    for node in stretch:
        if node.op == "get_attr":  # a function of torch.cond or of a loop
            functions[node.target] = modules.pop(node.target)
        nodes[node] = body.node_copy(node, taken)
    body.output(tuple(nodes[n] for n in results))
    body.eliminate_dead_code()
    used = [n for n, placed in operands.items() if placed.users]
    for placed in operands.values():
        if not placed.users:
            body.erase_node(placed)
    _in_order(body, [operands[n] for n in used])
    body.lint()
    if not results and not any(n.op == "call_function" for n in body.nodes):
        for node in reversed(stretch):
            graph.erase_node(node)
        return {}
    name = f"submod_{sum(m.startswith('submod_') for m in modules) + 1}"
    modules[name] = GraphModule(functions, body)
    with graph.inserting_before(stretch[0]):
        module = graph.get_attr(name)
        call = graph.call_function(wrap_with_set_grad_enabled, (mode, module, *used))
        call.meta.update({k: stretch[-1].meta[k] for k in _TOGETHER if k in stretch[-1].meta})
        call.meta["val"] = [n.meta.get("val") for n in results]
        stands = {}
        for i, node in enumerate(results):
            stands[node] = graph.call_function(operator.getitem, (call, i))
            stands[node].meta = dict(node.meta)
    for node in results:
        node.replace_all_uses_with(stands[node], delete_user_cb=lambda user: user not in inside)
    for node in reversed(stretch):
        graph.erase_node(node)
    return stands


def _in_order(body, placeholders):
    for node in reversed(placeholders):
        first = next(iter(body.nodes))
        if first is not node:
            first.prepend(node)


def plain_graph(program: Any) -> Graph:
    """The graph of a program without such blocks, for what has no gradients: the program's own where it has none."""
    return plain(program.graph_module).graph


def plain(module: GraphModule) -> GraphModule:
    """A graph module without such blocks: itself where it has none."""
    if not any(n.target is wrap_with_set_grad_enabled for n in module.graph.nodes):
        return module
    made = GraphModule(module, copy.deepcopy(module.graph))
    inline(made)
    return made


def inline(module: GraphModule) -> None:
    """Put the nodes of such blocks back into the graph around them."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target is not wrap_with_set_grad_enabled:
            continue
        inner = getattr(module, node.args[1].target)
        inline(inner)
        nodes = dict(zip((n for n in inner.graph.nodes if n.op == "placeholder"), node.args[2:], strict=True))
        with graph.inserting_before(node):
            for each in inner.graph.nodes:
                if each.op in ("call_function", "get_attr"):
                    nodes[each] = graph.node_copy(each, nodes.__getitem__)
                if each.op == "get_attr":
                    name = next(n for n in _names(each.target) if not hasattr(module, n))
                    module.add_module(name, getattr(inner, each.target))
                    nodes[each].target = name
        results = map_arg(inner.graph.output_node().args[0], nodes.__getitem__)
        for user in list(node.users):
            user.replace_all_uses_with(results[user.args[1]])
            graph.erase_node(user)
        held = node.args[1]
        graph.erase_node(node)
        if not held.users:
            delattr(module, held.target)
            graph.erase_node(held)
    graph.lint()
    module.recompile()


def _names(name):
    yield name
    i = 0
    while True:
        i += 1
        yield f"{name}_{i}"
