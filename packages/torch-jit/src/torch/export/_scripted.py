"""An exported program as an object of a script: what ``torch.jit.save`` writes of it runs without Python."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node

from ..jit import _ir as ir
from ..jit._resizes import resizing_operator
from ._grad_blocks import plain_graph
from .exported_program import ExportedProgram
from .graph_signature import ConstantArgument, InputKind, OutputKind, SymIntArgument, TensorArgument

__all__ = ["scripted"]

_ARITHMETIC = {
    operator.add: "add",
    operator.sub: "sub",
    operator.mul: "mul",
    operator.floordiv: "floordiv",
    operator.pow: "prim::int_pow",
    operator.getitem: "__getitem__",
}


def scripted(program: ExportedProgram) -> ir.Object:
    """The program as an object with a method ``forward``, which takes the tensors that the program takes and gives those
    that it gives, as a tuple where there are several. Parameters, buffers and constants are its attributes.

    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> scripted(program)._type().methods()[0].schema
    'forward(__torch__.torch.export.Exported self, Tensor input) -> Tensor'
    """
    return _Script(program).object


class _Script:
    def __init__(self, program: ExportedProgram) -> None:
        self.type = ir.ClassType("__torch__.torch.export.Exported", True)
        self.type.add_attribute("training", ir.BoolType.get())
        self.graph = ir.Graph()
        self.self = self.graph.addInput("self", self.type)
        self.values: dict[Node, Any] = {}
        nodes = list(plain_graph(program).nodes)
        held = self.attributes(program, [n for n in nodes if n.op == "placeholder"])
        for node in nodes:
            if node.op == "call_function":
                self.values[node] = self.call(node)
            elif node.op == "output":
                self.give(program, node.args[0])
            elif node.op != "placeholder":
                raise NotImplementedError(f"torch.jit.save: {node.op} {node.name} of an exported program")
        self.type.add_method(ir.Function("__torch__.torch.export.Exported.forward", self.graph))
        self.object = ir.Object(self.type)
        self.object.setattr("training", False)
        for name, tensor in held.items():
            self.object.setattr(name, tensor)

    def attributes(self, program: ExportedProgram, nodes: list[Node]) -> dict[str, Any]:
        """Inputs of the graph: those of the method, and attributes, whose tensors it returns by their names."""
        held, self.fields = {}, {}
        specs = program.graph_signature.input_specs
        for node, spec in zip(nodes, specs):
            if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, ConstantArgument):
                self.values[node] = spec.arg.value
            elif spec.kind is InputKind.USER_INPUT:
                kind = ir.IntType.get() if isinstance(spec.arg, SymIntArgument) else ir.TensorType.get()
                self.values[node] = self.graph.addInput(str(node.target), kind)
        for node, spec in zip(nodes, specs):
            if node in self.values:
                continue
            if spec.kind not in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                raise NotImplementedError(f"torch.jit.save: an exported program with an input of kind {spec.kind.name}")
            tensors = program.state_dict if spec.target in program.state_dict else program.constants
            name = self.fields[spec.target] = node.name
            is_parameter = spec.kind is InputKind.PARAMETER
            self.type.add_attribute(name, ir.TensorType.get(), is_parameter, not is_parameter)
            held[name] = tensors[spec.target].detach()
            read = self.graph.create("prim::GetAttr", [self.self], 1)
            read.s_("name", name)
            self.graph.insertNode(read)
            self.values[node] = read.output()
        return held

    def value(self, item: Any) -> Any:
        """An argument: nodes are values here, also within lists."""
        if isinstance(item, Node):
            return self.values[item]
        if isinstance(item, (list, tuple)) and any(isinstance(each, Node) for each in item):
            values = [self.value(each) for each in item]
            return [v if isinstance(v, ir.Value) else self.graph.insertConstant(v) for v in values]
        if isinstance(item, (list, tuple)) and not item:  # sizes and the like, as ATen has them
            return self.graph.insertConstant([], ir.ListType(ir.IntType.get()))
        return list(item) if isinstance(item, (list, tuple)) else item

    def call(self, node: Node) -> Any:
        args = [self.value(each) for each in node.args]
        if node.target is operator.getitem and isinstance(args[0], tuple):
            return args[0][args[1]]
        name = _ARITHMETIC.get(node.target)
        if name is None:
            parts = str(node.target).split(".")
            if parts[0] != "aten":
                return self.leaf(node, args)
            name = "size" if parts[1] == "sym_size" else parts[1]
        kwargs = {key: self.value(each) for key, each in node.kwargs.items()}
        first = next((i for i, each in enumerate(args) if isinstance(each, torch.dtype)), len(args))
        if first < len(args):  # a dtype is an int here: by its name it is no size
            kwargs.update(zip([each.name for each in node.target._schema.arguments[first:]], args[first:]))
        return self.graph.call(name, args[:first], kwargs)

    def leaf(self, node: Node, args: list[Any]) -> Any:
        """A function that programs keep whole, as the operator that does the same."""
        called = getattr(node.target, "__name__", str(node.target))
        if called == "recurrent":
            x, states, weights, mode, layers, bidirectional, bias = args
            first = states if mode == "LSTM" else states[0]
            return self.graph.call(mode.lower(), [x, first, weights, bias, layers, 0.0, False, bidirectional, False])
        if called == "instance_norm":
            x, mean, var, weight, bias, *rest = args
            return self.graph.call(called, [x, weight, bias, mean, var, *rest])
        if called == "scaled_dot_product_attention":
            *whole, scale, enable_gqa = args
            return self.graph.call(called, whole, {"scale": scale, "enable_gqa": enable_gqa})
        if called == "one_hot":
            return self.graph.call(called, args)
        if called == "interpolate" and (found := self.resized(node, *args)) is not None:
            return found
        raise NotImplementedError(f"torch.jit.save: a call of {called} in an exported program: script the module")

    def resized(
        self, node: Node, x: Any, size: Any, scale: Any, mode: str, corners: Any, again: Any, antialias: bool
    ) -> Any:
        """``interpolate``, or None where sizes would have to be computed first."""
        if mode == "area" or (scale is not None and again):
            return None
        dims = node.args[0].meta["val"].dim() - 2
        given = size if scale is None else scale
        given = given if isinstance(given, list) else [given] * dims
        corners = [] if mode.startswith("nearest") else [bool(corners)]
        given = [given, None] if scale is None else [None, [float(each) for each in given]]
        return self.graph.call(resizing_operator(mode, dims, antialias), [x, given[0], *corners, given[1]])

    def give(self, program: ExportedProgram, results: Any) -> None:
        """What the method returns, and buffers that it leaves in another state."""
        given = []
        for node, spec in zip(results, program.graph_signature.output_specs):
            value = self.value(node)
            if spec.kind is OutputKind.BUFFER_MUTATION:
                write = self.graph.create("prim::SetAttr", [self.self, value], 0)
                write.s_("name", self.fields[spec.target])
                self.graph.insertNode(write)
            elif spec.kind is OutputKind.USER_OUTPUT and isinstance(spec.arg, TensorArgument):
                given.append(value)
            elif spec.kind is not OutputKind.USER_OUTPUT:
                raise NotImplementedError(
                    f"torch.jit.save: an exported program with an output of kind {spec.kind.name}"
                )
            else:
                given.append(value if isinstance(value, ir.Value) else self.graph.insertConstant(value))
        if len(given) != 1:
            together = self.graph.create("prim::TupleConstruct", given, 1)
            together.output().setType(ir.TupleType([each.type() for each in given]))
            self.graph.insertNode(together)
            given = [together.output()]
        self.graph.registerOutput(given[0])
