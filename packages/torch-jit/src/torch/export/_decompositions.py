"""Operators of an exported graph in other ones: what a table says each is made of, traced and put in its place."""

from __future__ import annotations

import operator
import types

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import Node, map_arg

from ._core_aten import Maker, Rule

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
            made = rule.apply(Maker(node), *node.args, **node.kwargs) if isinstance(rule, Rule) else None
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
    """Put one node in the place of another that stands behind it."""
    if made not in node.all_input_nodes and "sizes" in node.meta:
        made.meta["sizes"] = node.meta["sizes"]
    node.replace_all_uses_with(made)
    node.graph.erase_node(node)


def _replace(module, node, function, table):
    tensors: list[Node] = []
    for used in node.all_input_nodes:
        if not isinstance(used.meta.get("val"), torch.Tensor):
            raise NotImplementedError(
                f"run_decompositions: {node.target} takes the number {used.name}, which follows a size: keep it out of the table"
            )
        tensors.append(used)

    def call(*values):
        given = dict(zip(tensors, values))
        args, kwargs = map_arg((node.args, node.kwargs), given.__getitem__)
        return function(*args, **kwargs)

    moves = any(isinstance(s, str) for n in tensors for s in n.meta.get("sizes", ()))
    examples = [torch.ones(n.meta["val"].shape, dtype=n.meta["val"].dtype) for n in tensors]
    made = make_fx(call, {k: f for k, f in table.items() if f is not function}, "symbolic" if moves else "real")(
        *examples
    )
    values = dict(zip((n for n in made.graph.nodes if n.op == "placeholder"), tensors))
    with module.graph.inserting_before(node):
        for each in made.graph.nodes:
            if each.op == "get_attr":
                raise NotImplementedError(f"run_decompositions: what stands for {node.target} has a tensor of its own")
            if each.op == "call_function":
                new = values[each] = module.graph.node_copy(each, values.__getitem__)
                new.meta.update(
                    {k: node.meta[k] for k in ("place", "stack_trace", "nn_module_stack") if k in node.meta}
                )
                if (row := _row(each)) is not None:
                    new.meta.update(row)
    result = map_arg(made.graph.output_node().args[0], values.__getitem__)
    if isinstance(result, Node):
        for key in ("val", "tensor_meta", "sizes"):
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
