"""Passes over graphs and the tables of operators, under the names that ``torch._C`` has for them.

Passes work in place. Those that PyTorch has for executors of its own (fusion, differentiation, shapes that were profiled)
do not exist: programs are planned when they run.
"""

from __future__ import annotations

import itertools
from typing import Any

from . import _ir as ir
from . import _native
from ._schema import FunctionSchema, of_signature

__all__ = ["FACES"]

_count = itertools.count()


def lint(graph: Any) -> None:
    """RuntimeError where a graph is not whole: values used before they are made, blocks without what they owe."""
    graph.lint()


def canonicalize(graph: Any, keep_unique_names: bool = True) -> Any:
    """A copy of a graph whose values without names are numbered in order."""
    return ir.parse_ir(graph.str(False)) if not keep_unique_names else graph.copy()


def pool_constants(graph: Any) -> None:
    """Keep each constant once, at the head of the graph."""
    seen: dict = {}
    first = graph.param_node().next()

    def visit(block: Any) -> None:
        for node in list(block.nodes()):
            for inner in node.blocks():
                visit(inner)
            if node.kind() != "prim::Constant":
                continue
            value = node.output()
            kind = value.type().kind()
            held = value.toIValue()
            key = (str(value.type()), repr(held)) if kind != "TensorType" else (kind, id(held))
            if key in seen:
                value.replaceAllUsesWith(seen[key])
                node.destroy()
            else:
                seen[key] = value
                if node != first:
                    node.moveBefore(first)

    visit(graph.block())


def lower_tuples(graph: Any) -> None:
    """Let the elements of tuples that are made and taken apart in the same graph go by themselves."""

    def visit(block: Any) -> None:
        for node in list(block.nodes()):
            for inner in node.blocks():
                visit(inner)
            if node.kind() not in ("prim::TupleUnpack", "prim::TupleIndex"):
                continue
            made = node.input(0).node() if node.kind() == "prim::TupleIndex" else next(iter(node.inputs())).node()
            if made.kind() != "prim::TupleConstruct":
                continue
            parts = list(made.inputs())
            if node.kind() == "prim::TupleUnpack":
                for output, part in zip(node.outputs(), parts):
                    output.replaceAllUsesWith(part)
            else:
                at = node.input(1).toIValue()
                if at is None:
                    continue
                node.output().replaceAllUsesWith(parts[at])
            node.destroy()

    visit(graph.block())
    _native.eliminate_dead_code(graph)


def lower_graph(graph: Any, module: Any) -> tuple[Any, list[Any]]:
    """A copy of the graph of a method that takes the tensors of its module as inputs, after its own, and these tensors.

    >>> net = torch.jit.script(torch.nn.Linear(2, 3))
    >>> graph, tensors = torch._C._jit_pass_lower_graph(net.graph, net._c)
    >>> len(list(graph.inputs())), [tuple(t.shape) for t in tensors]
    (3, [(3, 2), (3,)])
    """
    import torch

    graph = graph.copy()
    _native.inline_calls(graph)
    held, tensors, inputs = {next(iter(graph.inputs())): module}, [], {}
    for node in graph.findAllNodes("prim::GetAttr"):
        inner = held[node.input(0)].getattr(node.s("name"))
        if isinstance(inner, ir.Object):
            held[node.output()] = inner
            continue
        if isinstance(inner, torch.Tensor):
            if id(inner) not in inputs:
                inputs[id(inner)] = graph.addInput(node.s("name"), node.output().type())
                tensors.append(inner)
            node.output().replaceAllUsesWith(inputs[id(inner)])
        else:
            with graph.insert_point_guard(node):
                node.output().replaceAllUsesWith(graph.insertConstant(inner))
    _native.eliminate_dead_code(graph)
    if used := [use.user.kind() for use in next(iter(graph.inputs())).uses()]:
        raise RuntimeError(f"a graph that gives {used[0]} its module cannot be lowered")
    graph.eraseInput(0)
    graph.lint()
    return graph, tensors


def function_from_graph(name: str, graph: Any) -> Any:
    """A graph as a function to call.

    >>> graph = torch._C.parse_ir("graph(%x : Tensor):\\n  %y : Tensor = aten::relu(%x)\\n  return (%y)")
    >>> torch._C._create_function_from_graph("rectified", graph)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    from ._trace import _function

    return _function(ir.Function(f"__torch__.{name}", graph.copy()), None)


def interpret(graph: Any, inputs: Any) -> Any:
    """The outputs of a graph for these inputs."""
    return ir.Function(f"__torch__.interpreted_{next(_count)}", graph.copy())(*inputs)


def schemas_for(name: str) -> list[FunctionSchema]:
    """The overloads of an operator: ``"aten::add"``."""
    return [of_signature(each) for each in ir.signatures(name)]


def all_schemas() -> list[FunctionSchema]:
    """The schemas of all operators and primitives."""
    return [of_signature(each) for each in ir.all_signatures()]


def optimizes() -> bool:
    """Whether programs are planned when they run: they always are."""
    return True


#: names of torch._C, and what answers to them
FACES = {
    "_create_function_from_graph": function_from_graph,
    "_get_graph_executor_optimize": optimizes,
    "_jit_get_all_schemas": all_schemas,
    "_jit_get_schemas_for_operator": schemas_for,
    "_jit_interpret_graph": interpret,
    "_jit_pass_canonicalize": canonicalize,
    "_jit_pass_constant_pooling": pool_constants,
    "_jit_pass_constant_propagation": _native.fold_constants,
    "_jit_pass_cse": _native.eliminate_common_subexpressions,
    "_jit_pass_dce": _native.eliminate_dead_code,
    "_jit_pass_inline": _native.inline_calls,
    "_jit_pass_lint": lint,
    "_jit_pass_lower_all_tuples": lower_tuples,
    "_jit_pass_lower_graph": lower_graph,
}


def __getattr__(name: str) -> Any:
    if name in FACES:
        return FACES[name]
    raise AttributeError(f"module 'torch._C' has no attribute {name!r}: programs are planned when they run")
