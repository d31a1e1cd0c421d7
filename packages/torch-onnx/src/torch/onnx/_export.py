"""From a program to a ModelProto: rules write its steps, then inputs, outputs and initializers are listed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import _pytree as pytree

from . import _custom, _folding, _types
from ._program import Program, Step, Value
from ._rules import Rule, table
from ._writer import Writer, missing
from .errors import OnnxExporterError, UnsupportedOperatorError

LOWEST, HIGHEST, DEFAULT = 13, 23, 20


def find(step: Step, opset: int, own: dict) -> Rule | None:
    """What writes a step: one's own function before ours."""
    return _custom.rule(step, opset, own) or (table().get(_known_as(step)) if step.library == "aten" else None)


def _known_as(step: Step) -> str:
    """The name in the table: complex tensors have rules of their own."""
    values = [v for v in pytree.tree_leaves((step.arguments, step.results)) if isinstance(v, Value)]
    is_complex = any(v.dtype is not None and v.dtype.is_complex for v in values)
    return f"complex.{step.name}" if is_complex else step.name


def _in_a_row(w: Writer, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments of an operator along a dim: of a tensor without dims it is that of a row of one element, in torch alone."""
    first = next((each for each in arguments.values() if isinstance(each, Value)), None)
    if (
        arguments.get("dim") in (None, [])
        or first is None
        or first.number
        or first.shape != ()
        or w.step.name == "unsqueeze"
    ):
        return arguments
    found = dict(arguments)
    for name, value in arguments.items():
        if (value is first or name in ("index", "src", "source")) and getattr(value, "shape", None) == ():
            row = w.reshape(value if isinstance(value, Value) else w.const(value), [1])
            found[name] = Value(row, value.dtype, (1,))
            w.names[found[name]] = row
    return found


def refuse_missing(program: Program, opset: int, own: dict) -> None:
    """Names all operators without a rule at once, each with the lines that call it."""
    absent: dict[str, list[str]] = {}
    for step in missing(program, lambda s: _known(s, opset, own)):
        rule = find(step, opset, own)
        name = _known_as(step) if step.library == "aten" else f"{step.library}::{step.name}"
        name = f"{step.name} of complex tensors" if name.startswith("complex.") else name
        why = name if rule is None else f"{name} (needs opset {rule.since})"
        lines = absent.setdefault(why, [])
        if step.place not in lines:
            lines.append(step.place)
    if absent:
        text = "\n".join(
            f"  {name}: {', '.join(lines[:3])}{' ...' if len(lines) > 3 else ''}" for name, lines in absent.items()
        )
        hint = "torch.onnx.register_custom_op_symbolic('aten::name', function, opset) adds one"
        if all(name.startswith("_int8_") for name in absent):
            hint = "they are of quantized layers: export the model of floats, and quantize its file (onnxruntime.quantization)"
        raise UnsupportedOperatorError(f"no rule writes these operators in opset {opset}:\n{text}\n{hint}")


def _known(step, opset, own):
    rule = find(step, opset, own)
    return rule is not None and rule.since <= opset


class Exporter:
    """Writes one program."""

    def __init__(
        self, program: Program, opset: int, own: dict, *, export_params: bool, fold: bool, verbose: bool
    ) -> None:
        self.program, self.own = program, own
        self.w = Writer(opset, fold and export_params, verbose)
        self.export_params = export_params
        self.folded = _folding.fold(program) if self.w.fold else {}
        refuse_missing(program, opset, own)

    def model(
        self, input_names: list[str], output_names: list[str], keep_initializers: bool, custom_opsets: dict
    ) -> Any:
        """The whole model."""
        import onnx
        from onnx import helper

        w, program = self.w, self.program
        names = [input_names[i] if i < len(input_names) else v.name for i, v in enumerate(program.inputs)]
        # PyTorch names parameters too, where there are more names than inputs.
        extra = dict(zip((v.name for v in program.held), input_names[len(program.inputs) :], strict=False))
        for value, name in zip(program.inputs, names, strict=True):
            w.names[value] = w.unique(name)
        for value in program.held:
            name = w.names[value] = w.unique(extra.get(value.name, value.name))
            w.initializers[name] = _stored(value.constant)
        for value, tensor in self.folded.items():
            name = w.names[value] = w.unique(f"onnx::{value.name}")
            w.initializers[name] = _stored(tensor)
        self._steps(program.steps)
        nodes, outputs = self._outputs(output_names)
        used = {name for node in nodes for name in _read(node)} | {o.name for o in outputs}
        held = {w.names[v] for v in program.held}
        kept = {n: t for n, t in w.initializers.items() if n in used}
        inputs = [self._info(n, v) for n, v in zip((w.names[v] for v in program.inputs), program.inputs, strict=True)]
        if keep_initializers or not self.export_params:
            inputs += [
                helper.make_tensor_value_info(n, _types.number(t.dtype), list(t.shape))
                for n, t in kept.items()
                if n in held
            ]
        stored = [_types.proto(t, n) for n, t in kept.items() if self.export_params or n not in held]
        graph = helper.make_graph(nodes, "main_graph", inputs, outputs, stored)
        imports = [helper.make_opsetid("", w.opset)]
        imports += [helper.make_opsetid(d, custom_opsets.get(d, v)) for d, v in w.domains.items()]
        model = helper.make_model(
            graph, opset_imports=imports, ir_version=min(helper.find_min_ir_version_for(imports, True), 11),
            producer_name=torch.onnx.producer_name, producer_version=torch.onnx.producer_version,
        )  # fmt: skip
        self._check(model, onnx)
        return model

    def _steps(self, steps: list[Step]) -> None:
        """Write all operators; those that their rules refuse are named together."""
        refused: list[Exception] = []
        for step in steps:
            try:
                self.step(step)
            except (NotImplementedError, OnnxExporterError) as error:
                if not refused or not isinstance(error.__cause__, KeyError):
                    refused.append(error)
                # what follows is written for names that nothing gives, to hear of the rest
                self.w.names.update({value: value.name for value in step.results})
        if len(refused) > 1:
            lines = "\n".join(f"  {error}" for error in dict.fromkeys(map(str, refused)))
            raise type(refused[0])(f"these operators cannot be written as they are called:\n{lines}") from refused[0]
        if refused:
            raise refused[0]

    def step(self, step: Step) -> None:
        """Write one operator."""
        w = self.w
        w.step = step
        if step.blocks:
            {"prim.if": self._if, "prim.loop": self._loop, "prim.scan": self._scan}[step.name](step)
            return
        rule = find(step, w.opset, self.own)
        arguments = _in_a_row(w, step.arguments) if rule is table().get(step.name) else step.arguments
        try:
            found = rule.write(w, SimpleNamespace(**arguments), step.results)
        except (NotImplementedError, OnnxExporterError) as error:
            raise type(error)(f"{step.place}: {step.name}: {error}") from error
        except Exception as error:
            raise OnnxExporterError(
                f"{step.place}: {step.name} cannot be written: {type(error).__name__}: {error}"
            ) from error
        names = found if isinstance(found, tuple) else (found,)
        if len(names) < len(step.results):
            raise OnnxExporterError(
                f"{step.place}: the rule for {step.name} gave {len(names)} of {len(step.results)} results"
            )
        for value, name in zip(step.results, names, strict=False):
            w.names[value] = name if arguments is step.arguments or value.shape != () else w.reshape(name, [])

    # --- blocks ---

    def _graph(self, name: str, block: Any, inputs: list) -> Any:
        """A block as a graph within a node; it reads the names around it."""
        from onnx import helper

        w = self.w
        outer, w.nodes = w.nodes, []
        for step in block.steps:
            self.step(step)
        outputs = []
        for value in block.outputs:
            dtype = value.dtype if isinstance(value, Value) else torch.as_tensor(value).dtype
            own = w.op("Identity", value if isinstance(value, Value) else w.const(value))
            shape = list(value.shape) if isinstance(value, Value) and value.shape is not None else []
            outputs.append(
                helper.make_tensor_value_info(
                    own, _types.number(dtype), [s if isinstance(s, int) else None for s in shape]
                )
            )
        nodes, w.nodes = w.nodes, outer
        return helper.make_graph(nodes, name, inputs, outputs)

    def _if(self, step: Step) -> None:
        one, two = (self._graph(name, block, []) for name, block in zip(("then", "else"), step.blocks, strict=True))
        names = self._several(step, "If", [step.arguments["condition"]], then_branch=one, else_branch=two)
        self.w.names.update(zip(step.results, names, strict=True))

    def _loop(self, step: Step) -> None:
        from onnx import helper

        w, (block,) = self.w, step.blocks
        turn, *carried = block.inputs
        for value in block.inputs:
            w.names[value] = w.unique(value.name)
        going = w.unique("going")
        inputs = [
            helper.make_tensor_value_info(w.names[turn], 7, []), helper.make_tensor_value_info(going, 9, []),
            *(helper.make_tensor_value_info(w.names[v], _types.number(v.dtype), [None] * len(v.shape)) for v in carried),
        ]  # fmt: skip
        body = self._graph("body", block, inputs)
        trips, first = step.arguments["trips"], step.arguments["first"]
        operands = [None if trips is None else w.name(trips), step.arguments["going"], *first]
        names = self._several(step, "Loop", operands, body=body)
        w.names.update(zip(step.results, names, strict=True))

    def _scan(self, step: Step) -> None:
        from onnx import helper

        w, (block,) = self.w, step.blocks
        for value in block.inputs:
            w.names[value] = w.unique(value.name)
        shapes = [[s if isinstance(s, int) else None for s in v.shape] for v in block.inputs]
        inputs = [
            helper.make_tensor_value_info(w.names[v], _types.number(v.dtype), shape)
            for v, shape in zip(block.inputs, shapes, strict=True)
        ]
        body, xs = self._graph("body", block, inputs), step.arguments["xs"]
        names = self._several(step, "Scan", [*step.arguments["first"], *xs], body=body, num_scan_inputs=len(xs))
        w.names.update(zip(step.results, names, strict=True))

    def _several(self, step, kind, operands, **graphs):
        self.w.step = step
        found = self.w.op(kind, *operands, outputs=len(step.results), **graphs)
        return found if isinstance(found, tuple) else (found,)

    # --- results ---

    def _outputs(self, output_names):
        """The nodes, with the results under the names that the user wants."""
        from onnx import helper

        w, program = self.w, self.program
        outputs, renamed, extra = [], {}, []
        produced = {name for node in w.nodes for name in node.output}
        for i, value in enumerate(v for v in program.outputs if v is not None):
            have = w.names[value] if value in w.names else w.const(value.constant)
            wanted = (
                output_names[i]
                if i < len(output_names)
                else w.unique(value.name if value.constant is None else f"output_{i}")
            )
            if have in produced and have not in renamed and wanted not in produced:
                renamed[have] = wanted
            else:
                extra.append(helper.make_node("Identity", [renamed.get(have, have)], [wanted]))
            outputs.append(self._info(wanted, value))
        for node in w.nodes:
            _rename(node, renamed)
        return _alive([*w.nodes, *extra], {o.name for o in outputs}), outputs

    def _info(self, name, value: Value):
        from onnx import helper

        if value.dtype is not None and value.dtype.is_complex:
            raise NotImplementedError(
                f"onnx.export: {name} is complex, and files take and give real tensors: torch.view_as_complex within the "
                "model makes an input complex, torch.view_as_real a result real"
            )
        shape = None if value.shape is None else [s if isinstance(s, int) else str(s) for s in value.shape]
        return helper.make_tensor_value_info(name, _types.number(value.dtype), shape)

    def _check(self, model, onnx):
        if self.w.domains or model.ByteSize() > 2**31 - 2**20:
            return
        try:
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            raise OnnxExporterError(f"the exported model is not valid: {error}") from error


def _stored(tensor):
    """A tensor as a file holds it: a complex one as its parts."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor is not None and tensor.is_complex() else tensor


def _read(node):
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for inner in attribute.g.node if attribute.HasField("g") else ():
            yield from _read(inner)
        if attribute.HasField("g"):
            yield from (o.name for o in attribute.g.output)


def _rename(node, names):
    for field in (node.input, node.output):
        for i, name in enumerate(field):
            if name in names:
                field[i] = names[name]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                _rename(inner, names)
            for output in attribute.g.output:
                output.name = names.get(output.name, output.name)


def _alive(nodes, wanted):
    """The nodes that a result needs, in their order."""
    kept = []
    for node in reversed(nodes):
        if any(name in wanted for name in node.output):
            kept.append(node)
            wanted |= set(_read(node))
    return kept[::-1]
