"""An exported program (torch.export) as a :class:`.Program`."""

from __future__ import annotations

import inspect
import math
import operator
import types

import torch
from torch.export._grad_blocks import plain as _plain
from torch.export._rows import schemas
from torch.fx import Node

from ._program import Block, Program, Step, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch.export import ExportedProgram

_NUMBERS = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.floordiv: "floordiv", operator.pow: "pow",
    operator.truediv: "truediv", operator.mod: "mod", math.trunc: "trunc", math.ceil: "ceil", math.floor: "floor", round: "round",
    operator.abs: "abs", float: "float", operator.and_: "and", operator.or_: "or", operator.xor: "xor",
}  # fmt: skip
_CHECK = torch.ops.aten._assert_scalar.default


def read(exported: ExportedProgram) -> Program:
    """The program without what it writes to buffers: a model in a file keeps no state."""
    values: dict[Node, Value] = {}
    program = Program([], [], [])
    signature = exported.graph_signature
    specs = iter(signature.input_specs)
    module = _plain(exported.graph_module)  # a model in a file has no gradients
    for node in module.graph.nodes:
        if node.op == "placeholder":
            _input(program, values, node, next(specs), exported)
    _steps(module, values, program.steps)
    for value, spec in zip(module.graph.output_node().args[0], signature.output_specs, strict=True):
        if spec.kind.name == "USER_OUTPUT":
            program.outputs.append(values[value] if isinstance(value, Node) else _constant(value))
    return program


def _steps(module, values, steps):
    """The operators of a graph. What a program checks while it runs is left away: a model in a file cannot raise."""
    for node in module.graph.nodes:
        if node.op != "call_function" or node.target in (operator.getitem, _CHECK):
            continue
        if node.users and all(user.target is _CHECK for user in node.users):
            continue
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            graphs = [getattr(module, a.target) for a in node.args if isinstance(a, Node) and a.op == "get_attr"]
            rest = [_argument(a, values) for a in node.args if not (isinstance(a, Node) and a.op == "get_attr")]
            steps.append(_BLOCKS[node.target.name()](node, graphs, rest, values, steps))
        else:
            steps.append(_step(node, values))


def _inner(graph, operands, values):
    """The steps of a graph within, for these operands, and what it gives."""
    steps: list[Step] = []
    for node, operand in zip((n for n in graph.graph.nodes if n.op == "placeholder"), operands):
        values[node] = operand
    _steps(graph, values, steps)
    given = graph.graph.output_node().args[0]
    return steps, [_argument(v, values) for v in (given if isinstance(given, (list, tuple)) else (given,))]


def _cond(node, graphs, rest, values, steps):
    condition, operands = rest
    blocks = [Block([], *_inner(graph, operands, values)) for graph in graphs]
    return _of_blocks("prim.if", node, {"condition": condition}, values, blocks)


def _entry(node, what, values, first=0):
    """What a body is entered with: values like these, without their first dims."""
    return [Value(f"{node.name}_{what}_{i}", v.dtype, v.shape[first:]) for i, v in enumerate(values)]


def _while_loop(node, graphs, rest, values, steps):
    (asked, body), (first, more) = graphs, rest
    before, (going,) = _inner(asked, [*first, *more], values)
    steps += before
    entry = _entry(node, "carried", first)
    inner, after = _inner(body, [*entry, *more], values)
    again, (going_on,) = _inner(asked, [*after, *more], values)
    block = Block([Value(f"{node.name}_turn", torch.int64, ()), *entry], [*inner, *again], [going_on, *after])
    return _of_blocks("prim.loop", node, {"trips": None, "going": going, "first": first}, values, [block])


def _scan(node, graphs, rest, values, steps):
    (body,), (first, xs, more) = graphs, rest
    entry = [*_entry(node, "carried", first), *_entry(node, "slice", xs, 1)]
    block = Block(entry, *_inner(body, [*entry, *more], values))
    return _of_blocks("prim.scan", node, {"first": first, "xs": xs}, values, [block])


def _map(node, graphs, rest, values, steps):
    return _scan(node, graphs, [[], *rest], values, steps)


def _of_blocks(name, node, arguments, values, blocks):
    return Step(name, arguments, _results(node, values), node.target, str(node.meta.get("place") or ""), blocks=blocks)


_BLOCKS = {"cond": _cond, "while_loop": _while_loop, "scan": _scan, "map_impl": _map}


def _constant(value):
    if value is None:
        return None
    return Value("constant", constant=torch.tensor(value), dtype=torch.tensor(value).dtype, shape=())


def _value(node):
    meta = node.meta.get("val")
    if isinstance(meta, torch.Tensor):
        return Value(node.name, meta.dtype, tuple(node.meta.get("sizes", meta.shape)))
    return Value(
        node.name, torch.float64 if isinstance(meta, (float, torch.SymFloat)) else torch.int64, (), number=True
    )


def _input(program, values, node, spec, exported):
    kind = spec.kind.name
    if kind == "USER_INPUT":
        if isinstance(node.meta.get("val"), (torch.Tensor, torch.SymInt)):
            values[node] = _value(node)
            values[node].name = node.target
            program.inputs.append(values[node])
        return
    state = exported.state_dict
    tensor = state[spec.target] if spec.target in state else exported.constants[spec.target]
    value = values[node] = Value(spec.target, tensor.dtype, tuple(tensor.shape), constant=tensor.detach())
    program.held.append(value)
    if kind == "PARAMETER":
        program.parameters.add(spec.target)


def _argument(value: Any, values: dict) -> Any:
    if isinstance(value, Node):
        return values[value]
    if isinstance(value, (list, tuple)):
        return [_argument(v, values) for v in value]
    return value


def _defaults(target, name, names):
    """What a graph leaves away because the row has it, or the function of Python that the operator is."""
    for schema in schemas().get(name, ()):
        if tuple(a.name for a in schema.arguments) == tuple(names):
            return {a.name: a.default_value for a in schema.arguments}
    function = getattr(target, "_op", None)
    if not isinstance(function, types.FunctionType):
        return {}
    return {p.name: p.default for p in inspect.signature(function).parameters.values() if p.default is not p.empty}


def _step(node, values):
    if node.target in _NUMBERS:
        values[node] = _value(node)
        name, arguments = f"number.{_NUMBERS[node.target]}", dict(zip(("left", "right"), node.args))
        results = [values[node]]
    elif "operator" not in node.meta:  # a size
        values[node] = _value(node)
        name, arguments, results = "sym_size", dict(zip(("self", "dim"), node.args, strict=True)), [values[node]]
    else:
        name = node.meta["operator"]
        names = node.meta["arguments"]
        places = [n for n in names if n not in node.kwargs]
        arguments = {**_defaults(node.target, name, names), **dict(zip(places, node.args, strict=False)), **node.kwargs}
        results = _results(node, values)
    arguments = {k: _argument(v, values) for k, v in arguments.items()}
    place = node.meta.get("place")
    modules = [path for path in node.meta.get("nn_module_stack", {}) if path]
    return Step(
        name, arguments, results, node.target, str(place or ""), node.meta.get("stack_trace", ""),
        modules[-1] if modules else "", getattr(node.target, "namespace", "aten"),
    )  # fmt: skip


def _results(node, values):
    if not isinstance(node.meta.get("val"), list):  # a tensor, or a number
        values[node] = _value(node)
        return [values[node]]
    parts = {user.args[1]: user for user in node.users if user.target is operator.getitem}
    results = []
    for i, meta in enumerate(node.meta["val"]):
        if i in parts:
            values[parts[i]] = _value(parts[i])
            results.append(values[parts[i]])
        else:
            shape = tuple(size if isinstance(size, int) else str(size) for size in meta.shape)
            results.append(Value(f"{node.name}_{i}", meta.dtype, shape))
    return results
