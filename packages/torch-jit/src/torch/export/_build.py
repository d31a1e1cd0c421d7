"""A joined recording as a graph of torch.fx: parameters, buffers and constants are inputs, writes are outputs."""

from __future__ import annotations

import inspect
import keyword
import operator
import re
from typing import Any

import torch
from torch import _pytree as pytree
from torch.fx import Graph, Node
from torch.fx.node import map_arg

from . import _rows
from ._observe import Program, names_of_leaves
from ._sizes import Formula, Size
from ._tape import Ref, Value
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)


class Builder:
    """Makes the graph and its signature."""

    def __init__(self, program: Program, function: Any) -> None:
        self.program, self.tape = program, program.tape
        self.graph = Graph()
        self.signature = ExportGraphSignature()
        self.constants: dict[str, torch.Tensor] = {}
        self._nodes: dict[int, Node] = {}
        self._sizes: dict[Any, Node] = {}
        self._module = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
        self._function = function
        self._names = self._dim_names()

    def build(self) -> Graph:
        """The whole graph."""
        self._take_in()
        for call in self.tape.calls:
            self._call(call)
        self._give_out()
        self.graph.eliminate_dead_code()
        self.graph.lint()
        return self.graph

    # --- sizes ---

    def _dim_names(self):
        """(value, dim) -> what an input's size is called."""
        found = {}
        for symbol in self.program.symbols:
            for leaf, dim, what in symbol.places:
                found[self.tape.inputs[leaf], dim] = symbol.name if what is None else what.name
        return found

    def sizes_of(self, n: int) -> tuple:
        """The shape of a value, with names for sizes that may change."""
        value, varying = self.tape.values[n], self.program.varying[n]
        seen = {}
        for (number, dim), name in self._names.items():
            seen.setdefault(self.program.varying[number].get(dim), name)
        names = [
            size if i not in varying else self._names.get((n, i)) or seen.get(varying[i]) or f"d{n}_{i}"
            for i, size in enumerate(value.shape)
        ]
        return tuple(names)

    def _formula(self, rule):
        """Nodes that compute a number from sizes."""
        if not isinstance(rule, (Size, Formula)):
            return rule
        if rule not in self._sizes:
            if isinstance(rule, Size):
                node = self.graph.call_function(torch.ops.aten.sym_size.int, (self._nodes[rule.n], rule.dim))
                value = self.tape.values[rule.n].shape[rule.dim]
            else:
                left, right = self._formula(rule.left), self._formula(rule.right)
                node = self.graph.call_function(rule.function, (left, right))
                value = rule.function(*(x.meta["val"] if isinstance(x, Node) else x for x in (left, right)))
            node.meta["val"] = value
            self._sizes[rule] = node
        return self._sizes[rule]

    # --- inputs ---

    def _place(self, name, n, kind, target, persistent=None):
        node = self.graph.placeholder(_identifier(name))
        self._note(node, n)
        self._nodes[n] = node
        spec = InputSpec(kind, TensorArgument(node.name), target, persistent)
        self.signature.input_specs.append(spec)
        return node

    def _take_in(self):
        tape, module = self.tape, self._module
        used = self._used()
        parameters = {name for name, _ in module.named_parameters()} if isinstance(module, torch.nn.Module) else set()
        kept = set(module.state_dict()) if isinstance(module, torch.nn.Module) else set()
        for wanted in (True, False):
            for name, n in tape.named.items():
                if (name in parameters) is wanted:
                    kind = InputKind.PARAMETER if wanted else InputKind.BUFFER
                    prefix = "p_" if wanted else "b_"
                    self._place(prefix + name, n, kind, name, None if wanted else name in kept)
        for n, constant in tape.constants.items():
            if n in used:
                name = f"lifted_tensor_{len(self.constants)}"
                self.constants[name] = constant
                self._place(f"c_{name}", n, InputKind.CONSTANT_TENSOR, name)
        for i, (name, leaf) in enumerate(zip(self.leaf_names(), self.program.leaves, strict=True)):
            if i in tape.inputs:
                number = tape.inputs[i]
                known = self._nodes.get(number)
                node = self._place(name, number, InputKind.USER_INPUT, None)
                if known is not None:
                    self._nodes[number] = known
                node.meta["leaf"] = i
            else:
                node = self.graph.placeholder(_identifier(name))
                node.meta["val"] = leaf
                argument = ConstantArgument(node.name, leaf)
                self.signature.input_specs.append(InputSpec(InputKind.USER_INPUT, argument, None))

    def _used(self):
        found = set()
        for call in self.tape.calls:
            found |= {r.n for r in pytree.tree_leaves(call.arguments) if isinstance(r, Ref)}
        found |= {r.n for r in self.tape.outputs if isinstance(r, Ref)}
        return found | set(self.tape.written_buffers.values()) | set(self.tape.written_inputs.values())

    def leaf_names(self) -> list[str]:
        """What the leaves of the arguments are called."""
        return names_of_leaves(self._function, *pytree.tree_unflatten(self.program.leaves, self.program.spec))

    def argument_names(self) -> list[str]:
        """What the arguments are called, those that come by position first."""
        args, kwargs = pytree.tree_unflatten(list(range(len(self.program.leaves))), self.program.spec)
        names = []
        try:
            target = self._function.forward if isinstance(self._function, torch.nn.Module) else self._function
            names = [p.name for p in inspect.signature(target).parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
        except (TypeError, ValueError):
            pass
        return [*names[: len(args)], *(f"args_{i}" for i in range(len(args) - len(names))), *kwargs]

    def tensors(self) -> dict[str, torch.Tensor]:
        """The module's parameters and buffers by name, those too that no state dict has."""
        module = self._module
        if not isinstance(module, torch.nn.Module):
            return {}
        return {**dict(module.named_parameters()), **dict(module.named_buffers())}

    # --- calls ---

    def _note(self, node: Node, n: int) -> None:
        value: Value = self.tape.values[n]
        node.meta["val"] = torch.empty(value.shape, dtype=value.dtype, device="meta")
        node.meta["sizes"] = self.sizes_of(n)

    def _argument(self, value):
        if isinstance(value, Ref):
            return self._nodes[value.n]
        if isinstance(value, (list, tuple)):
            return [self._argument(v) for v in value]
        return self._formula(value)

    def _call(self, call):
        values = {k: self._argument(v) for k, v in call.arguments.items()}
        places = [k for k in values if k not in call.keywords]
        while places and places[-1] in call.defaults and _same(values[places[-1]], call.defaults[places[-1]]):
            places.pop()
        kwargs = {
            k: values[k]
            for k in values
            if k in call.keywords and not (k in call.defaults and _same(values[k], call.defaults[k]))
        }
        target = call.target
        if isinstance(target, torch._ops.OpOverloadPacket):
            examples = map_arg((tuple(values[k] for k in places), kwargs), lambda n: n.meta["val"])
            target = _rows.overload(call.name, tuple(call.arguments), *examples)
        node = self.graph.create_node(
            "call_function",
            target,
            tuple(values[k] for k in places),
            kwargs,
            getattr(call.target, "_opname", call.target.__name__),
        )
        node.meta.update(
            arguments=tuple(call.arguments), place=call.place, stack_trace=call.place.trace(), operator=call.name,
            nn_module_stack={path: (path, kind) for path, kind in call.place.modules},
        )  # fmt: skip
        if call.single:
            self._nodes[call.results[0]] = node
            self._note(node, call.results[0])
            return
        node.meta["val"] = []
        for i, n in enumerate(call.results):
            if n is None:
                continue
            part = self.graph.call_function(operator.getitem, (node, i))
            part.meta.update(
                place=call.place, stack_trace=call.place.trace(), nn_module_stack=node.meta["nn_module_stack"]
            )
            self._nodes[n] = part
            self._note(part, n)
            node.meta["val"].append(part.meta["val"])

    # --- outputs ---

    def _give_out(self):
        results, specs = [], self.signature.output_specs
        for name, n in self.tape.written_buffers.items():
            results.append(self._nodes[n])
            specs.append(OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(self._nodes[n].name), name))
        names = self.leaf_names()
        for leaf, n in self.tape.written_inputs.items():
            results.append(self._nodes[n])
            argument = TensorArgument(self._nodes[n].name)
            specs.append(OutputSpec(OutputKind.USER_INPUT_MUTATION, argument, _identifier(names[leaf])))
        for i, leaf in enumerate(self.tape.outputs):
            value = self._argument(leaf)
            results.append(value)
            if isinstance(leaf, Ref):
                argument = TensorArgument(value.name)
            elif isinstance(value, Node):
                argument = SymIntArgument(value.name)
            else:
                argument = ConstantArgument(f"output_{i}", value)
            specs.append(OutputSpec(OutputKind.USER_OUTPUT, argument, None))
        self.graph.output(tuple(results))


def _same(a, b):
    if isinstance(a, Node) or isinstance(b, Node):
        return False
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and a == b


def _identifier(name):
    name = re.sub(r"\W", "_", name)
    return f"{name}_" if keyword.iskeyword(name) else name
