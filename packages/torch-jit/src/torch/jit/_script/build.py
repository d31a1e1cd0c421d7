"""Nodes of a graph, each with its place in the source, and compile-time values turned into values of the graph."""

from __future__ import annotations

import contextlib
import enum
import inspect
import warnings

import torch
from torch._faces.jit import ScriptWarning

from .. import _ir as ir
from . import types
from .errors import ScriptError
from .values import Bound, Items, Self, Static, TupleOf

__all__ = ["Builder"]


class Builder:
    """Appends nodes to the block at hand."""

    reads_text = False  # of an archive, where a row may be written as the calls that give the same

    def __init__(self, graph):
        self.graph = graph
        self.block = graph.param_node().owningBlock()
        self.place = None  # the Where of the expression at hand
        self.inferred = set()  # parameters that are tensors because nothing says what they are
        self.empties = set()  # empty lists whose element type is not known yet

    # -- nodes ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def within(self, block):
        """Append to another block meanwhile."""
        before, self.block = self.block, block
        self.graph.setInsertPoint(block)
        try:
            yield
        finally:
            self.block = before
            self.graph.setInsertPoint(before)

    @contextlib.contextmanager
    def before(self, node):
        """Insert before a node meanwhile."""
        self.graph.setInsertPoint(node)
        try:
            yield
        finally:
            self.graph.setInsertPoint(self.block)

    def at(self):
        place = self.place
        return None if place is None else (place.file, place.line, place.column, place.text, place.end)

    def node(self, kind, inputs=(), types=()):
        """A node with outputs of these types."""
        made = self.graph.create(kind, list(inputs), len(types))
        for output, type in zip(made.outputs(), types):
            output.setType(type)
        if self.place is not None:
            made.setSourceRange(*self.at())
        self.graph.insertNode(made)
        return made

    @staticmethod
    def called(name, value):
        """Give a value the name that it has in the source, if it has none yet."""
        if not value.hasDebugName() and name[0] != "$" and value.node().kind() != "prim::Constant":
            value.setDebugName(name)

    def op(self, name, /, *args, **kwargs):
        """Call a row or primitive by the static types of its arguments."""
        try:
            result = self.graph.call(name, list(args), kwargs, self.at())
            return None if isinstance(result, tuple) and not result else result
        except ir.OverloadError as error:
            given = [
                each.debugName()
                for each in (*args, *kwargs.values())
                if isinstance(each, ir.Value) and each in self.inferred
            ]
            notes = "".join(
                f"\nInferred the value for argument '{each}' to be of type 'Tensor' because it was not annotated with an "
                "explicit type."
                for each in dict.fromkeys(given)
            )
            raise ScriptError(str(error) + notes, self.place) from None

    def constant(self, value):
        return self.graph.insertConstant(value, types.type_of_packed(value))

    def forked(self, emit, items):
        """What ``emit`` emits from items, in a graph of its own that runs beside this one; a future."""
        given = [each for each in items if not isinstance(each, Static)]
        values = [self.value(each) for each in given]
        inner = type(self)(ir.Graph(), self.compiler)
        inner.function, inner.place, inner.frame.above = self.function, self.place, None
        inputs = iter([inner.graph.addInput("", each.type()) for each in values])

        def within(item):
            if isinstance(item, Static):
                return item
            value = next(inputs)
            return Self(item.concrete, value) if isinstance(item, Self) else value

        result = inner.value(emit(inner, [within(each) for each in items]))
        inner.graph.registerOutput(result)
        made = self.node("prim::fork", values, [ir.FutureType(result.type())])
        made.g_("Subgraph", inner.graph)
        return made.output()

    def uninitialized(self, type):
        return self.node("prim::Uninitialized", (), [type]).output()

    def discard(self, since):
        """Remove the nodes of the block after ``since`` (None: all of them)."""
        for made in reversed(list(self.block.nodes())):
            if made == since:
                return
            made.destroy()

    def last(self):
        nodes = list(self.block.nodes())
        return nodes[-1] if nodes else None

    # -- compile-time values ----------------------------------------------------------------------------------------

    def type_of(self, item):
        """The type that :meth:`value` would give an item."""
        if isinstance(item, ir.Value):
            return item.type()
        if isinstance(item, TupleOf):
            return item.type or ir.TupleType([self.type_of(each) for each in item.items])
        if isinstance(item, Self):
            return item.value.type()
        if isinstance(item, Static):
            return self.known(types.of_value, item.value)
        raise self.error(f"{self.describe(item)} cannot be used as a value")

    def known(self, function, *args):
        try:
            return function(*args)
        except ScriptError as error:
            if not error.places and self.place is not None:
                error.places.append(self.place)
            raise

    def value(self, item, expected=None):
        """The value of the graph that an item is at run time, of the type that is expected if there is one."""
        if isinstance(item, ir.Value):
            return self.checked(item, expected)
        if isinstance(item, Self):
            return self.checked(item.value, expected)
        if isinstance(item, TupleOf):
            return self._tuple(item, expected)
        if isinstance(item, Static):
            return self._static(item.value, expected)
        if isinstance(item, Items) and all(self.is_value(each) for each in item.items):
            values = [self.value(each) for each in item.items]
            return self.list_of(values)
        if isinstance(item, Bound):
            raise self.error(f"builtin cannot be used as a value: the method {item.name!r} is not called")
        if isinstance(item, Items) and all(isinstance(each, Self) for each in item.items):
            return self._tuple(TupleOf(item.items), expected)  # modules: each is of a type of its own
        raise self.error(f"{self.describe(item)} cannot be used as a value")

    def is_value(self, item):
        return isinstance(item, (ir.Value, TupleOf, Static))

    def checked(self, value, expected):
        if expected is None:
            return value
        interface = types.interface_in(expected)
        if interface is not None and value.type().kind() == "ClassType":
            self.known(types.conform, value.type(), interface, self.compiler)
        if value.type().isSubtypeOf(expected):
            return value
        if interface is not None and value.type().kind() == "InterfaceType":
            if types.extends(value.type(), interface, self.compiler):
                return self.node("prim::unchecked_cast", [value], [expected]).output()
        if value in self.empties and expected.kind() in ("ListType", "DictType"):
            self.empties.discard(value)
            value.setType(expected)
            return value
        inner = expected.getElementType() if types.is_optional(expected) else expected
        if value.type().kind() == "TupleType" and inner.kind() == "ListType":
            parts = value.type().containedTypes()
            if all(each.isSubtypeOf(inner.getElementType()) for each in parts):
                items = list(self.node("prim::TupleUnpack", [value], parts).outputs()) if parts else []
                return self.list_of(items, inner)
        if inner == types.FLOAT and value.type() == types.INT and value.node().kind() == "prim::int_pow":
            made = self.op("pow", *value.node().inputs())  # 2 ** n where a float is asked for: n may be negative
            if not value.uses():
                value.node().destroy()
            return made
        if value.type() == types.NUMBER and inner in (types.INT, types.FLOAT, types.COMPLEX):
            return self.number_of(value, inner)
        raise self.error(f"Expected a value of type '{expected}' but got one of type '{value.type()}'")

    def number_of(self, value, wanted):
        """A number as one of the kind that is asked for, or a tensor that stands for one; else the value as it is."""
        word = {"IntType": "Int", "FloatType": "Float", "ComplexType": "Complex", "NumberType": "Scalar"}.get(
            wanted.kind()
        )
        if value.type() == types.TENSOR and word is not None:
            return self.op(f"{word}Implicit", value)  # refuses what int(x), which a user writes, would round
        return value if word in (None, "Scalar") else self.op(word, value)

    def warn(self, message):
        warnings.warn(f"{message}\n{self.place}", ScriptWarning, stacklevel=2)

    def _tuple(self, item, expected):
        inner = [None] * len(item.items)
        type = item.type
        if expected is not None:
            expected = expected.getElementType() if types.is_optional(expected) else expected
            if expected.kind() == "ListType":
                return self.list_of([self.value(each, expected.getElementType()) for each in item.items], expected)
            if expected.kind() == "TupleType" and len(expected.containedTypes()) == len(inner):
                inner, type = expected.containedTypes(), type or expected
        elif type is not None:
            inner = type.containedTypes()
        values = [self.value(each, want) for each, want in zip(item.items, inner)]
        made = type or ir.TupleType([each.type() for each in values])
        return self.checked(self.node("prim::TupleConstruct", values, [made]).output(), expected)

    def list_of(self, values, type=None):
        """A list of values; all of one type."""
        if type is None:
            found = values[0].type() if values else types.TENSOR
            for each in values[1:]:
                joined = types.unify(found, each.type())
                found = types.any_of(found, each.type()) if joined is None else joined
            if found.kind() == "UnionType":
                self.warn(
                    f"List consists of heterogeneous types, which means that it has been typed as containing {found}: "
                    "use isinstance before what takes one of them"
                )
            type = ir.ListType(found)
        return self.node("prim::ListConstruct", values, [type]).output()

    def _static(self, value, expected):
        if expected is not None:
            expected = expected.getElementType() if types.is_optional(expected) and value is not None else expected
            if expected == types.FLOAT and type(value) is int:
                value = float(value)
            if expected == types.COMPLEX and type(value) in (int, float):
                value = complex(value)
        if isinstance(value, torch.Size) or (isinstance(value, (tuple, list)) and self._as_list(value, expected)):
            inner = expected.getElementType() if expected is not None and expected.kind() == "ListType" else None
            values = [self._static(each, inner) for each in value]
            made = expected if inner is not None else None if values else ir.ListType(types.INT)
            if not values and isinstance(value, list) and inner is None:
                made = ir.ListType(types.TENSOR)
            return self.list_of(values, made)
        if isinstance(value, tuple):
            made = types.of_value(value) if types.is_named_tuple(type(value)) else None
            return self._tuple(TupleOf([Static(each) for each in value], made), expected)
        if isinstance(value, dict):
            made = self.known(types.of_value, value) if expected is None else expected
            key, inner = made.containedTypes()
            pairs = [self._static(each, want) for pair in value.items() for each, want in zip(pair, (key, inner))]
            return self.node("prim::DictConstruct", pairs, [made]).output()
        if inspect.isfunction(value) or inspect.isbuiltin(value) or inspect.ismodule(value) or isinstance(value, type):
            raise self.error(
                f"python value of type '{type(value).__name__}' cannot be used as a value: {self.describe(Static(value))}"
            )
        made = self.known(types.of_value, value)
        constant = self.graph.insertConstant(value, made) if isinstance(value, enum.Enum) else self.constant(value)
        return self.checked(constant, expected)

    @staticmethod
    def _as_list(value, expected):
        return isinstance(value, list) or (expected is not None and expected.kind() == "ListType")

    # -- what is said about them ------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def telling(self, what):
        """What an error is about, before its message."""
        try:
            yield
        except ScriptError as error:
            error.message = f"{what}: {error.message}"
            raise

    def error(self, message, way_out="", kind=ScriptError):
        return kind(message, self.place, way_out)

    def describe(self, item):
        """An item in words, for an error."""
        if isinstance(item, Static):
            value = item.value
            name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
            if inspect.ismodule(value):
                return f"the Python module {name}"
            if isinstance(value, type):
                return f"the class {name}"
            return f"the function {name}" if callable(value) and name else f"the constant {value!r}"
        if isinstance(item, Self):
            return f"the module {type(item.concrete).__name__}"
        return {
            "Bound": "builtin: a method that is not called",
            "Range": "range(...)",
            "Enumerated": "enumerate(...)",
        }.get(type(item).__name__, f"a {type(item).__name__.lower()}")
