"""Passes over graphs and the tables of operators, under the names that ``torch._C`` has for them.

Passes work in place. Those that PyTorch has for executors of its own (fusion, differentiation, shapes that were profiled)
do not exist: programs are planned when they run.
"""

from __future__ import annotations

import itertools
from typing import Any

from . import _hooks, _native, _rewrites
from . import _ir as ir
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

    return _function(ir.Function(f"__torch__.{name}", _runnable(graph)), None)


def _runnable(graph: Any) -> Any:
    """A copy of a graph in which operators that are functions of Python here, as the general convolution, are called."""
    from ._script import operators

    graph = graph.copy()
    for node in list(graph.nodes()):
        if node.kind() not in ("aten::_convolution", "aten::_convolution_mode"):
            continue
        made = graph.create("prim::PythonOp", list(node.inputs()))
        made.ival_("pyobj", operators.operator(node.kind().removeprefix("aten::")))
        made.insertBefore(node)
        made.output().setType(node.output().type())
        node.output().replaceAllUsesWith(made.output())
        node.destroy()
    return graph


def interpret(graph: Any, inputs: Any) -> Any:
    """The outputs of a graph for these inputs."""
    return ir.Function(f"__torch__.interpreted_{next(_count)}", _runnable(graph))(*inputs)


def schemas_for(name: str) -> list[FunctionSchema]:
    """The overloads of an operator: ``"aten::add"``."""
    return [of_signature(each) for each in ir.signatures(name)]


def all_schemas() -> list[FunctionSchema]:
    """The schemas of all operators and primitives."""
    return [of_signature(each) for each in ir.all_signatures()]


def optimizes() -> bool:
    """Whether programs are planned when they run: they always are."""
    return True


class InferredType:
    """The type of a Python value, or why it has none."""

    def __init__(self, type: Any, reason: str = "") -> None:
        self._type, self._reason = type, reason

    def type(self) -> Any:
        """The type; RuntimeError where there is none."""
        if self._type is None:
            raise RuntimeError(self._reason)
        return self._type

    def success(self) -> bool:
        """Whether there is one."""
        return self._type is not None

    def reason(self) -> str:
        """Why there is none."""
        return self._reason


def infer_type(value: Any) -> InferredType:
    """The type of a Python value in programs.

    >>> torch._C._jit_try_infer_type([1, 2]).type(), torch._C._jit_try_infer_type(object()).success()
    (List[int], False)
    """
    from torch.jit._script import types
    from torch.jit._script.errors import ScriptError

    try:
        return InferredType(types.of_value(value))
    except ScriptError as error:
        return InferredType(None, str(error))


def assert_is_instance(value: Any, type: Any) -> None:
    """RuntimeError for a value that a program does not take where this type stands."""
    graph = ir.Graph()
    graph.registerOutput(graph.addInput("value", type))
    ir.Function(f"__torch__.instance_{next(_count)}", graph)(value)


def flatten(value: Any) -> tuple[list[Any], Any]:
    """The tensors in nested tuples and lists, and what is needed to put them together again.

    >>> tensors, nesting = torch._C._jit_flatten((torch.ones(1), [torch.zeros(1)]))
    >>> len(tensors), torch._C._jit_unflatten([1, 2], nesting)
    (2, (1, [2]))
    """
    import torch
    from torch.utils import _pytree

    leaves, spec = _pytree.tree_flatten(value)
    if wrong := [each for each in leaves if each is not None and not isinstance(each, torch.Tensor)]:
        raise RuntimeError(
            "Only tuples, lists and Variables are supported as JIT inputs/outputs, found a value of type "
            f"{type(wrong[0]).__name__}"
        )
    return leaves, spec


def unflatten(values: Any, nesting: Any) -> Any:
    """Values in the nesting that :func:`flatten` has found."""
    from torch.utils import _pytree

    return _pytree.tree_unflatten(list(values), nesting)


def propagate_shapes(graph: Any, inputs: Any, with_grad: bool = False) -> Any:
    """A copy of a graph whose values have the shapes that they have for these inputs: it runs once."""
    import torch

    out = graph.copy()
    for value, given in zip(out.inputs(), inputs):
        if isinstance(given, torch.Tensor):
            value.setType(ir.TensorType.create_from_tensor(given))
    results = interpret(graph, list(inputs))
    results = results if isinstance(results, tuple) else (results,)
    for value, result in zip(out.outputs(), results):
        if isinstance(result, torch.Tensor):
            value.setType(ir.TensorType.create_from_tensor(result))
    return out


def analyse_shapes(graph: Any, inputs: Any, with_grad: bool = False) -> None:
    """Give the inputs and outputs of a graph the shapes that they have for these inputs."""
    analysed = propagate_shapes(graph, inputs)
    for value, other in zip((*graph.inputs(), *graph.outputs()), (*analysed.inputs(), *analysed.outputs())):
        value.setType(other.type())


#: names of torch._C, and what answers to them
FACES = {
    **_rewrites.FACES,
    "_create_function_from_graph": function_from_graph,
    "_get_graph_executor_optimize": optimizes,
    "_jit_assert_is_instance": assert_is_instance,
    "_jit_clear_class_registry": _hooks.clear_class_registry,
    "_jit_flatten": flatten,
    "_jit_get_all_schemas": all_schemas,
    "_jit_get_emit_hooks": _hooks.get_emit_hooks,
    "_jit_get_schemas_for_operator": schemas_for,
    "_jit_interpret_graph": interpret,
    "_jit_pass_canonicalize": canonicalize,
    "_jit_pass_complete_shape_analysis": analyse_shapes,
    "_jit_pass_constant_pooling": pool_constants,
    "_jit_pass_constant_propagation": _native.fold_constants,
    "_jit_pass_cse": _native.eliminate_common_subexpressions,
    "_jit_pass_dce": _native.eliminate_dead_code,
    "_jit_pass_inline": _native.inline_calls,
    "_jit_pass_lint": lint,
    "_jit_pass_lower_all_tuples": lower_tuples,
    "_jit_pass_lower_graph": lower_graph,
    "_jit_set_emit_function_hook": _hooks.set_emit_function_hook,
    "_jit_set_emit_hooks": _hooks.set_emit_hooks,
    "_jit_set_emit_module_hook": _hooks.set_emit_module_hook,
    "_jit_try_infer_type": infer_type,
    "_jit_unflatten": unflatten,
    "_propagate_shapes": propagate_shapes,
}


def __getattr__(name: str) -> Any:
    if name in FACES:
        return FACES[name]
    raise AttributeError(f"module 'torch._C' has no attribute {name!r}: programs are planned when they run")
