"""A joined recording as a graph of torch.fx: parameters, buffers and constants are inputs, writes are outputs."""

from __future__ import annotations

import inspect
import itertools
import keyword
import operator
import re
from typing import Any

import torch
from torch import SymFloat, SymInt
from torch import _pytree as pytree
from torch._seams import SizeExpression as Expression
from torch._seams import SymNode
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from . import _formulas, _grad_blocks, _rows, _sizes
from ._nested import Nested
from ._numbers import Integer, Real
from ._observe import Program, names_of_leaves
from ._places import plain
from ._questions import unnamed
from ._sizes import Formula, Size
from ._tape import Ref, Tape, Value, bare, describe, hollow, where
from .exported_program import ModuleCallEntry, ModuleCallSignature
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


class _Body:
    """Makes the nodes of a tape's calls."""

    def __init__(self, tape: Tape, varying: list[dict], names: dict[tuple, str]) -> None:
        self.tape, self.varying = tape, varying
        self.graph = Graph()
        #: graphs of functions within
        self.modules: dict[str, GraphModule] = {}
        self._nodes: dict[int, Node] = {}
        self._sizes: dict[Any, Node] = {}
        self._names = {}
        #: what a size is called that was these numbers
        self._called = dict(names)

    def _calls(self, outputs=()):
        """The nodes of all calls; those of blocks in another grad mode in graphs of their own."""
        marked, last = {}, self.graph._root._prev
        for call in self.tape.calls:
            self._call(call)
            made, node = [], self.graph._root._prev
            while node is not last:
                made.append(node)
                node = node._prev
            last = self.graph._root._prev
            if call.grad is not self.tape.grad:
                marked.update(dict.fromkeys(made, call.grad))
        if not marked:
            return
        needed = [self._nodes[r.n] for r in outputs if isinstance(r, Ref)]
        needed += [self._formula(r) for r in outputs if isinstance(r, (Size, Formula))]
        stands = _grad_blocks.fold(self.graph, self.modules, marked, needed)
        self._nodes = {n: stands.get(node, node) for n, node in self._nodes.items()}
        self._sizes = {rule: stands.get(node, node) for rule, node in self._sizes.items()}

    # --- sizes ---

    def sizes_of(self, n: int) -> tuple:
        """The shape of a value, with names for sizes that may change."""
        value, varying = self.tape.values[n], self.varying[n]
        seen = dict(self._called)
        for (number, dim), name in self._names.items():
            seen.setdefault(self.varying[number].get(dim), name)
        names = [
            size
            if i not in varying
            else self._names.get((n, i)) or seen.get(varying[i]) or self._followed(varying[i], n, i)
            for i, size in enumerate(value.shape)
        ]
        return tuple(names)

    def _followed(self, seen, n, dim):
        """What a size is called that follows from those with names: by its formula, if there is one."""
        named = [(vector, Expression.of_text(name)) for vector, name in self._vectors().items()]
        rule = _sizes.rule(seen, named) if isinstance(seen[0], int) else None
        return f"d{n}_{dim}" if rule is None else str(_formulas.expression(rule))

    def _vectors(self):
        found = {}
        for (number, dim), name in self._names.items():
            if (vector := self.varying[number].get(dim)) is not None and isinstance(vector[0], int):
                found.setdefault(vector, name)
        return {**self._called, **found}

    def _named(self, rule, value):
        """A number that follows from sizes, with its formula."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        parts = []
        for part in (rule.left, rule.right) if isinstance(rule, Formula) else (rule,):
            if isinstance(part, Size):
                name = self._names.get((part.n, part.dim))
                name = self.sizes_of(part.n)[part.dim] if name is None and part.dim is not None else name
                parts.append(Expression.of_text(str(name)) if name is not None else None)
            elif isinstance(part, Formula):
                inner = self._formula(part).meta["val"]
                parts.append(Expression.of(inner))
            elif part is not None:
                parts.append(Expression.of(part))
        if any(p is None for p in parts):
            return value
        expression = _formulas.expression(Formula(rule.function, *parts)) if isinstance(rule, Formula) else parts[0]
        if expression is None or expression.is_number:
            return value
        return (SymInt if isinstance(value, int) else SymFloat)(SymNode(expression, value, type(value)))

    def _formula(self, rule):
        """Nodes that compute a number from sizes."""
        if not isinstance(rule, (Size, Formula)):
            return rule
        if rule not in self._sizes:
            if isinstance(rule, Size) and rule.dim is None:
                return self._nodes[rule.n]
            if isinstance(rule, Size):
                node = self.graph.call_function(torch.ops.aten.sym_size.int, (self._nodes[rule.n], rule.dim))
                value = self.tape.values[rule.n].shape[rule.dim]
            else:
                parts = [self._formula(part) for part in (rule.left, rule.right) if part is not None]
                node = self.graph.call_function(rule.function, tuple(parts))
                value = rule.function(*(bare(x.meta["val"]) if isinstance(x, Node) else x for x in parts))
            node.meta["val"] = self._named(rule, value)
            self._sizes[rule] = node
        return self._sizes[rule]

    # --- calls ---

    def _note(self, node: Node, n: int) -> None:
        value: Value = self.tape.values[n]
        if value.number is not None:
            node.meta["val"] = self._named(Size(n, None), value.number)
            return
        describe(node, hollow(value.shape, value.stride, value.dtype), self.sizes_of(n), value.device)

    def _argument(self, value):
        if isinstance(value, Ref):
            return self._nodes[value.n]
        if isinstance(value, (list, tuple)):
            return [self._argument(v) for v in value]
        if isinstance(value, (Integer, Real)):
            return int(value) if isinstance(value, Integer) else float(value)
        return self._formula(value)

    def _check(self, call):
        """A condition on numbers, asked when the program runs."""
        a = call.arguments
        function = getattr(operator, a["function"])
        left, right = self._argument(a["left"]), self._argument(a["right"])
        if not isinstance(left, Node) and not isinstance(right, Node):
            return
        asked = self.graph.call_function(function, (left, right))
        asked.meta["val"] = function(*(x.meta["val"] if isinstance(x, Node) else x for x in (left, right)))
        asked.meta.update(place=call.place, stack_trace=call.place.trace())
        node = self.graph.call_function(torch.ops.aten._assert_scalar.default, (asked, call.defaults["text"]))
        node.meta.update(place=call.place, stack_trace=call.place.trace())

    def _call(self, call):
        if call.name == "_check":
            self._check(call)
            return
        within = any(isinstance(v, Nested) for v in call.arguments.values())
        node = self._higher_order(call) if within else self._plain(call)
        self._results(call, node)

    def _plain(self, call):
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
            examples = map_arg((tuple(values[k] for k in places), kwargs), lambda n: bare(n.meta["val"]))
            target = _rows.overload(call.name, tuple(call.arguments), *examples)
        return self.graph.create_node(
            "call_function",
            target,
            tuple(values[k] for k in places),
            kwargs,
            getattr(call.target, "_opname", call.target.__name__),
        )

    def _results(self, call, node):
        node.meta.update(
            arguments=tuple(call.arguments), place=call.place, stack_trace=call.place.trace(), operator=call.name,
            nn_module_stack={path: (plain(path), kind) for path, kind in call.place.modules},
        )  # fmt: skip
        if call.function is not None:
            node.meta["torch_fn"] = call.function
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
                {k: node.meta[k] for k in ("place", "stack_trace", "nn_module_stack", "torch_fn") if k in node.meta}
            )
            self._nodes[n] = part
            self._note(part, n)
            node.meta["val"].append(part.meta["val"])

    # --- functions within ---

    def _higher_order(self, call):
        """A call of an operator that takes functions: each is a graph module, with one placeholder for each operand."""
        within = [v for v in call.arguments.values() if isinstance(v, Nested)]
        last = list(call.arguments)[-1]
        arguments = dict(call.arguments)
        arguments[last] = [*arguments[last], *(rule for each in within for _, rule in each.rules)]
        operands = [self._argument(v) for group in arguments.values() if isinstance(group, list) for v in group]
        count = next(i for i in itertools.count() if f"{within[0].word}_{i}" not in self.modules)
        values = []
        for value in arguments.values():
            if isinstance(value, Nested):
                name = f"{value.word}_{count}"
                self.modules[name] = self._within(value, within, operands)
                values.append(self.graph.get_attr(name))
            else:
                found = self._argument(value)
                values.append(tuple(found) if isinstance(found, list) else found)
        return self.graph.call_function(call.target, tuple(values))

    def _within(self, nested, group, operands):
        names = dict(self._called)
        for (number, dim), name in self._names.items():
            names.setdefault(self.varying[number].get(dim), name)
        body = _Body(nested.tape, nested.varying, names)
        taken = [*nested.taken, *(n if each is nested else None for each in group for n, _ in each.rules)]
        placed: set[str] = set()
        for n, operand in zip(taken, operands, strict=True):
            name = operand.name if isinstance(operand, Node) else "number"
            node = body.graph.placeholder(name if name not in placed else f"{name}_again_{len(placed)}")
            placed.add(name)
            if n is None:
                node.meta.update({k: operand.meta[k] for k in ("val", "sizes") if k in operand.meta})
            else:
                body._note(node, n)
                body._nodes[n] = node
        body._calls(nested.tape.outputs)
        results = [body._argument(leaf) for leaf in nested.tape.outputs]
        body.graph.output(results[0] if nested.word == "while_loop_cond_graph" else tuple(results))
        body.graph.eliminate_dead_code()
        body.graph.lint()
        return GraphModule(body.modules, body.graph)


class Builder(_Body):
    """Makes the graph and its signature."""

    def __init__(self, program: Program, function: Any) -> None:
        super().__init__(program.tape, program.varying, {})
        self.program = program
        self.signature = ExportGraphSignature()
        self.constants: dict[str, torch.Tensor] = {}
        self._module = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
        self._function = function
        self._names = self._dim_names()
        self._taken: set[str] = set()

    def build(self) -> Graph:
        """The whole graph."""
        self._take_in()
        tape = self.tape
        kept = [r for a, _, b, _ in tape.module_calls.values() for r in (*a, *b)]
        written = [Ref(n) for n in (*tape.written_buffers.values(), *tape.written_inputs.values())]
        self._calls([*tape.outputs, *written, *kept])
        self._give_out()
        kept = {
            self._nodes[r.n] for a, _, b, _ in self.tape.module_calls.values() for r in (*a, *b) if isinstance(r, Ref)
        }
        self.graph.eliminate_dead_code(lambda node: node in kept or node.is_impure())
        self.graph.lint()
        return self.graph

    def _dim_names(self):
        """(value, dim) -> what an input's size is called."""
        found = {}
        for symbol in self.program.symbols:
            for leaf, dim, what in symbol.places:
                found[self.tape.inputs[leaf], dim] = symbol.name if what is None else what.name
        for unknown in self.tape.unknown:
            found[unknown.n, unknown.dim] = unknown.name
        return found

    # --- inputs ---

    def _place(self, name, n, kind, target, persistent=None):
        node = self.graph.placeholder(self._own_name(name))
        self._note(node, n)
        self._nodes[n] = node
        argument = SymIntArgument if self.tape.values[n].number is not None else TensorArgument
        spec = InputSpec(kind, argument(node.name), target, persistent)
        self.signature.input_specs.append(spec)
        return node

    def _own_name(self, name):
        """A name that no other input has."""
        name = _identifier(name)
        name = next(
            n for n in itertools.chain([name], (f"{name}_{i}" for i in itertools.count(1))) if n not in self._taken
        )
        self._taken.add(name)
        return name

    def _take_in(self):
        tape, module = self.tape, self._module
        used = self._used()
        inputs = [self._own_name(name) for name in self.leaf_names()]  # the caller's names come first
        parameters = {name for name, _ in module.named_parameters()} if isinstance(module, torch.nn.Module) else set()
        kept = set(module.state_dict()) if isinstance(module, torch.nn.Module) else set()
        for wanted in (True, False):
            for name, n in tape.named.items():
                if (name in parameters) is wanted:
                    kind = InputKind.PARAMETER if wanted else InputKind.BUFFER
                    prefix = "p_" if wanted else "b_"
                    self._place(prefix + name, n, kind, name, None if wanted else name in kept)
        attributes, lifted = _plain_tensors(module), 0
        for n, constant in tape.constants.items():
            if n in used:
                name = attributes.pop(tape.origins.get(n), None)
                if name is None:
                    name, lifted = f"lifted_tensor_{lifted}", lifted + 1
                self.constants[name] = constant
                self._place(f"c_{name.replace('.', '_')}", n, InputKind.CONSTANT_TENSOR, name)
        self._taken -= set(inputs)
        for i, (name, leaf) in enumerate(zip(inputs, self.program.leaves, strict=True)):
            if i in tape.inputs:
                number = tape.inputs[i]
                known = self._nodes.get(number)
                node = self._place(name, number, InputKind.USER_INPUT, None)
                if known is not None:
                    self._nodes[number] = known
                node.meta["leaf"] = i
            else:
                node = self.graph.placeholder(self._own_name(name))
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

    def module_calls(self) -> list[ModuleCallEntry]:
        """Each module that was called, with the form of the call where that is kept."""
        entries = []
        for name in dict.fromkeys(self.tape.modules):
            signature = None
            if name in self.tape.module_calls:
                arguments, in_spec, results, out_spec = self.tape.module_calls[name]
                signature = ModuleCallSignature(
                    [self._as_argument(a) for a in arguments],
                    [self._as_argument(a) for a in results],
                    in_spec,
                    out_spec,
                )
            if name:
                entries.append(ModuleCallEntry(name, signature))
        return entries

    def _as_argument(self, leaf):
        if isinstance(leaf, Ref):
            return TensorArgument(self._nodes[leaf.n].name)
        return ConstantArgument("", unnamed(leaf))

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


def _plain_tensors(module):
    """The names of tensors that modules hold as attributes, neither as parameters nor as buffers, by where they lie."""
    found: dict[Any, str] = {}
    for path, each in module.named_modules() if isinstance(module, torch.nn.Module) else ():
        for name, value in vars(each).items():
            if isinstance(value, torch.Tensor) and value.numel():
                found.setdefault(where(value), f"{path}.{name}" if path else name)
    return found
