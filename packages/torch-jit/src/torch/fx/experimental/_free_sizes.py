"""``make_fx(tracing_mode="symbolic")``: a function is traced at several sizes, and the graphs are joined into one for all.

Sizes and ints that are equal in the arguments stay equal, and 0 and 1 stay what they are, as for PyTorch. One at which the function
raises or runs other operators stays that of the arguments.
"""

from __future__ import annotations

import torch
from torch import _pytree as pytree
from torch.export import _sizes
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["has_symbols", "traced"]

_WAYS = (lambda size, n: size + (1, 4, 11)[n], lambda size, n: size * (2, 3, 5)[n], lambda size, n: size - (1, 2, 3)[n])
_RUNS = 3


class _Unlike(Exception):
    """Two graphs of a function are not the same but for numbers."""


def has_symbols(args: tuple) -> bool:
    """Whether there are sizes with names among the arguments."""
    return any(isinstance(x, torch.SymInt) for x in pytree.tree_leaves(args))


def traced(trace: Callable[[tuple], GraphModule], args: tuple, all_sizes: bool = True) -> GraphModule:
    """The graph that ``trace`` makes of arguments like these, for other sizes as well: all, or those with names."""
    state = torch.get_rng_state()
    leaves, spec = pytree.tree_flatten(args)
    numbers = [n for x in leaves for n in _numbers(x, all_sizes)]
    leaves = [int(x) if isinstance(x, torch.SymInt) else x for x in leaves]
    first = trace(pytree.tree_unflatten(leaves, spec))
    sizes = dict.fromkeys(n for n in numbers if n > 1)
    plans: dict[int, list[int]] = {}

    def at(changed):
        torch.set_rng_state(state)
        return trace(pytree.tree_unflatten([_resized(x, changed) for x in leaves], spec))

    for i, size in enumerate(sizes):
        for way in _WAYS:
            others = [way(size + 2 * i * bool(n and way is _WAYS[0]), n) for n in range(_RUNS)]
            if min(others) > 1 and _works(at, first, [{size: other} for other in others]):
                plans[size] = others
                break
    after = torch.get_rng_state()
    try:
        while plans:
            runs = [at({size: others[n] for size, others in plans.items()}) for n in range(_RUNS)]
            try:
                return _joined([first, *runs])
            except _Unlike:
                plans.popitem()  # sizes that do not change together with the others
    finally:
        torch.set_rng_state(after)
    return first


def _numbers(leaf, all_sizes):
    """What may be another number in another call."""
    if isinstance(leaf, torch.SymInt):
        return [int(leaf)]
    if not all_sizes:
        return []
    return list(leaf.shape) if isinstance(leaf, torch.Tensor) else [leaf] if type(leaf) is int else []


def _resized(leaf, changed):
    if not isinstance(leaf, torch.Tensor):
        return changed.get(leaf, leaf) if type(leaf) is int else leaf
    made = leaf.detach().clone()
    for dim, size in enumerate(leaf.shape):
        if size in changed:
            made = made.index_select(dim, torch.arange(changed[size], device=made.device) % size)
    return made.requires_grad_(leaf.requires_grad)


def _works(at, first, changes):
    try:
        _joined([first, *map(at, changes)])
    except Exception:  # whatever the function raises says that it does not take the size
        return False
    return True


def _joined(modules):
    """The first graph, with formulas where the numbers of the others differ."""
    orders = [list(m.graph.nodes) for m in modules]
    if len({len(order) for order in orders}) > 1:
        raise _Unlike
    places = [{node: i for i, node in enumerate(order)} for order in orders]
    graph, values, known, made = Graph(), {}, [], {}

    def number(seen):
        rule = (_sizes.rule if all(isinstance(s, int) for s in seen) else _sizes.real_rule)(seen, known)
        if rule is None:
            raise _Unlike
        return formula(rule)

    def formula(rule):
        if not isinstance(rule, (_sizes.Size, _sizes.Formula)):
            return rule
        if rule not in made:
            if isinstance(rule, _sizes.Size) and rule.dim is None:
                node = values[orders[0][rule.n]]
            elif isinstance(rule, _sizes.Size):
                node = graph.call_function(torch.ops.aten.sym_size.int, (values[orders[0][rule.n]], rule.dim))
                node.meta["val"] = orders[0][rule.n].meta["val"].shape[rule.dim]
            else:
                parts = [formula(part) for part in (rule.left, rule.right) if part is not None]
                node = graph.call_function(rule.function, tuple(parts))
                node.meta["val"] = rule.function(*(p.meta["val"] if isinstance(p, Node) else p for p in parts))
            made[rule] = node
        return made[rule]

    def argument(parts):
        first = parts[0]
        if isinstance(first, Node):
            if any(not isinstance(p, Node) or place[p] != places[0][first] for p, place in zip(parts, places)):
                raise _Unlike
            return values[first]
        if isinstance(first, (list, tuple)):
            if any(type(p) is not type(first) or len(p) != len(first) for p in parts):
                raise _Unlike
            return type(first)(argument(group) for group in zip(*parts))
        if isinstance(first, dict):
            if any(list(p) != list(first) for p in parts):
                raise _Unlike
            return {key: argument([p[key] for p in parts]) for key in first}
        if all(type(p) is type(first) and p == first for p in parts):
            return first
        if all(isinstance(p, (int, float)) and not isinstance(p, bool) for p in parts):
            return number(tuple(parts))
        raise _Unlike

    for i, group in enumerate(zip(*orders)):
        node = group[0]
        if any((n.op, n.target) != (node.op, node.target) for n in group):
            raise _Unlike
        if node.op == "get_attr":
            _same_constant(modules, node.target)
        if node.op == "output":
            graph.output(argument([n.args[0] for n in group]))
            continue
        args, kwargs = argument([tuple(n.args) for n in group]), argument([dict(n.kwargs) for n in group])
        values[node] = graph.create_node(node.op, node.target, args, kwargs, node.name)
        values[node].meta = dict(node.meta)
        seen = tuple(n.meta.get("val") for n in group)
        if node.op == "placeholder" and type(seen[0]) is int and len(set(seen)) > 1:
            known.append((seen, _sizes.Size(i, None)))
        shapes = [n.meta["val"].shape for n in group if isinstance(n.meta.get("val"), torch.Tensor)]
        if len(shapes) == len(group):
            if len({len(s) for s in shapes}) > 1:
                raise _Unlike
            varied = [(seen, _sizes.Size(i, dim)) for dim, seen in enumerate(zip(*shapes)) if len(set(seen)) > 1]
            known += [pair for pair in varied if pair[0] not in (k for k, _ in known)]
    graph._codegen = modules[0].graph._codegen
    graph.lint()
    result = GraphModule(modules[0], graph)
    result.__class__.__name__ = modules[0].__class__.__name__
    return result


def _same_constant(modules, name):
    values = [_reached(m, name) for m in modules]
    if any(v is not values[0] and not (v.shape == values[0].shape and torch.equal(v, values[0])) for v in values):
        raise _Unlike


def _reached(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module
