"""An exported program (torch.export) as a :class:`.Program`."""

from __future__ import annotations

import operator

import torch
from torch.export._rows import schemas
from torch.fx import Node

from ._program import Program, Step, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch.export import ExportedProgram

_NUMBERS = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.floordiv: "floordiv", operator.pow: "pow",
}  # fmt: skip


def read(exported: ExportedProgram) -> Program:
    """The program without what it writes to buffers: a model in a file keeps no state."""
    values: dict[Node, Value] = {}
    program = Program([], [], [])
    signature = exported.graph_signature
    specs = iter(signature.input_specs)
    for node in exported.graph.nodes:
        if node.op == "placeholder":
            _input(program, values, node, next(specs), exported)
        elif node.op == "call_function" and node.target is not operator.getitem:
            program.steps.append(_step(node, values))
    for value, spec in zip(exported.graph.output_node().args[0], signature.output_specs, strict=True):
        if spec.kind.name == "USER_OUTPUT":
            program.outputs.append(values[value] if isinstance(value, Node) else _constant(value))
    return program


def _constant(value):
    if value is None:
        return None
    return Value("constant", constant=torch.tensor(value), dtype=torch.tensor(value).dtype, shape=())


def _value(node):
    meta = node.meta.get("val")
    if isinstance(meta, torch.Tensor):
        return Value(node.name, meta.dtype, tuple(node.meta.get("sizes", meta.shape)))
    return Value(node.name, torch.float64 if isinstance(meta, float) else torch.int64, (), number=True)


def _input(program, values, node, spec, exported):
    kind = spec.kind.name
    if kind == "USER_INPUT":
        if isinstance(node.meta.get("val"), torch.Tensor):
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


def _defaults(name, names):
    """What a graph leaves away because the row has it."""
    for schema in schemas().get(name, ()):
        if tuple(a.name for a in schema.arguments) == tuple(names):
            return {a.name: a.default_value for a in schema.arguments}
    return {}


def _step(node, values):
    if node.target in _NUMBERS:
        values[node] = _value(node)
        name, arguments = f"number.{_NUMBERS[node.target]}", dict(zip(("left", "right"), node.args, strict=True))
        results = [values[node]]
    elif "operator" not in node.meta:  # a size
        values[node] = _value(node)
        name, arguments, results = "sym_size", dict(zip(("self", "dim"), node.args, strict=True)), [values[node]]
    else:
        name = node.meta["operator"]
        names = node.meta["arguments"]
        places = [n for n in names if n not in node.kwargs]
        arguments = {**_defaults(name, names), **dict(zip(places, node.args, strict=False)), **node.kwargs}
        results = _results(node, values)
    arguments = {k: _argument(v, values) for k, v in arguments.items()}
    place = node.meta.get("place")
    modules = [path for path in node.meta.get("nn_module_stack", {}) if path]
    return Step(
        name, arguments, results, node.target, str(place or ""), node.meta.get("stack_trace", ""),
        modules[-1] if modules else "", getattr(node.target, "namespace", "aten"),
    )  # fmt: skip


def _results(node, values):
    if isinstance(node.meta.get("val"), torch.Tensor):
        values[node] = _value(node)
        return [values[node]]
    parts = {user.args[1]: user for user in node.users if user.target is operator.getitem}
    results = []
    for i, meta in enumerate(node.meta["val"]):
        if i in parts:
            values[parts[i]] = _value(parts[i])
            results.append(values[parts[i]])
        else:
            results.append(Value(f"{node.name}_{i}", meta.dtype, tuple(meta.shape)))
    return results
