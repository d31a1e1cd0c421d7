"""Conditions: their truth as a value or known while compiling, and what they say about names where they hold or fail."""

from __future__ import annotations

import ast
import contextlib
import enum

import torch

from .. import _ir as ir
from . import types
from .errors import ScriptError
from .scope import Frame
from .values import Bound, Items, Self, Static, TupleOf

__all__ = ["Conditions"]


#: kinds of types whose values are the same object or not
_OBJECTS = {"TensorType", "ListType", "DictType", "ClassType", "InterfaceType", "FutureType"}
#: classes of the values of types, for questions after classes of ``numbers`` and ``collections.abc``
_CLASSES = {
    "TensorType": torch.Tensor, "ListType": list, "TupleType": tuple, "DictType": dict, "IntType": int, "FloatType": float, "BoolType": bool,
    "ComplexType": complex, "StringType": str,
}  # fmt: skip


def _scripted_below(cls):
    """The types of the classes that are derived from a script class."""
    found = []
    for each in cls.__subclasses__():
        with contextlib.suppress(ScriptError):
            found.append(types.from_annotation(each))
        found += _scripted_below(each)
    return found


class Conditions:
    """``condition(test)`` gives the truth, the facts where it holds and the facts where it does not."""

    def condition(self, node):
        """Truth and facts of an expression; facts are pairs of a name and the type that it has then."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            truth, yes, no = self.condition(node.operand)
            if isinstance(truth, Static):
                return Static(not truth.value), no, yes
            return self.op("__not__", truth), no, yes
        if isinstance(node, ast.BoolOp):
            return self._both(node.values, isinstance(node.op, ast.And), node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return self._identity(node)
        if isinstance(node, ast.Call) and self._asks_type(node):
            return self._instance(node)
        item = self.visit(node)
        truth = self.truth(item)
        facts = []
        if isinstance(node, ast.Name) and isinstance(item, ir.Value) and types.is_optional(item.type()):
            facts = [(node.id, item.type().getElementType())]
        return truth, facts, []

    def refine(self, frame, facts):
        """Note what is known about names in a frame, at the head of its block."""
        for name, type in facts:
            item = frame.get(name)
            if types.is_none(type):
                frame.refined[name] = Static(None)
            elif isinstance(item, ir.Value) and item.type() != type:
                frame.refined[name] = self.node("prim::unchecked_cast", [item], [type]).output()

    def _both(self, tests, conjunction, node):
        """``a and b``, ``a or b``: the second is computed only where the first has not decided."""
        truth, yes, no = self.condition(tests[0])
        if len(tests) == 1:
            return truth, yes, no
        if isinstance(truth, Static):
            if bool(truth.value) != conjunction:
                return Static(bool(truth.value)), yes, no
            self.refine(self.frame, yes if conjunction else no)
            second, more, less = self._both(tests[1:], conjunction, node)
            return second, [*yes, *more] if conjunction else more, less if conjunction else [*no, *less]
        made, frames = self.open_if(truth)
        on, off = frames if conjunction else frames[::-1]
        with self.within(on.block):
            self.refine(on, yes if conjunction else no)
            second, more, less = self.in_frame(on, lambda: self._both(tests[1:], conjunction, node))
        if isinstance(second, Static):  # it decides, or adds nothing
            decides = bool(second.value) != conjunction
            return Static(not conjunction) if decides else truth, yes if conjunction else [], [] if conjunction else no
        with self.within(off.block):
            short = self.constant(not conjunction)
        for frame in frames:
            frame.block.registerOutput(second if frame is on else short)
        output = made.addOutput()
        output.setType(types.BOOL)
        if conjunction:
            return output, [*yes, *more], self._either(no, less)
        return output, self._either(yes, more), [*no, *less]

    @staticmethod
    def _either(one, two):
        """What is known of the names that both lists of facts speak of, where one of the lists holds."""
        others = dict(two)
        shared = [(name, type, others[name]) for name, type in one if name in others]
        return [(name, type if type == other else types.any_of(type, other)) for name, type, other in shared]

    # -- is, isinstance -----------------------------------------------------------------------------------------------

    def _identity(self, node):
        left, right = node.left, node.comparators[0]
        if isinstance(left, ast.Constant) and left.value is None:
            left, right = right, left
        positive = isinstance(node.ops[0], ast.Is)
        item, other = self.visit(left), self.visit(right)
        if not (isinstance(other, Static) and other.value is None):
            return self.identity(node.ops[0], item, other, node), [], []
        none = self.is_none(item)
        name = left.id if isinstance(left, ast.Name) else None
        if isinstance(none, Static):
            return Static(none.value == positive), [], []
        rest = self.without_none(item.type())
        yes = [(name, types.NONE)] if name else []
        no = [(name, rest)] if name and rest is not None else []
        if positive:
            return none, yes, no
        return self.op("__isnot__", item, self.constant(None)), no, yes

    def identity(self, op, item, other, node):
        """``item is other``, or ``is not``."""
        none = [each for each in (item, other) if isinstance(each, Static) and each.value is None]
        truth = self.is_none(other if none[0] is item else item) if none else self._same_object(item, other, node)
        if isinstance(truth, Static):
            return Static(truth.value == isinstance(op, ast.Is))
        return truth if isinstance(op, ast.Is) else self.op("__not__", truth)

    def is_none(self, item):
        """Whether an item is None: known while compiling unless its type allows both."""
        if not isinstance(item, ir.Value):
            return Static(isinstance(item, Static) and item.value is None)
        kind = item.type().kind()
        if kind == "NoneType":
            return Static(True)
        if kind in ("OptionalType", "AnyType") or (
            kind == "UnionType" and self.without_none(item.type()) != item.type()
        ):
            return self.op("__is__", item, self.constant(None))
        return Static(False)

    def without_none(self, type):
        if types.is_optional(type):
            return type.getElementType()
        if type.kind() == "UnionType":
            return types.union([each for each in type.containedTypes() if not types.is_none(each)])
        return None

    def _same_object(self, item, other, node):
        if isinstance(item, Static) and isinstance(other, Static):
            a, b = item.value, other.value
            plain = type(a) is type(b) and isinstance(a, (int, float, str, complex))  # one constant of a function
            return Static(a == b if plain else a is b)
        if isinstance(item, ir.Value) and isinstance(other, ir.Value):
            if item is other or item == other:
                return Static(True)
            if item.type() in (types.BOOL, types.INT, types.STR) and item.type() == other.type():
                return self.op("eq", item, other)
            if item.type().kind() == "EnumType" and item.type() == other.type():
                return self.compare_enums("eq", item, other)
            if self.function.library:
                return Static(False)
            if item.type() == other.type() and item.type().kind() in _OBJECTS:
                return self.op("__is__", item, other)
        if isinstance(item, Self) and isinstance(other, Self):
            return (
                self.op("__is__", item.value, other.value) if item.value.type() == other.value.type() else Static(False)
            )
        if isinstance(item, ir.Value) or isinstance(other, ir.Value):
            value, static = (item, other) if isinstance(item, ir.Value) else (other, item)
            if isinstance(static, Static) and isinstance(static.value, bool) and value.type() == types.BOOL:
                return self.op("eq", value, self.constant(static.value))
            if isinstance(static, Static) and isinstance(static.value, enum.Enum) and value.type().kind() == "EnumType":
                return self.compare_enums("eq", value, self.value(static))
            numbered = (torch.dtype, torch.layout, torch.memory_format)
            if isinstance(static, Static) and isinstance(static.value, numbered) and value.type() == types.INT:
                return self.op("eq", value, self.constant(static.value))
        one, two = (self.type_of(each) if self.is_value(each) else None for each in (item, other))
        if one is not None and two is not None and one != two and types.unify(one, two) is None:
            return Static(False)
        if any(each is not None and each.kind() in ("OptionalType", *_OBJECTS) for each in (one, two)):
            return self.op("__is__", self.value(item), self.value(other))
        raise self.error("`is` compares with None and with what is known while compiling", "use ==")

    def _asks_type(self, node):
        found = self.resolve(node.func)
        return found is isinstance or found is getattr(torch.jit, "isinstance", None)

    def _instance(self, node):
        """``isinstance(x, T)``: decided by the type where it can be, else asked of the value."""
        if len(node.args) != 2:
            raise self.error("isinstance takes a value and a type")
        item = self.visit(node.args[0])
        wanted = self.resolve(node.args[1])
        if wanted is None:
            wanted = self.static(self.visit(node.args[1]), "the second argument of isinstance")
        wanted = tuple(_flat(wanted))
        if isinstance(item, Static):
            plain = [each for each in wanted if isinstance(each, type)]
            if len(plain) == len(wanted) or isinstance(item.value, tuple(plain)):
                return Static(isinstance(item.value, tuple(plain))), [], []
            return Static(any(torch.jit.isinstance(item.value, each) for each in wanted)), [], []
        if isinstance(item, Self):
            concrete = item.concrete
            return Static(issubclass(type(concrete.python) if concrete.is_module else concrete.cls, wanted)), [], []
        if isinstance(item, (TupleOf, Items)):
            if tuple in wanted or (list in wanted and isinstance(item, Items)):
                return Static(True), [], []
            item = self.value(item)
        if not isinstance(item, ir.Value):
            return Static(False), [], []
        name = node.args[0].id if isinstance(node.args[0], ast.Name) else None
        return self._instance_of(item, wanted, name)

    def _class_of(self, type):
        """The Python class that a script class was made from, or None."""
        concrete = self.compiler.concrete_of(type) if type.kind() == "ClassType" else None
        return None if concrete is None or concrete.is_module else concrete.cls

    def _instance_of(self, item, wanted, name):
        have = item.type()
        parts = self._alternatives(have)
        fits = [any(self.is_a(part, each) for each in wanted) for part in parts]
        if have.kind() == "AnyType" and any(each in _OF_ANY for each in wanted):
            parts = [self.op(_OF_ANY[each], item) for each in wanted if each in _OF_ANY]
            rest = tuple(each for each in wanted if each not in _OF_ANY)
            parts += [self._instance_of(item, rest, None)[0]] if rest else []
            found = parts[0]
            for each in parts[1:]:
                found = self.op("__or__", found, each)
            return found, [], []
        if have.kind() == "AnyType":
            targets = [types.from_annotation(each, self.function.source) for each in wanted]
            below = [each for cls in map(self._class_of, targets) if cls is not None for each in _scripted_below(cls)]
            return self._ask(item, list(dict.fromkeys([*targets, *below])), name, None)
        if all(fits):
            return Static(True), [], []
        if not any(fits):
            return Static(False), [], []
        yes = [part for part, fit in zip(parts, fits) if fit]
        no = [part for part, fit in zip(parts, fits) if not fit]
        return self._ask(item, yes, name, types.union(no))

    def _ask(self, item, yes, name, no):
        made = self.node("prim::isinstance", [item], [types.BOOL])
        made.ty_("types", ir.TupleType(yes))
        facts = [(name, types.union(yes))] if name else []
        return made.output(), facts, [(name, no)] if name and no is not None else []

    def of_each(self, value, emit):
        """What is emitted for a value of a Union, of the type that it turns out to have."""
        first, *rest = value.type().containedTypes()
        made, frames = self.open_if(self._ask(value, [first], None, None)[0])
        values = {}
        for frame, type in zip(frames, (first, types.union(rest))):
            with self.within(frame.block):
                part = self.node("prim::unchecked_cast", [value], [type]).output()
                values[id(frame)] = self.value(self.in_frame(frame, lambda part=part: emit(part)))
        return self.joined_value(made, values, frames)

    @staticmethod
    def _alternatives(type):
        if types.is_optional(type):
            inner = type.getElementType()
            return [*(inner.containedTypes() if inner.kind() == "UnionType" else [inner]), types.NONE]
        return type.containedTypes() if type.kind() == "UnionType" else [type]

    def is_a(self, type, wanted):
        """Whether values of a type are instances of a Python class or annotation."""
        kind = type.kind()
        if wanted is list:
            return kind == "ListType"
        if wanted is tuple:
            return kind == "TupleType"
        if wanted is dict:
            return kind == "DictType"
        if wanted is torch.Size:
            return type == ir.ListType(types.INT)
        if wanted is torch.dtype:
            return False
        if isinstance(wanted, type_) and issubclass(wanted, torch.Tensor):
            return kind == "TensorType"
        if wanted is int:
            return type in (types.INT, types.BOOL)
        if isinstance(wanted, type_) and wanted.__module__ in ("numbers", "collections.abc", "numpy"):
            return issubclass(_CLASSES.get(kind, object), wanted)
        cls = self._class_of(type)
        if cls is not None and isinstance(wanted, type_):
            return issubclass(cls, wanted)
        return type.isSubtypeOf(types.from_annotation(wanted, self.function.source))

    # -- truth ----------------------------------------------------------------------------------------------------------

    def truth(self, item):
        """``bool(item)``: Static, or a value of type bool."""
        if isinstance(item, Static):
            return Static(bool(item.value))
        if isinstance(item, (TupleOf, Items)):
            return Static(bool(item.items))
        if isinstance(item, Self):
            length = self.children(item)
            return Static(True if length is None else bool(length))
        if isinstance(item, Bound):
            return Static(True)
        if not isinstance(item, ir.Value):
            raise self.error(f"Could not cast value of type {self.describe(item)} to bool")
        kind = item.type().kind()
        if kind == "BoolType":
            return item
        if kind == "NoneType":
            return Static(False)
        if kind == "TupleType":
            return Static(bool(item.type().containedTypes()))
        if kind in ("ListType", "DictType", "StringType"):
            return self.op("ne", self.op("len", item), 0)
        if kind == "OptionalType":
            return self._optional_truth(item)
        if kind == "ClassType":
            for name in ("__bool__", "__len__"):
                if self.compiler.method_of_class(item.type(), name, self) is not None:
                    return self.truth(self.method(item, name, [], {}))
            return Static(True)
        return self.op("Bool", item)

    def _optional_truth(self, item):
        made, (then, other) = self.open_if(self.op("__isnot__", item, self.constant(None)))
        with self.within(then.block):
            inner = self.node("prim::unchecked_cast", [item], [item.type().getElementType()]).output()
            truth = self.truth(inner)
            then.block.registerOutput(self.constant(truth.value) if isinstance(truth, Static) else truth)
        with self.within(other.block):
            other.block.registerOutput(self.constant(False))
        output = made.addOutput()
        output.setType(types.BOOL)
        return output

    # -- expressions made of conditions -------------------------------------------------------------------------------

    def visit_BoolOp(self, node):
        """Python's ``and`` and ``or``: bool where all parts are bool, else the part that has decided."""
        conjunction = isinstance(node.op, ast.And)
        first = self.visit(node.values[0])
        if isinstance(first, Static):
            if bool(first.value) != conjunction:
                return first
            rest = node.values[1:]
            return self.visit(rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(node.op, rest), node))
        if (isinstance(first, ir.Value) and first.type() == types.BOOL) or not isinstance(first, ir.Value):
            truth, _, _ = self.condition(node)
            return truth
        truth = self.truth(first)
        if isinstance(truth, Static):
            return self.visit(node.values[1]) if truth.value == conjunction else first
        made, frames = self.open_if(truth)
        on = frames[0] if conjunction else frames[1]
        off = frames[1] if conjunction else frames[0]
        rest = node.values[1:]
        tree = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(node.op, rest), node)
        with self.within(on.block):
            second = self.value(self.in_frame(on, lambda: self.visit(tree)))
        inner = self.without_none(first.type()) if not conjunction else None
        with self.within(off.block):
            kept = first if inner is None else self.node("prim::unchecked_cast", [first], [inner]).output()
        return self.joined_value(made, {id(on): second, id(off): kept}, frames)

    def visit_IfExp(self, node):
        return self.choice(node)

    def choice(self, node, wanted=None):
        """``a if condition else b``; of a type that is wanted, its two sides may differ."""
        truth, yes, no = self.condition(node.test)
        if isinstance(truth, Static):
            frame = Frame(self.frame)
            self.refine(frame, yes if truth.value else no)
            chosen = node.body if truth.value else node.orelse
            return self.in_frame(frame, lambda: self.visit(chosen) if wanted is None else self.typed(chosen, wanted))
        exceptions = [self.resolve(each) for each in (node.body, node.orelse)]
        if all(isinstance(each, type) and issubclass(each, BaseException) for each in exceptions):
            return Static(exceptions[1])  # both tell the same in their own class
        made, frames = self.open_if(truth)
        values = {}
        for frame, facts, tree in zip(frames, (yes, no), (node.body, node.orelse)):
            with self.within(frame.block):
                self.refine(frame, facts)
                visit = self.visit if wanted is None else lambda tree: self.typed(tree, wanted)
                values[id(frame)] = self.value(self.in_frame(frame, lambda tree=tree, visit=visit: visit(tree)), wanted)
        return self.joined_value(made, values, frames, wanted)

    def joined_value(self, made, values, frames, wanted=None):
        one, two = (values[id(frame)] for frame in frames)
        joined = wanted or self.join(one.type(), two.type(), [one, two])
        if joined is None:
            raise self.error(
                f"Type mismatch: the value is set to type {one.type()} in the true branch and type {two.type()} in the false branch"
            )
        for frame in frames:
            frame.block.registerOutput(values[id(frame)])
        output = made.addOutput()
        output.setType(joined)
        return output


type_ = type
#: containers of anything, which only the value at run time tells
_OF_ANY = {list: "prim::is_list", tuple: "prim::is_tuple", dict: "prim::is_dict"}


def _flat(wanted):
    for each in wanted if isinstance(wanted, (tuple, list)) else (wanted,):
        if isinstance(each, (tuple, list)):
            yield from _flat(each)
        else:
            yield each
