"""What a graph may hold that an exported program is made of.

>>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
>>> program.verifier().check(program)
>>> program.graph.call_function(torch.relu, (next(iter(program.graph.nodes)),))
relu_1
>>> program.verifier().check(program)
Traceback (most recent call last):
    ...
torch._export.verifier.SpecViolationError: relu_1 calls <operator torch.relu>, which is no operator of torch.ops
"""

from __future__ import annotations

import types
from typing import Any

import torch
from torch._seams import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch.export.exported_program import NUMBERS, ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import GraphModule

__all__ = ["SpecViolationError", "TrainingIRVerifier", "Verifier", "load_verifier"]


class SpecViolationError(RuntimeError):
    """A graph has what an exported program may not have."""


class Verifier:
    """Checks programs of a dialect: subclass it and say ``dialect`` and what more is allowed."""

    dialect = "ATEN"

    def allowed_builtin_ops(self) -> list:
        """Functions of Python that a graph may call: on numbers."""
        return list(NUMBERS.values())

    def allowed_op_types(self) -> tuple[type[Any], ...]:
        """Classes of operators that a graph may call."""
        return (OpOverload, OpOverloadPacket, HigherOrderOperator)

    def allowed_getattr_types(self) -> tuple[type[Any], ...]:
        """What a graph may take from its module."""
        return (GraphModule,)

    def check_valid_op(self, op: Any) -> None:
        """Raises SpecViolationError for an operator that this dialect does not have: override it."""

    def check_additional(self, gm: GraphModule) -> None:
        """Raises SpecViolationError for what else this dialect does not have: override it."""

    def check(self, ep: ExportedProgram) -> None:
        """Raises SpecViolationError where a program's graph or its signature is not as it has to be."""
        self._check_graph_module(ep.graph_module)
        _check_signature(ep)

    def _check_graph_module(self, gm: GraphModule) -> None:
        for module in (m for m in gm.modules() if isinstance(m, GraphModule)):
            try:
                module.graph.lint()
            except RuntimeError as error:
                raise SpecViolationError(str(error)) from error
            for node in module.graph.nodes:
                self._check_node(module, node)
        self.check_additional(gm)

    def _check_node(self, module, node):
        if node.op in ("call_module", "call_method"):
            raise SpecViolationError(f"{node.name} is a {node.op} of {node.target}: a program calls operators only")
        if node.op == "get_attr":
            found = module
            for part in node.target.split("."):
                found = getattr(found, part, None)
            if not isinstance(found, self.allowed_getattr_types()):
                raise SpecViolationError(f"{node.name} takes {node.target}, which is a {type(found).__name__}")
        if node.op != "call_function":
            return
        allowed = isinstance(node.target, self.allowed_op_types()) or node.target in self.allowed_builtin_ops()
        if not allowed and not _is_held(node.target):
            raise SpecViolationError(f"{node.name} calls {node.target}, which is no operator of torch.ops")
        if _writes(node.target):
            raise SpecViolationError(f"{node.name} calls {node.target}, which writes to its arguments")
        self.check_valid_op(node.target)


class TrainingIRVerifier(Verifier):
    """Of programs as :func:`torch.export.export` gives them."""

    dialect = "TRAINING"


def _writes(target):
    try:
        return isinstance(target, OpOverload) and target._schema.is_mutable
    except RuntimeError:  # composed in Python, of operators that write to nothing
        return False


def _is_held(target):
    """Functions that a program keeps whole, as calls of Python."""
    from torch.export._archive import functions

    return isinstance(target, types.FunctionType) and target in functions().values()


def _check_signature(ep):
    specs, outputs = ep.graph_signature.input_specs, ep.graph_signature.output_specs
    placeholders = [n for n in ep.graph.nodes if n.op == "placeholder"]
    given = ep.graph.output_node().args[0]
    for what, nodes, found in (("inputs", placeholders, specs), ("outputs", given, outputs)):
        if len(nodes) != len(found):
            raise SpecViolationError(f"the graph has {len(nodes)} {what}, its signature {len(found)}")
    for node, spec in zip(placeholders, specs, strict=True):
        if spec.arg.name != node.name:
            raise SpecViolationError(f"input {node.name} is called {spec.arg.name} in the signature")
        held = {InputKind.PARAMETER: ep.state_dict, InputKind.CONSTANT_TENSOR: ep.constants}.get(spec.kind)
        if spec.kind is InputKind.BUFFER:
            held = ep.state_dict if spec.persistent else ep.constants
        if held is not None and spec.target not in held:
            raise SpecViolationError(
                f"input {node.name} is the {spec.kind.name.lower()} {spec.target}, which the program lacks"
            )
    names = {s.arg.name for s in specs if s.kind is InputKind.USER_INPUT}
    buffers = {s.target for s in specs if s.kind is InputKind.BUFFER}
    for value, spec in zip(given, outputs, strict=True):
        _check_output(value, spec, names, buffers)


def _check_output(value, spec, names, buffers):
    if isinstance(spec.arg, (TensorArgument, SymIntArgument)):
        if not isinstance(value, torch.fx.Node) or value.name != spec.arg.name:
            raise SpecViolationError(f"output {value} is called {spec.arg.name} in the signature")
    elif isinstance(spec.arg, ConstantArgument) and isinstance(value, torch.fx.Node):
        raise SpecViolationError(f"output {value.name} is the constant {spec.arg.value!r} in the signature")
    if spec.kind is OutputKind.BUFFER_MUTATION and spec.target not in buffers:
        raise SpecViolationError(f"output {value} is written to {spec.target}, which is no buffer of the program")
    if spec.kind is OutputKind.USER_INPUT_MUTATION and spec.target not in names:
        raise SpecViolationError(f"output {value} is written to {spec.target}, which is no input of the program")


def load_verifier(dialect: str) -> type[Verifier]:
    """The class that checks a dialect: "ATEN" or "TRAINING". ValueError for others."""
    kinds = {kind.dialect: kind for kind in (Verifier, TrainingIRVerifier)}
    if dialect not in kinds:
        raise ValueError(f"load_verifier: there is no dialect {dialect!r}; there are {', '.join(kinds)}")
    return kinds[dialect]
