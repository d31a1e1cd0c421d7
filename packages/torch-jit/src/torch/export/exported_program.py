"""A program that was exported: its graph, what its inputs stand for, and its tensors."""

from __future__ import annotations

import copy
import inspect
import operator
import re
from typing import Any

import torch
from torch.fx import Graph, GraphModule
from torch.fx.graph import CodeGen

from . import _grad_blocks
from ._checks import Leaves
from ._dims import ValueRange
from ._formulas import FUNCTIONS
from .graph_signature import (
    ConstantArgument,
    CustomObjArgument,
    ExportBackwardSignature,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
    TokenArgument,
)  # fmt: skip

__all__ = [
    "ConstantArgument", "CustomObjArgument", "ExportBackwardSignature", "ExportGraphSignature", "ExportedProgram", "InputKind", "InputSpec",
    "ModuleCallEntry", "ModuleCallSignature", "OutputKind", "OutputSpec", "SymBoolArgument", "SymFloatArgument", "SymIntArgument",
    "TensorArgument", "TokenArgument", "default_decompositions",
]  # fmt: skip


class ModuleCallSignature:
    """How a module is called: what its arguments and results are in the graph, and their form. Of submodules only those are kept
    that ``preserve_module_call_signature`` names."""

    def __init__(self, inputs: list, outputs: list, in_spec: Any, out_spec: Any, forward_arg_names: Any = None) -> None:
        self.inputs, self.outputs, self.in_spec, self.out_spec = inputs, outputs, in_spec, out_spec
        self.forward_arg_names = forward_arg_names

    def __repr__(self) -> str:
        return f"ModuleCallSignature(inputs={self.inputs}, outputs={self.outputs}, in_spec={self.in_spec}, out_spec={self.out_spec})"


class ModuleCallEntry:
    """A module's name and how it is called."""

    def __init__(self, fqn: str, signature: ModuleCallSignature | None = None) -> None:
        self.fqn, self.signature = fqn, signature

    def __repr__(self) -> str:
        return f"ModuleCallEntry(fqn={self.fqn!r}, signature={self.signature})"


def default_decompositions() -> dict:
    """What :meth:`ExportedProgram.run_decompositions` does: a table that may be changed, of the functions that stand for operators.

    >>> table = torch.export.default_decompositions()
    >>> del table[torch.ops.aten.linear.default]
    >>> program = torch.export.export(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Softmax(-1)), (torch.ones(1, 2),))
    >>> [str(n.target) for n in program.run_decompositions(table).graph.nodes if n.op == "call_function"]
    ['aten.linear.default', 'aten._softmax.default']
    """
    from .decomp_utils import CustomDecompTable

    return CustomDecompTable()


class ExportedProgram:
    """The result of :func:`torch.export.export`.

    The graph calls operators of ``torch.ops.aten`` and writes to nothing. Parameters, buffers and constants are its first
    inputs; new values of buffers, and of inputs that the program writes to, its first outputs. :meth:`module` makes a
    module of it that is called as the original was, and trains.

    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> print(program.graph)
    graph():
        %p_weight : [num_users=1] = placeholder[target=p_weight]
        %p_bias : [num_users=1] = placeholder[target=p_bias]
        %input_1 : [num_users=1] = placeholder[target=input]
        %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%input_1, %p_weight, %p_bias), kwargs = {})
        return (linear,)
    """

    def __init__(
        self, root: Any, graph: Graph, graph_signature: ExportGraphSignature, state_dict: dict[str, torch.Tensor],
        range_constraints: dict[str, tuple[int, int]], module_call_graph: list[ModuleCallEntry], example_inputs: Any = None,
        constants: dict[str, torch.Tensor] | None = None, *, verifiers: Any = None,
    ) -> None:  # fmt: skip
        self._graph_module = GraphModule(root if isinstance(root, dict) else {}, graph)
        self._graph_signature = graph_signature
        self._state_dict = state_dict
        self._range_constraints = {name: ValueRange(*bounds) for name, bounds in range_constraints.items()}
        self._module_call_graph = module_call_graph
        self._example_inputs = example_inputs
        self._constants = constants or {}
        #: what the program asked of sizes (:class:`._guards.Guard`), which each call has to answer alike
        self._guards: list[Any] = []
        if verifiers is None:
            from torch._export.verifier import TrainingIRVerifier

            verifiers = [TrainingIRVerifier]
        self._verifiers = list(verifiers)

    # --- parts ---

    graph_module = property(lambda self: self._graph_module)
    graph = property(lambda self: self._graph_module.graph)
    graph_signature = property(lambda self: self._graph_signature)
    state_dict = property(lambda self: self._state_dict)
    range_constraints = property(lambda self: self._range_constraints)
    module_call_graph = property(lambda self: self._module_call_graph)
    constants = tensor_constants = property(lambda self: self._constants)
    call_spec = property(lambda self: self._module_call_graph[0].signature)
    verifiers = property(lambda self: self._verifiers)
    verifier = property(lambda self: self._verifiers[0])
    dialect = property(lambda self: self.verifier.dialect)

    @property
    def example_inputs(self) -> Any:
        """The arguments and keyword arguments that it was exported with."""
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value: Any) -> None:
        self._example_inputs = value

    def parameters(self) -> Any:
        """Each parameter."""
        return (tensor for _, tensor in self.named_parameters())

    def named_parameters(self) -> Any:
        """Each parameter with its name."""
        return ((name, self._state_dict[name]) for name in self._graph_signature.parameters)

    def buffers(self) -> Any:
        """Each buffer."""
        return (tensor for _, tensor in self.named_buffers())

    def named_buffers(self) -> Any:
        """Each buffer with its name."""
        for name in self._graph_signature.buffers:
            yield name, self._state_dict[name] if name in self._state_dict else self._constants[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        lines = "\n    ".join(self._graph_module.print_readable(print_output=False).splitlines())
        return f"ExportedProgram:\n    {lines}\nGraph signature: {self._graph_signature}\nRange constraints: {self._range_constraints}"

    __repr__ = __str__

    def run_decompositions(
        self, decomp_table: Any = None, decompose_custom_triton_ops: bool = False
    ) -> ExportedProgram:
        """A program over the same tensors in which the functions of a table stand for the operators that it names; of none, those of
        :func:`default_decompositions`, which leave the operators that tools take ("core ATen"). What would need a size that
        may change stays as it is. An empty table makes operators of those that are others by definition, and leaves layers whole.

        >>> program = torch.export.export(torch.nn.SiLU(), (torch.ones(3),))
        >>> table = {torch.ops.aten.silu.default: lambda x: x * x.sigmoid()}
        >>> [str(n.target) for n in program.run_decompositions(table).graph.nodes if n.op == "call_function"]
        ['aten.sigmoid.default', 'aten.mul.Tensor']
        """
        from . import _core_aten
        from ._decompositions import decompose

        kept = {id(t): t for t in (*self._state_dict.values(), *self._constants.values())}  # tensors stay the same
        from torch._export.verifier import Verifier

        made = copy.deepcopy(self, kept)
        made._verifiers = [Verifier]
        _grad_blocks.inline(made._graph_module)
        table = default_decompositions() if decomp_table is None else decomp_table
        decompose(made, table or _core_aten.table(_core_aten.BASIC))
        outputs = made.graph.output_node().args[0]
        for spec, value in zip(made.graph_signature.output_specs, outputs, strict=True):
            if isinstance(value, torch.fx.Node):
                spec.arg.name = value.name
        return made

    def validate(self) -> None:
        """Raises ``SpecViolationError`` where the graph and its signature do not fit, or the graph has what no program may have."""
        for each in self._verifiers:
            each().check(self)

    # --- running ---

    def module(self, check_guards: bool = True) -> GraphModule:
        """A module that is called as the original: it has its parameters and buffers, and trains as it does.

        RuntimeError when it is called with other dims, sizes or dtypes than the program was exported for.
        """
        graph, signature = Graph(), self._graph_signature
        root = torch.nn.Module()
        nodes: dict[Any, Any] = {}
        leaves, placed = [], {}
        for node, spec in zip(self.graph.nodes, signature.input_specs, strict=False):
            if spec.kind is InputKind.USER_INPUT:
                nodes[node] = graph.placeholder(node.target)
                leaves.append(node.target)
                placed[node.name] = nodes[node]
        for node, spec in zip(self.graph.nodes, signature.input_specs, strict=False):
            if spec.kind is not InputKind.USER_INPUT:
                put(root, spec, self._state_dict if spec.target in self._state_dict else self._constants)
                nodes[node] = graph.get_attr(spec.target)
            nodes[node].meta = dict(node.meta)
        for node in self.graph.nodes:
            if node.op in ("call_function", "get_attr"):
                nodes[node] = graph.node_copy(node, lambda n: nodes[n])
            if node.op == "get_attr":  # a function of torch.cond or of a loop, a block of another grad mode
                root.add_module(node.target, getattr(self._graph_module, node.target))
        outputs = self.graph.output_node().args[0]
        results = []
        inputs_by_name = {n.target: nodes[n] for n in self.graph.nodes if n.op == "placeholder"}
        buffers = {s.target: nodes[n] for n, s in zip(self.graph.nodes, signature.input_specs, strict=False)}
        for value, spec in zip(outputs, signature.output_specs, strict=True):
            value = nodes.get(value, value) if isinstance(value, torch.fx.Node) else value
            if spec.kind is OutputKind.USER_OUTPUT:
                results.append(value)
            else:
                into = buffers[spec.target] if spec.kind is OutputKind.BUFFER_MUTATION else inputs_by_name[spec.target]
                graph.call_function(torch.ops.aten.copy_.default, (into, value))
        graph.output(results)
        graph.set_codegen(_Called(self.call_spec))
        module = GraphModule(root, graph)
        module._leaves, module._out_spec = Leaves(self, leaves, check_guards), self.call_spec.out_spec
        module.train = module.eval = _no_modes  # the mode is that of the export
        return module


class _Called(CodeGen):
    """A function of the original's arguments."""

    def __init__(self, call: ModuleCallSignature) -> None:
        super().__init__()
        names, (args, kwargs) = call.forward_arg_names or [], call.in_spec.children()
        if len(names) == len(args.children()) + len(kwargs.children()):  # not so with *args
            of = inspect.Parameter
            self.signature = inspect.Signature([of(name, of.POSITIONAL_OR_KEYWORD) for name in ("self", *names)])

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        names = [re.split(r"\s*[:=]", v)[0].strip() for v in free_vars if v != "self"]
        taken = f"\n    {', '.join(names)}, = self._leaves(args, kwargs)" if names else ""
        return f"def forward(self, *args, **kwargs):{taken}"

    def generate_output(self, output_args: Any, value: Any = repr) -> str:
        return f"return pytree.tree_unflatten({value(output_args)}, self._out_spec)"


def _no_modes(mode: bool = True) -> Any:
    raise NotImplementedError(
        "an exported program has the mode, training or evaluation, in which it was exported: export the module again"
    )


def put(root: torch.nn.Module, spec: Any, tensors: dict[str, torch.Tensor]) -> None:
    """Put the tensor that an input stands for where the original module had it."""
    path, _, name = spec.target.rpartition(".")
    place = root
    for part in path.split(".") if path else ():
        if not hasattr(place, part):
            place.add_module(part, torch.nn.Module())
        place = getattr(place, part)
    tensor = tensors[spec.target]
    if spec.kind is InputKind.PARAMETER:
        place.register_parameter(name, tensor)
    else:
        place.register_buffer(name, tensor, persistent=bool(spec.persistent))


#: functions of Python that a graph may call: on numbers, and to take a result apart
NUMBERS = {
    f.__name__: f
    for f in (
        operator.add, operator.sub, operator.mul, operator.floordiv, operator.truediv, operator.mod, operator.pow, operator.and_,
        operator.or_, operator.xor, operator.lshift, operator.rshift, operator.getitem, operator.lt, operator.le, operator.gt,
        operator.ge, operator.eq, operator.ne, *FUNCTIONS.values(),
    )
}  # fmt: skip
