"""Cutting one GraphModule into several that call each other."""

import operator
from collections.abc import Callable

import torch
from torch.fx.graph import Graph, _at_path
from torch.fx.graph_module import GraphModule, _assign_attr
from torch.fx.node import map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """One piece: its nodes, what goes in and out of it, and the pieces that must run before it."""

    def __init__(self, name: str):
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict = {}  # node of the whole -> node of the piece
        self.targets: dict = {}

    def __repr__(self):
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {list(self.inputs)},\n outputs: {list(self.outputs)},\n "
            f"partitions depended on: {list(self.dependencies)},\n partition dependents: {list(self.dependents)}"
        )


def split_module(
    m: GraphModule,
    root_m: torch.nn.Module,
    split_callback: Callable,
    qualname_map: dict | None = None,
    keep_original_order: bool = False,
    keep_original_node_name: bool = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A GraphModule with a submodule for each piece; ``split_callback(node)`` gives the number (or name) of its piece.

    Pieces run in the order of their needs; with ``keep_original_order`` in the order in which they begin. Pieces that need
    each other raise RuntimeError. ``qualname_map`` receives, for the path of each module or parameter in a piece, its path
    in ``m``. Parameters that nodes read go into the piece as arguments.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1))
    >>> halves = split_module(traced, traced, lambda node: int(node.name == "relu"))
    >>> [name for name, _ in halves.named_children()], halves(torch.zeros(1))
    (['submod_0', 'submod_1'], tensor([1.]))
    """
    pieces: dict[str, Partition] = {}
    of: dict = {}  # node -> its piece; arguments, attributes and the output are of the whole
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        piece = pieces.get(name)
        if piece is None:
            piece = pieces[name] = Partition(name)
            piece.submod_name = f"submod_{f'{partition_affix}_' if partition_affix else ''}{name}"
        piece.node_names.append(node.name)
        of[node] = piece
    nodes = {node.name: node for node in m.graph.nodes}
    for node in m.graph.nodes:
        for used in node.all_input_nodes:
            _note_use(node, used, of)
    order = list(pieces) if keep_original_order else _ordered(pieces)
    if keep_original_order:
        _check_order(order, pieces)
    for name in order:
        _fill(pieces[name], m, nodes, of, keep_original_node_name, keep_original_input_name, tuple_return, qualname_map)
    return _assemble(m, [pieces[name] for name in order], nodes, of, tuple_return)


def _note_use(node, used, of):
    user, maker = of.get(node), of.get(used)
    if user is maker:
        return
    if maker is not None:
        maker.outputs.setdefault(used.name)
    if user is not None:
        user.inputs.setdefault(used.name)
        if maker is not None:
            user.dependencies.setdefault(maker.name)
            maker.dependents.setdefault(user.name)


def _ordered(pieces):
    """The pieces, each behind those that it needs."""
    done: list[str] = []
    waiting = dict(pieces)
    while waiting:
        ready = [name for name, piece in waiting.items() if all(needed in done for needed in piece.dependencies)]
        if not ready:
            raise RuntimeError(f"cycle exists between partitions! {', '.join(waiting)} need each other's results")
        done.append(ready[0])
        del waiting[ready[0]]
    return done


def _check_order(order, pieces):
    for i, name in enumerate(order):
        late = [needed for needed in pieces[name].dependencies if needed not in order[:i]]
        if late:
            raise RuntimeError(
                f"partition {name} needs results of {late}, which begin behind it: keep_original_order cannot hold"
            )


def _fill(piece, m, nodes, of, keep_names, keep_inputs, tuple_return, qualname_map):
    for name in piece.inputs:
        node = nodes[name]
        target = node.name if keep_inputs else f"arg_{len(piece.environment)}"
        made = piece.graph.placeholder(target, node.type)
        made.meta = dict(node.meta)
        piece.environment[node] = made
    for name in piece.node_names:
        node = nodes[name]
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            piece.targets[target] = m.get_submodule(node.target)
            if qualname_map is not None:
                qualname_map[f"{piece.submod_name}.{target}"] = node.target
        args = map_arg(node.args, piece.environment.__getitem__)
        kwargs = map_arg(node.kwargs, piece.environment.__getitem__)
        made = piece.graph.create_node(node.op, target, args, kwargs, node.name if keep_names else None, node.type)
        made.meta = dict(node.meta)
        piece.environment[node] = made
    results = tuple(piece.environment[nodes[name]] for name in piece.outputs)
    if results:
        piece.graph.output(results[0] if len(results) == 1 and not tuple_return else results)


def _assemble(m, pieces, nodes, of, tuple_return):
    graph, values, root = Graph(), {}, torch.nn.Module()
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            values[node] = graph.node_copy(node)
        if node.op == "get_attr":
            _assign_attr(_at_path(m, node.target), root, node.target)
    for piece in pieces:
        root.add_module(piece.submod_name, GraphModule(piece.targets, piece.graph))
        call = graph.call_module(piece.submod_name, tuple(values[nodes[name]] for name in piece.inputs))
        if len(piece.outputs) == 1 and not tuple_return:
            values[nodes[next(iter(piece.outputs))]] = call
        else:
            for index, name in enumerate(piece.outputs):
                values[nodes[name]] = graph.call_function(operator.getitem, (call, index))
    output = m.graph.output_node()
    graph.output(map_arg(output.args[0], values.__getitem__), output.type)
    result = GraphModule(root, graph)
    result.training = m.training
    return result
