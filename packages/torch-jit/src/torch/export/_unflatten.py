"""An exported program as modules again: those that the original had, each with the part of the graph that it computed."""

from __future__ import annotations

import itertools
import operator

import torch
from torch import _pytree as pytree
from torch.fx import Graph, GraphModule, Interpreter, Node

from ._checks import Leaves
from ._places import plain
from .exported_program import put
from .graph_signature import ConstantArgument, InputKind, OutputKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .exported_program import ExportedProgram

__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]


class FlatArgsAdapter:
    """Brings the leaves of arguments in one form into the order of another: override ``adapt``."""

    def adapt(
        self, target_spec: Any, input_spec: Any, input_args: list, metadata: dict | None = None, obj: Any = None
    ) -> list:
        """The leaves that the program takes, of those that it was called with."""
        raise NotImplementedError(f"{type(self).__name__}.adapt: say how the arguments are brought into order")


class InterpreterModule(torch.nn.Module):
    """A module with a graph of its own, which it runs node by node: hooks and other modules may be put between."""

    def __init__(self, graph: Graph, signature: Any = None, path: str = "") -> None:
        super().__init__()
        self.graph, self._signature, self._path = graph, signature, path

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph: for its placeholders one by one, or for what the original module took if that was preserved."""
        if self._signature is None:
            return Interpreter(self, graph=self.graph).run(*args)
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._signature.in_spec:
            raise TypeError(
                f"{self._path}: it was exported for arguments of the form {self._signature.in_spec}, got {spec}"
            )
        results = Interpreter(self, graph=self.graph).run(*leaves)
        return pytree.tree_unflatten(list(results), self._signature.out_spec)

    @property
    def graph_module(self) -> GraphModule:
        """The same as a GraphModule."""
        return GraphModule(self, self.graph)

    def print_readable(self, print_output: bool = True, **_options: Any) -> str:
        """The graph as Python."""
        return self.graph_module.print_readable(print_output)


class UnflattenedModule(InterpreterModule):
    """What :func:`unflatten` gives: called as the original module."""

    def __init__(self, program: ExportedProgram, adapter: FlatArgsAdapter | None) -> None:
        super().__init__(Graph())
        self.module_call_graph = program.module_call_graph
        self._adapter, self._program = adapter, program
        _Parts(program, self).build()
        names = [n.target for n in self.graph.nodes if n.op == "placeholder"]
        self._leaves, self._out_spec = Leaves(program, names, True), program.call_spec.out_spec

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program. Raises as :meth:`ExportedProgram.module` does where arguments do not fit."""
        if self._adapter is not None:
            leaves, spec = pytree.tree_flatten((args, kwargs))
            if spec != self._program.call_spec.in_spec:
                leaves = self._adapter.adapt(self._program.call_spec.in_spec, spec, leaves, None, None)
                args, kwargs = pytree.tree_unflatten(leaves, self._program.call_spec.in_spec)
        results = Interpreter(self, graph=self.graph).run(*self._leaves(args, kwargs))
        return pytree.tree_unflatten(list(results), self._out_spec)


def unflatten(module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """The program as a module with the submodules of the original, that may be looked at, trained and replaced.

    Submodules whose signature was preserved (``preserve_module_call_signature`` of export) are called as the original ones, so
    that another module may stand in their place; the others take and give single values. The second call of a module is a
    module of its own, ``name@1``, with the same parameters. Parameters and buffers are copies: training them leaves the
    program as it is.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> again = torch.export.unflatten(torch.export.export(net, (torch.ones(4, 2),)))
    >>> [name for name, _ in again.named_children()], torch.equal(again(torch.ones(4, 2)), net(torch.ones(4, 2)))
    (['0', '1'], True)
    """
    return UnflattenedModule(module, flat_args_adapter)


class _Parts:
    """Takes the graph of a program apart along the modules that its nodes come from."""

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.nodes = list(program.graph.nodes)
        self.signatures = {e.fqn: e.signature for e in program.module_call_graph if e.fqn and e.signature}
        #: placeholders of parameters, buffers and constants: their names
        self.held: dict[Node, str] = {}

    def build(self):
        program, graph = self.program, self.root.graph
        values, written = {}, {}
        state, constants = _copies(program.state_dict, program.constants)
        specs = program.graph_signature.input_specs
        placeholders = [n for n in self.nodes if n.op == "placeholder"]
        for node, spec in zip(placeholders, specs, strict=True):
            if spec.kind is InputKind.USER_INPUT:
                values[node] = graph.placeholder(node.target)
                values[node].meta = dict(node.meta)
                written[node.target] = values[node]
            else:
                self.held[node] = spec.target
                put(self.root, spec, state if spec.target in state else constants)
        for name, tensor in state.items():  # other names of the same, and what nothing uses
            if _reach(self.root, name) is None:
                _hold(self.root, name, tensor)
        body = [n for n in self.nodes if n.op in ("call_function", "get_attr")]
        self.order = self._ordered(body)
        output = program.graph.output_node()
        self._fill(self.root, "", 0, [n for n, _ in self.order], values)
        results = []
        for value, spec in zip(output.args[0], program.graph_signature.output_specs, strict=True):
            value = self._value(self.root, "", value, values) if isinstance(value, Node) else value
            if spec.kind is OutputKind.USER_OUTPUT:
                results.append(value)
                continue
            if spec.kind is OutputKind.BUFFER_MUTATION:
                node = next(n for n, name in self.held.items() if name == spec.target)
                into = self._value(self.root, "", node, values)
            else:
                into = written[spec.target]
            graph.call_function(torch.ops.aten.copy_.default, (into, value))
        graph.output(tuple(results))
        graph.lint()

    def _ordered(self, body):
        """(node, modules that it lies in), where nodes of no module follow what they need at once."""
        places = {}
        for node in reversed(body):
            stack = node.meta.get("nn_module_stack")
            if stack is None:
                stacks = [places[user] for user in node.users if user in places]
                stacks += [()] * any(user.op == "output" for user in node.users)
                places[node] = tuple(a for a, *_ in itertools.takewhile(lambda s: len(set(s)) == 1, zip(*stacks)))
            else:
                places[node] = tuple(path for path in stack if path)
        self.places = places
        rank: dict = {}
        for i, node in enumerate(body):
            at = (i, 0)
            if "nn_module_stack" not in node.meta and node.op == "call_function":
                at = max((rank[n] for n in node.all_input_nodes if n in rank), default=(-1, 0))
                at = at[0], at[1] + 1
            rank[node] = at
        return [(n, places[n]) for n in sorted(body, key=lambda n: rank[n])]

    def _fill(self, module, path, level, nodes, values):
        """Write nodes into the graph of a module: runs of those that lie in one of its modules as one call."""

        def child(node):
            place = self.places[node]
            return next((p for p in place[level : level + 1] if p.startswith(f"{path}." if path else "")), None)

        for name, run in itertools.groupby(nodes, key=child):
            run = list(run)
            if name is None:
                for node in run:
                    self._copy(module, path, node, values)
            else:
                self._call(module, path, level, name, run, values)

    def _copy(self, module, path, node, values):
        if node.op == "get_attr":  # a function of torch.cond or of a loop
            module.add_module(node.target, getattr(self.program.graph_module, node.target))
        values[node] = module.graph.node_copy(node, lambda n: self._value(module, path, n, values))

    def _value(self, module, path, node, values):
        """A value in the graph of a module: parameters below the module are its own."""
        if node not in values and node in self.held and self._is_below(path, node):
            values[node] = module.graph.get_attr(self._own(module, path, node))
            values[node].meta = dict(node.meta)
        return values[node]

    def _is_below(self, path, node):
        return not path or self.held[node].startswith(f"{plain(path)}.")

    def _own(self, module, path, node):
        name = self.held[node]
        local = name[len(plain(path)) + 1 :] if path else name
        if _reach(module, local) is None:
            _hold(module, local, _reach(self.root, name))
        return local

    def _call(self, module, path, level, name, run, values):
        inside, signature = set(run), self.signatures.get(name)
        taken = dict.fromkeys(
            n
            for node in run
            for n in node.all_input_nodes
            if n not in inside and not (n in self.held and self._is_below(name, n))
        )
        given = [n for n in run if any(user not in inside for user in n.users)]
        if signature is not None:
            taken, given = self._preserved(signature, taken, given, name)
        local = self._free(module, name[len(path) + 1 :] if path else name)
        graph, own = Graph(), {}
        made = InterpreterModule(graph, signature, name)
        for i, node in enumerate(taken):
            placeholder = graph.placeholder(node.name if isinstance(node, Node) else f"constant_{i}")
            if isinstance(node, Node):
                placeholder.meta = {k: v for k, v in node.meta.items() if k in ("val", "sizes")}
                own.setdefault(node, placeholder)
        self._fill(made, name, level + 1, run, own)
        outputs = [self._value(made, name, n, own) if isinstance(n, Node) else n for n in given]
        graph.output(outputs[0] if len(outputs) == 1 and signature is None else tuple(outputs))
        graph.lint()
        self._place(module, local, made)
        inputs = [self._value(module, path, n, values) if isinstance(n, Node) else n for n in taken]
        if signature is None:
            node = module.graph.call_module(local, tuple(inputs))
        else:
            args, kwargs = pytree.tree_unflatten(inputs, signature.in_spec)
            node = module.graph.call_function(
                pytree.tree_leaves, (module.graph.call_module(local, tuple(args), kwargs),)
            )
        if len(given) == 1 and signature is None:
            values[given[0]] = node
            return
        for i, each in enumerate(given):
            if isinstance(each, Node) and each not in values:
                values[each] = module.graph.call_function(operator.getitem, (node, i))

    def _preserved(self, signature, taken, given, name):
        """The values of a module's arguments and results, where its own form is kept."""
        nodes = {n.name: n for n in self.nodes}  # without those that nothing used: they may be gone
        arguments = [a.value if isinstance(a, ConstantArgument) else nodes.get(a.name) for a in signature.inputs]
        results = [a.value if isinstance(a, ConstantArgument) else nodes.get(a.name) for a in signature.outputs]
        if more := [n.name for n in taken if n not in arguments] + [n.name for n in given if n not in results]:
            raise NotImplementedError(
                f"unflatten: module {name!r} shares {', '.join(more)} with the program around it in another way than by its "
                "arguments and results: leave it out of preserve_module_call_signature"
            )
        return arguments, results

    @staticmethod
    def _free(module, name):
        """A name for a call, where the module has had one already."""
        base, count = name, itertools.count(1)
        while isinstance(_reach(module, name), InterpreterModule):
            name = f"{base.partition('@')[0]}@{next(count)}"
        return name

    def _place(self, module, local, made):
        """Put a module where the original was; parameters that lie there go along."""
        *way, last = local.split(".")
        for part in way:
            if not hasattr(module, part):
                module.add_module(part, torch.nn.Module())
            module = getattr(module, part)
        if (before := module._modules.get(last)) is not None:
            _take_along(made, before)
        module.add_module(last, made)


def _take_along(made, before):
    """Give a module the parameters, buffers and modules of the one in whose place it comes, at any depth."""
    for name, tensor in (*before._parameters.items(), *before._buffers.items()):
        if not hasattr(made, name):
            kind = made.register_parameter if isinstance(tensor, torch.nn.Parameter) else made.register_buffer
            kind(name, tensor)
    for name, child in before._modules.items():
        if name not in made._modules:
            made.add_module(name, child)
        else:
            _take_along(made._modules[name], child)


def _copies(*tables):
    """Tables of tensors, and of other things that stay, with copies of the tensors: one of each, under all its names."""
    made = {}

    def copy(value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in made:
            new = value.detach().clone()
            made[id(value)] = (
                torch.nn.Parameter(new, value.requires_grad) if isinstance(value, torch.nn.Parameter) else new
            )
        return made[id(value)]

    return [{name: copy(value) for name, value in table.items()} for table in tables]


def _hold(module, path, tensor):
    """Make a tensor a parameter or buffer at a place below a module."""
    *way, leaf = path.split(".")
    for part in way:
        if not hasattr(module, part):
            module.add_module(part, torch.nn.Module())
        module = getattr(module, part)
    (module.register_parameter if isinstance(tensor, torch.nn.Parameter) else module.register_buffer)(leaf, tensor)


def _reach(module, path):
    for part in path.split("."):
        module = getattr(module, part, None)
    return module
