"""Graphs as readable Python: what ``.code`` shows, and what stands under ``code/`` in archives.

A value that is used once, by what comes next, is written where it is used; all others get names.  Carried values of
loops and results of branches are assigned at the ends of blocks.
"""

from __future__ import annotations

import functools
import keyword
import re

from . import contexts, integers
from .literals import constant, literal
from .spelling import Call, says_twice

__all__ = ["Printer", "code_and_constants", "code_of"]

_PRODUCTS = 8  # powers up to this one are written as products
_SPECIAL = {"aten::Int": "int", "aten::Float": "float", "aten::Bool": "bool", "aten::str": "str"}
_IMPLICIT = {f"aten::{each}Implicit" for each in ("Int", "Float", "Complex", "Scalar")}
_WORDS = {"torch", "ops", "self", "int", "float", "bool", "str", "inf", "nan", "CONSTANTS", "annotate", "range", "getattr",
          "uninitialized", "unchecked_cast", "isinstance", "fork", "print"}  # fmt: skip


class Printer:
    """Writes one function."""

    def __init__(self, function, tensors=None, note=None, name=None, owner=None):
        self.function, self.graph, self.called = function, function.graph, name or function.name
        self.saving = note is not None
        self.owner = owner  # the class that a function without self is written into
        self.tensors = [] if tensors is None else tensors
        self.note = note or (lambda type: None)  # told every class and function that the text refers to
        self.lines, self.names, self.taken, self.inlined = [], {}, set(_WORDS), {}

    # -- names ------------------------------------------------------------------------------------------------------------

    def name(self, value):
        """The name of a value, given once."""
        if value not in self.names:
            self.names[value] = self._fresh(value.debugName())
        return self.names[value]

    def _fresh(self, wanted):
        base = re.sub(r"[^0-9A-Za-z_]", "_", wanted)
        base = re.sub(r"(?<=[A-Za-z_])_\d+$", "", base) if "." in wanted else base
        base = f"_{base}" if not base or base[0].isdigit() else base
        if keyword.iskeyword(base):
            base += "_"
        name, count = base, 0
        while name in self.taken:
            name, count = f"{base}{count}", count + 1
        self.taken.add(name)
        return name

    # -- functions ----------------------------------------------------------------------------------------------------------

    def text(self, indent=0):
        """The whole definition."""
        outer = "  " * indent
        inputs = list(self.graph.inputs())
        defaults = self.function.defaults()
        head = [f"self: {self.owner}"] if self.owner else []
        for value in inputs:
            note = self.annotation(value.type())
            default = _of_type(defaults.get(value.debugName()), value.type())
            has = value.debugName() in defaults
            name = "self" if value is inputs[0] and value.debugName() == "self" else self.name(value)
            self.names[value] = name
            typed = name != "self" or self.saving  # as PyTorch: archives say the type of self, texts to read do not
            head.append((f"{name}: {note}" if typed else name) + (f"={literal(default, self.tensors)}" if has else ""))
        outputs = list(self.graph.outputs())
        returns = (
            self.annotation(outputs[0].type())
            if len(outputs) == 1
            else "Tuple[" + ", ".join(self.annotation(each.type()) for each in outputs) + "]"
        )
        separator = f",\n{outer}    "
        self.lines.append(f"{outer}def {self.called}({separator.join(head)}) -> {returns}:")
        self.block(self.graph.param_node().owningBlock(), indent + 1, returned=True)
        return "\n".join(self.lines) + "\n"

    def annotation(self, type):
        self.note(type)
        return type.annotation_str

    # -- blocks ---------------------------------------------------------------------------------------------------------------

    def block(self, block, indent, returned=False, targets=(), types=()):
        """The statements of a block; at its end the targets, of these types, are assigned what it returns."""
        start = len(self.lines)
        nodes = [node for node in block.nodes() if node.kind() != "prim::Constant"]
        last = block.return_node()
        self._absorb(nodes, last)
        self.statements(nodes, indent)
        pad = "  " * indent
        values = [self.expression(value) for value in block.outputs()]
        for i, (value, type) in enumerate(zip(block.outputs(), types)):
            values[i] = self.widened(values[i], value, type, ("AnyType", "UnionType"))
        if returned:
            text = values[0] if len(values) == 1 else "(" + ", ".join(values) + ")"
            self.lines.append(f"{pad}return {text}")
        elif targets:
            self.lines.append(f"{pad}{', '.join(targets)} = {', '.join(values)}")
        elif len(self.lines) == start:
            self.lines.append(f"{pad}pass")

    def statements(self, nodes, indent):
        """Nodes as statements; those between the two ends of a ``with`` one step further in."""
        for before, node in zip([None, *nodes], nodes):
            scope = contexts.scope_of(node)
            if scope == "enter":
                self.enter(node, indent)
                indent += 1
            elif scope == "exit":
                if before is not None and contexts.scope_of(before) == "enter":
                    self.lines.append("  " * indent + "pass")
                indent -= 1
            elif node not in self.inlined:
                self.statement(node, indent)

    def enter(self, node, indent):
        """The head of a ``with``."""
        if node.kind() != "prim::CallMethod":
            cls, args = contexts.head(node, [self.expression(each) for each in node.inputs()])
            self.note(cls)
            pad, name = "  " * indent, self._fresh("_0")
            self.lines.append(f"{pad}{name} = {cls}.__new__({cls})")
            self.lines.append(f"{pad}{self._fresh('_0')} = ({name}).__init__({''.join(f'{each}, ' for each in args)})")
            self.lines.append(f"{pad}with {name}:")
            return
        name = f" as {self.name(node.output())}" if node.output().uses() else ""
        self.lines.append("  " * indent + f"with {self.expression(node.input(0))}{name}:")

    def _absorb(self, nodes, last):
        """Decide which nodes are written within the node that uses them: a chain that ends right before it."""
        position = {node: i for i, node in enumerate(nodes)}
        absorbed = set()

        def take(user, at):
            if user.kind() == "prim::fork" or says_twice(user):  # the function within refers to names
                return at
            # From the last input to the first: each must be computed immediately before what is taken already.
            for value in reversed(list(user.inputs())):
                node = value.node()
                if position.get(node) == at and self._fits(node, value):
                    absorbed.add(node)
                    at = take(node, at - 1)
            return at

        take(last, len(nodes) - 1)
        for i in range(len(nodes) - 1, -1, -1):
            if nodes[i] not in absorbed and nodes[i].kind() not in ("prim::Loop",):
                take(nodes[i], i - 1)
        for node in absorbed:
            self.inlined[node] = True

    @staticmethod
    def _fits(node, value):
        if contexts.scope_of(node) is not None:
            return False
        if node.kind() == "prim::TupleConstruct" and any(
            each.user.kind() in ("prim::format_list", "prim::percent_format_list") for each in value.uses()
        ):
            return True
        kinds = ("prim::If", "prim::Loop", "prim::SetAttr", "prim::TupleUnpack", "prim::ListUnpack", "prim::GetAttr",
                 "prim::fork")  # fmt: skip
        return node.outputsSize() == 1 and len(value.uses()) == 1 and node.kind() not in kinds

    def statement(self, node, indent):
        pad = "  " * indent
        kind = node.kind()
        if kind == "prim::If":
            names = [self.name(each) for each in node.outputs()]
            then, other = node.blocks()
            self.lines.append(f"{pad}if {self.expression(node.input(0))}:")
            self.block(then, indent + 1, targets=names, types=[each.type() for each in node.outputs()])
            self.lines.append(f"{pad}else:")
            self.block(other, indent + 1, targets=names, types=[each.type() for each in node.outputs()])
        elif kind == "prim::Loop":
            self.loop(node, indent)
        elif kind == "prim::SetAttr":
            owner, value = (self.expression(each) for each in node.inputs())
            self.lines.append(f"{pad}{owner}.{node.s('name')} = {value}")
        elif kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            names = ", ".join(self.name(each) for each in node.outputs())
            self.lines.append(f"{pad}{names}, = {self.expression(node.input(0))}")
        elif kind == "prim::fork":
            self.fork(node, indent)
        elif node.outputsSize() == 0:
            self.lines.append(f"{pad}{self.call(node)}")
        else:
            names = ", ".join(self.name(each) for each in node.outputs())
            self.lines.append(f"{pad}{names} = {self.call(node)}")

    def fork(self, node, indent):
        """A function within this one, which sees the names around it, and its call."""
        pad, graph, name = "  " * indent, node.g("Subgraph"), self._fresh("__forked_function")
        inner = Printer(self.function, self.tensors, self.note if self.saving else None, name)
        inner.graph, inner.lines, inner.taken = graph, self.lines, self.taken
        inner.names = {value: self.expression(given) for value, given in zip(graph.inputs(), node.inputs())}
        returns = self.annotation(next(iter(graph.outputs())).type())
        self.lines.append(f"{pad}def {name}() -> {returns}:")
        inner.block(graph.param_node().owningBlock(), indent + 1, returned=True)
        self.lines.append(f"{pad}{self.name(node.output())} = fork({name})")

    def start(self, value, type):
        """What a name of a loop begins with, as one of the type that it has there."""
        return self.widened(self.expression(value), value, type, ("AnyType", "OptionalType", "UnionType"))

    @staticmethod
    def widened(text, value, type, kinds):
        """The text of a value, as one of a wider type of these kinds."""
        if type.kind() not in kinds or value.type() == type:
            return text
        return f"{'annotate' if type.kind() == 'AnyType' else 'unchecked_cast'}({type.annotation_str}, {text})"

    def loop(self, node, indent):
        """``for`` where only the count decides; else ``while``, with the count among the conditions."""
        pad, inner = "  " * indent, "  " * (indent + 1)
        block = next(iter(node.blocks()))
        inputs, outputs = list(node.inputs()), list(node.outputs())
        turn, *carried = list(block.inputs())
        on, *values = list(block.outputs())
        if carried:
            starts = ", ".join(self.start(each, value.type()) for each, value in zip(inputs[2:], carried))
            for value, output in zip(carried, outputs):
                self.names[value] = self.names[output] = self._fresh(output.debugName())
            names = [self.names[each] for each in outputs]
            self.lines.append(f"{pad}{', '.join(names)} = {starts}")
        names = [self.names[each] for each in outputs]
        counts = constant(inputs[0])
        if constant(inputs[1]) is True and constant(on) is True:
            self.lines.append(f"{pad}for {self.name(turn)} in range({self.expression(inputs[0])}):")
            self.block_with(block, indent + 1, names, values)
            return
        unbounded = isinstance(counts, int) and counts >= 2**62
        condition = self._fresh("_on")
        first = self.expression(inputs[1])
        if unbounded and not turn.uses():
            self.lines.append(f"{pad}{condition} = {first}")
            self.lines.append(f"{pad}while {condition}:")
            self.block_with(block, indent + 1, [condition, *names], [on, *values])
            return
        most = self._fresh("_most")
        self.lines.append(f"{pad}{most} = {self.expression(inputs[0])}")
        self.lines.append(f"{pad}{self.name(turn)} = 0")
        self.lines.append(f"{pad}{condition} = torch.__and__(torch.lt(0, {most}), {first})")
        self.lines.append(f"{pad}while {condition}:")
        self.block_with(block, indent + 1, [condition, *names], [on, *values])
        self.lines.append(f"{inner}{self.name(turn)} = torch.add({self.name(turn)}, 1)")
        self.lines.append(f"{inner}{condition} = torch.__and__(torch.lt({self.name(turn)}, {most}), {condition})")

    def block_with(self, block, indent, targets, values):
        """A loop's body: the targets are assigned some of what it returns."""
        start = len(self.lines)
        nodes = [node for node in block.nodes() if node.kind() != "prim::Constant"]
        self._absorb(nodes, block.return_node())
        self.statements(nodes, indent)
        pad = "  " * indent
        pairs = [(name, self.expression(value)) for name, value in zip(targets, values)]
        pairs = [(name, text) for name, text in pairs if name != text]
        hidden = [value for value in block.outputs() if value not in values and value.node() in self.inlined]
        assert not hidden, "a condition that is written nowhere"
        if pairs:
            names, texts = zip(*pairs)
            self.lines.append(f"{pad}{', '.join(names)} = {', '.join(texts)}")
        elif len(self.lines) == start:
            self.lines.append(f"{pad}pass")

    # -- expressions ----------------------------------------------------------------------------------------------------------

    def expression(self, value):
        node = value.node()
        if node.kind() == "prim::Constant":
            return self.constant(value)
        if node in self.inlined:
            return self.call(node)
        return self.name(value)

    def constant(self, value):
        kind = value.type().kind()
        held = constant(value)
        if kind == "FunctionType":
            self.note(held)
            return held.qualified_name
        if kind == "EnumType":
            self.note(value.type())
            return f"{value.type().annotation_str}.{held.name}"
        text = literal(held, self.tensors)
        if held is None and kind not in ("NoneType",):
            return f"annotate({self.annotation(value.type())}, None)"
        if isinstance(held, list) and not held:
            return f"annotate({self.annotation(value.type())}, [])"
        return text

    def call(self, node):
        """The text of what a node computes."""
        kind = node.kind()
        if kind.startswith(("aten::_int8_", "aten::alias")) and (text := integers.spelled(self, node)) is not None:
            return text
        args = [self.expression(each) for each in node.inputs()]
        method = getattr(self, "write_" + kind.split("::")[1], None) if kind.startswith("prim::") else None
        if method is not None:
            return method(node, args)
        space, name = kind.split("::")
        if kind in _IMPLICIT:
            return f"annotate({node.output().type().annotation_str}, {args[0]})"
        if kind in _SPECIAL and len(args) == 1:
            return f"{_SPECIAL[kind]}({args[0]})"
        if kind == "aten::__getitem__" and list(node.inputs())[0].type().kind() != "TensorType":
            return f"{self._owner(args[0])}[{args[1]}]"
        if space == "aten":
            return Call(node, args).text()
        return f"ops.{space}.{name}({', '.join(args)})"

    @staticmethod
    def _owner(text):
        return text if re.fullmatch(r"[\w.]+", text) else f"({text})"

    def write_GetAttr(self, node, args):
        name = node.s("name")
        return f"{self._owner(args[0])}.{name}" if name.isidentifier() else f'getattr({args[0]}, "{name}")'

    def write_CallMethod(self, node, args):
        self.note(list(node.inputs())[0].type())
        return f"({args[0]}).{node.s('name')}({''.join(each + ', ' for each in args[1:])})"

    def write_CallFunction(self, node, args):
        return f"{args[0]}({''.join(each + ', ' for each in args[1:])})"

    def write_ListConstruct(self, node, args):
        kind = node.output().type()
        if not args or kind.getElementType().kind() in ("OptionalType", "UnionType", "InterfaceType"):
            return f"annotate({self.annotation(kind)}, [{', '.join(args)}])"
        return f"[{', '.join(args)}]"

    def write_TupleConstruct(self, node, args):
        kind = node.output().type()
        if kind.field_names():
            self.note(kind)
            return f"{kind.annotation_str}({', '.join(args)})"
        inner = [each.type() for each in node.inputs()]
        text = f"({args[0]},)" if len(args) == 1 else f"({', '.join(args)})"
        return text if list(kind.containedTypes()) == inner else f"annotate({self.annotation(kind)}, {text})"

    def write_DictConstruct(self, node, args):
        pairs = ", ".join(f"{key}: {value}" for key, value in zip(args[::2], args[1::2]))
        return f"annotate({self.annotation(node.output().type())}, {{{pairs}}})"

    def write_TupleIndex(self, node, args):
        return f"({args[0]})[{args[1]}]"

    def write_unchecked_cast(self, node, args):
        return f"unchecked_cast({self.annotation(node.output().type())}, {args[0]})"

    def write_Uninitialized(self, node, args):
        return f"uninitialized({self.annotation(node.output().type())})"

    def write_isinstance(self, node, args):
        held = node.ty("types")
        wanted = [self.annotation(each) for each in held.containedTypes()]
        return f"isinstance({args[0]}, {wanted[0] if len(wanted) == 1 else '[' + ', '.join(wanted) + ']'})"

    def write_CreateObject(self, node, args):
        return f"{self.annotation(node.output().type())}.__new__({self.annotation(node.output().type())})"

    def write_RaiseException(self, node, args):
        kind = constant(node.input(1))
        return f'ops.prim.RaiseException({args[0]}, "{kind if "." in kind else f"builtins.{kind}"}")'

    def write_is_list(self, node, args):
        return f"isinstance({args[0]}, {node.kind().rpartition('_')[2]})"

    write_is_tuple = write_is_dict = write_is_list

    def write_tolist(self, node, args):
        return f"annotate({self.annotation(node.output().type())}, ({args[0]}).tolist())"

    def write_enum_eq(self, node, args):
        return f"torch.eq({', '.join(args)})"

    def write_format_list(self, node, args):
        return f"torch.format{args[0]}"

    def write_percent_format_list(self, node, args):
        parts = list(node.input(0).node().inputs())
        text, *given = [self.expression(each) for each in parts]
        return f"torch.percentFormat({text}, {given[0] if len(given) == 1 else '(' + ', '.join(given) + ')'})"

    def write_int_pow(self, node, args):
        """A small power is a product, which is exact; PyTorch's power of ints is a float."""
        base, exponent = args[0], constant(node.input(1))
        if not isinstance(exponent, int) or not 0 < exponent <= _PRODUCTS:
            return f"int(torch.pow({', '.join(args)}))"
        return functools.reduce(lambda product, _: f"torch.mul({base}, {product})", range(1, exponent), base)

    def write_Print(self, node, args):
        return f"print({', '.join(args)})"

    def write_PythonOp(self, node, args):
        if node.hasAttribute("operator"):
            name, *named = node.s("operator").split(",")
            at = len(args) - len(named)
            space, _, name = name.rpartition("::")
            return f"{f'ops.{space}' if space else 'torch'}.{name}({', '.join([*args[:at], *(f'{key}={text}' for key, text in zip(named, args[at:]))])})"
        if self.owner or self.saving:
            raise RuntimeError(
                f"{self.function.name} calls the Python function {node.s('name')}: Could not export Python function call, which an archive cannot hold: "
                "mark it @torch.jit.unused, or make it part of the script"
            )
        return f"^{node.s('name') if node.hasAttribute('name') else 'python'}({', '.join(args)})"


def _of_type(default, type):
    """A default as its parameter has it: ``x: float = 2`` means 2.0, and PyTorch makes no float of an int there."""
    inner = type.getElementType() if type.kind() == "OptionalType" else type
    return float(default) if inner.kind() == "FloatType" and isinstance(default, int) else default


def code_of(function):
    """The text of a function."""
    return Printer(function).text()


def code_and_constants(function):
    """The text of a function, and the tensors that it names ``CONSTANTS.c0`` ..."""
    tensors = []
    text = Printer(function, tensors).text()
    return text, Constants((f"c{i}", each) for i, each in enumerate(tensors))


class Constants(dict):
    """The constants that a text names, as ``constants["c0"]`` and ``constants.c0``."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the program has no constant {name!r}: {', '.join(self) or 'none'}") from None
