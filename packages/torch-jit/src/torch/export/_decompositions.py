"""Operators of an exported graph in other ones: what a table says each is made of, traced and put in its place."""

from __future__ import annotations

import operator
import types

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import Node, map_arg

from ._core_aten import Maker, Rule
from ._tape import bare, describe, faked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .exported_program import ExportedProgram

__all__ = ["decompose"]


def decompose(program: ExportedProgram, table: Mapping[Any, Callable[..., Any]]) -> None:
    """Replace the calls of operators that are in the table. NotImplementedError where one takes a size that may change as a number."""
    given = {k: f for k, f in table.items() if not isinstance(f, Rule)}
    for module in (
        program.graph_module,
        *(m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)),
    ):
        for node in list(module.graph.nodes):
            if node.op == "call_function" and (function := _found(node, given)) is not None:
                _replace(module, node, function, given)
        for node in list(module.graph.nodes):
            rule = _found(node, table) if node.op == "call_function" else None
            if isinstance(rule, Rule) and rule.traced is not None and (made := _traced(node, rule.traced)) is not None:
                _put(module, node, made, _tensors(node))
        for node in list(module.graph.nodes):
            rule = _found(node, table) if node.op == "call_function" else None
            made = rule.apply(Maker(node), *node.args, **node.kwargs) if isinstance(rule, Rule) and rule.apply else None
            if made is not None:
                _stand_in(node, made)
        module.graph.lint()
        module.recompile()


def _found(node, table):
    """What the table has for a node: for its overload, for all of them, or for the operator that a function of Python is."""
    function = table.get(node.target) or table.get(getattr(node.target, "overloadpacket", None))
    if function is None and isinstance(node.target, types.FunctionType) and "operator" in node.meta:
        function = table.get(getattr(getattr(torch.ops.aten, node.meta["operator"], None), "default", None))
    return function


def _stand_in(node, made):
    """Put one node in the place of another that stands behind it, or a list of nodes in that of its results."""
    if isinstance(made, list):
        for user in list(node.users):
            if user.target is not operator.getitem:
                return
            user.replace_all_uses_with(made[user.args[1]])
            node.graph.erase_node(user)
        node.graph.erase_node(node)
        return
    if made not in node.all_input_nodes and "sizes" in node.meta:
        made.meta["sizes"] = node.meta["sizes"]
    node.replace_all_uses_with(made)
    node.graph.erase_node(node)


def _tensors(node):
    """The nodes that a call takes, which are tensors."""
    for used in node.all_input_nodes:
        if not isinstance(used.meta.get("val"), torch.Tensor):
            raise NotImplementedError(
                f"run_decompositions: {node.target} takes the number {used.name}, which follows a size: keep it out of the table"
            )
    return node.all_input_nodes


def _may_change(node):
    return any(isinstance(s, str) for n in node.all_input_nodes for s in n.meta.get("sizes", ()))


def _traced(node, function):
    """What a function computes in the place of a call, of one set of sizes; None where others may come, or it does not say."""
    if _may_change(node) or not all(isinstance(n.meta.get("val"), torch.Tensor) for n in node.all_input_nodes):
        return None
    _, call, examples = _call(node, function)
    return None if call(*examples) is None else make_fx(call)(*examples)


def _call(node, function):
    """The tensors that a call takes, a function of them in its place, and examples."""
    tensors = _tensors(node)

    def call(*values):
        given = dict(zip(tensors, values))
        args, kwargs = map_arg((node.args, node.kwargs), given.__getitem__)
        return function(*args, **kwargs)

    return tensors, call, [torch.ones(bare(n.meta["val"]).shape, dtype=n.meta["val"].dtype) for n in tensors]


def _replace(module, node, function, table):
    tensors, call, examples = _call(node, function)
    others = {k: f for k, f in table.items() if f is not function}
    _put(module, node, make_fx(call, others, "symbolic" if _may_change(node) else "real")(*examples), tensors)


def _put(module, node, made, tensors):
    """Put the nodes of a trace in the place of a call."""
    values = dict(zip((n for n in made.graph.nodes if n.op == "placeholder"), tensors))
    with module.graph.inserting_before(node):
        for each in made.graph.nodes:
            if each.op == "get_attr":
                raise NotImplementedError(f"run_decompositions: what stands for {node.target} has a tensor of its own")
            if each.op == "call_function":
                new = values[each] = module.graph.node_copy(each, values.__getitem__)
                if "val" not in new.meta:  # of several results
                    given = map_arg((new.args, new.kwargs), lambda n: bare(n.meta["val"]))
                    with torch.no_grad():
                        new.meta["val"] = faked(new.target(*given[0], **given[1]))
                if isinstance(new.meta["val"], torch.Tensor):
                    describe(new, new.meta["val"], new.meta.get("sizes", bare(new.meta["val"]).shape))
                new.meta.update(
                    {k: node.meta[k] for k in ("place", "stack_trace", "nn_module_stack") if k in node.meta}
                )
                if (row := _row(each)) is not None:
                    new.meta.update(row)
    result = map_arg(made.graph.output_node().args[0], values.__getitem__)
    if isinstance(result, Node):
        for key in ("val", "tensor_meta", "sizes", "torch_fn"):
            if key in node.meta:
                result.meta[key] = node.meta[key]
        node.replace_all_uses_with(result)
    else:
        for user in list(node.users):
            if user.target is not operator.getitem:
                raise NotImplementedError(f"run_decompositions: {user} takes all results of {node.target} at once")
            user.replace_all_uses_with(result[user.args[1]])
            module.graph.erase_node(user)
    module.graph.erase_node(node)


def _row(node):
    """The operator's name and parameters, as the export notes them."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or getattr(node.target, "namespace", "") != "aten":
        return None
    return {"operator": node.target.overloadpacket.__name__, "arguments": tuple(a.name for a in schema.arguments)}
