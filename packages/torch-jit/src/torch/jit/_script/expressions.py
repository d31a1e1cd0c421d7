"""Expressions: names, numbers, operators, subscripts, texts."""

from __future__ import annotations

import ast
import operator

import torch

from .. import _ir as ir
from . import types
from .errors import NotSupportedError, ScriptError, nearest
from .statements import Local
from .values import Invalid, Items, Static, TupleOf

__all__ = ["Expressions"]

_BINARY = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv), ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("remainder", operator.mod), ast.Pow: ("pow", operator.pow), ast.MatMult: ("matmul", operator.matmul),
    ast.BitAnd: ("__and__", operator.and_), ast.BitOr: ("__or__", operator.or_), ast.BitXor: ("__xor__", operator.xor),
    ast.LShift: ("__lshift__", operator.lshift), ast.RShift: ("__rshift__", operator.rshift),
}  # fmt: skip
_COMPARE = {
    ast.Lt: ("lt", "gt", operator.lt), ast.Gt: ("gt", "lt", operator.gt), ast.LtE: ("le", "ge", operator.le),
    ast.GtE: ("ge", "le", operator.ge), ast.Eq: ("eq", "eq", operator.eq), ast.NotEq: ("ne", "ne", operator.ne),
}  # fmt: skip
# Operators that have another name for tensors; the first is the one for numbers.
OF_TENSORS = {
    "floordiv": "floor_divide", "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor",
    "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
}  # fmt: skip
_NO = {
    "Yield": "yield expressions", "YieldFrom": "yield from expressions", "Await": "await expressions",
    "NamedExpr": "assignment expressions (:=)", "Set": "sets",
}  # fmt: skip


class Expressions:
    """Emits expressions: ``visit`` gives a value of the graph or a compile-time value (values.py)."""

    def visit(self, node):
        method = getattr(self, "visit_" + type(node).__name__, None)
        before, self.place = self.place, self.where(node)
        try:
            if method is None:
                what = _NO.get(type(node).__name__, type(node).__name__)
                raise NotSupportedError(f"{what} aren't supported in the script language", self.place)
            return method(node)
        except ScriptError as error:
            if not error.places:
                error.places.append(self.place)
            raise
        finally:
            self.place = before

    def visit_Constant(self, node):
        if node.value is Ellipsis or isinstance(node.value, bytes):
            raise self.error(f"{node.value!r} cannot be used as a value")
        if type(node.value) is int and not -(2**63) <= node.value < 2**63:
            raise self.error("Integral constant out of range (must fit in a signed 64 bit integer)")
        return Static(node.value)

    def visit_Name(self, node):
        item = self.frame.get(node.id)
        if isinstance(item, Invalid):
            raise self.error(item.why, "give it a value before")
        if item is not None:
            return item
        try:
            return self.outside(self.function.source.lookup(node.id))
        except KeyError:
            names = [*self.frame.known(), *self.function.source.visible()]
            raise self.error(f"undefined value {node.id}", nearest(node.id, names)) from None

    def outside(self, value):
        """A Python object that the program refers to."""
        if isinstance(value, torch.Tensor) and not self.function.library:
            raise self.error(
                "python value of type 'Tensor' cannot be used as a value: it lies outside of the function",
                "pass it as an argument, or make it a buffer of a module",
            )
        return Static(value)

    def visit_Lambda(self, node):
        if not self.function.library:
            raise NotSupportedError(
                "lambda expressions aren't supported in the script language", self.place, "write a function"
            )
        body = ast.copy_location(ast.Return(node.body), node.body)
        made = ast.FunctionDef("<lambda>", node.args, [body], [], None, None)
        return Static(Local(ast.copy_location(made, node)))

    # -- operators ----------------------------------------------------------------------------------------------------

    def visit_BinOp(self, node):
        name, fold = self._operator(node.op)
        return self.binary(name, fold, self.visit(node.left), self.visit(node.right))

    def _operator(self, op):
        return _BINARY[type(op)]

    def binary(self, name, fold, left, right):
        """``left + right``: computed now where both are known."""
        if isinstance(left, Static) and isinstance(right, Static):
            folded = self._fold(fold, left.value, right.value)
            if folded is not None:
                return folded
        if isinstance(left, (TupleOf, Static)) and isinstance(right, (TupleOf, Static)):
            joined = self._tuples(name, left, right)
            if joined is not None:
                return joined
        if name == "remainder" and self._is_text(left):
            parts = right.items if isinstance(right, TupleOf) else [right]
            return self.formatted("percentFormat", [left, *parts])
        a, b = self._operand(left, right), self._operand(right, left)
        if name == "add" and a.type().kind() == b.type().kind() == "TupleType":
            return TupleOf([*self.elements(a), *self.elements(b)])
        if "ClassType" in (a.type().kind(), b.type().kind()):
            return self._of_objects(name.strip("_"), a, b)
        if a.type() == types.TENSOR or b.type() == types.TENSOR or self._tensors(a, b):
            return self._tensor_binary(name, a, b)
        if name == "pow" and a.type() == b.type() == types.INT:
            if not (isinstance(right, Static) and right.value < 0):
                name = "prim::int_pow"  # as in Python; aten::pow of ints is a float
        return self.op(name, a, b)

    def _of_objects(self, name, a, b):
        """``a + b`` where one is an object: the method of the first, else the second's ``__radd__``."""
        name = {"div": "truediv", "remainder": "mod"}.get(name, name)
        has = lambda value, method: (
            value.type().kind() == "ClassType" and self.compiler.method_of_class(value.type(), method, self) is not None
        )
        if not has(a, f"__{name}__") and has(b, f"__r{name}__"):
            return self.method(b, f"__r{name}__", [a], {})
        return self.method(a, f"__{name}__", [b], {})

    def _operand(self, item, other):
        if isinstance(item, (TupleOf, Items)) and not isinstance(other, TupleOf) and self.is_value(other):
            kind = self.type_of(other).kind()
            if kind == "ListType":  # a list of sizes and a tuple of them
                return self.value(item, self.type_of(other))
        if isinstance(item, Static) and isinstance(item.value, tuple) and isinstance(other, ir.Value):
            if other.type().kind() == "ListType":
                return self.value(item, other.type())
        value = self.value(item)
        if types.is_optional(value.type()):
            raise self.error(
                f"Arguments for call are not valid: the operand is of type {value.type()} and may be None",
                "test `is not None` before, on a local name",
            )
        return value

    @staticmethod
    def _tensors(a, b):
        return "TensorType" in (a.type().kind(), b.type().kind())

    def _tensor_binary(self, name, a, b):
        name = OF_TENSORS.get(name, name)
        number_first = a.type().kind() != "TensorType"
        if number_first and name in ("add", "mul"):
            a, b = b, a
        elif number_first and name == "sub":
            return self.op("rsub", b, a)
        elif number_first and name == "div":
            return self.op("mul", self.op("reciprocal", b), a)
        return self.op(name, a, b)

    def _is_text(self, item):
        if isinstance(item, Static):
            return isinstance(item.value, str)
        return isinstance(item, ir.Value) and item.type() == types.STR

    def _fold(self, fold, *values):
        plain = (int, float, bool, str, complex, tuple, torch.Size, torch.dtype, torch.device, type(None))
        if not all(isinstance(each, plain) for each in values):
            return None
        try:
            return Static(fold(*values))
        except Exception:  # the program raises it when it gets there
            return None

    def _tuples(self, name, left, right):
        parts = []
        for each in (left, right):
            if isinstance(each, TupleOf):
                parts.append(each.items)
            elif isinstance(each.value, (tuple, torch.Size)):
                parts.append([Static(item) for item in each.value])
            else:
                parts.append(each.value)
        a, b = parts
        if name == "add" and isinstance(a, list) and isinstance(b, list):
            return TupleOf([*a, *b])
        if name == "mul" and isinstance(a, list) and type(b) is int:
            return TupleOf(a * b)
        return None

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            return self.condition(node)[0]
        item = self.visit(node.operand)
        name, fold = {
            ast.USub: ("neg", operator.neg),
            ast.UAdd: ("", operator.pos),
            ast.Invert: ("bitwise_not", operator.invert),
        }[type(node.op)]
        if isinstance(item, Static) and (folded := self._fold(fold, item.value)) is not None:
            return folded
        value = self.value(item)
        if value.type().kind() == "ClassType":
            return self.method(value, {"neg": "__neg__", "": "__pos__", "bitwise_not": "__invert__"}[name], [], {})
        return self.op(name, value) if name else value

    def visit_Compare(self, node):
        if len(node.ops) > 1:
            return self._chain(node)
        op = node.ops[0]
        if isinstance(op, (ast.Is, ast.IsNot)):
            return self.condition(node)[0]
        return self.compare(op, self.visit(node.left), self.visit(node.comparators[0]))

    def _chain(self, node):
        """``a < b < c``: each is computed once, and only as far as needed."""
        left, middle = self.visit(node.left), self.visit(node.comparators[0])
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            first = self.identity(node.ops[0], left, middle, node)
        else:
            first = self.compare(node.ops[0], left, middle)
        rest = ast.copy_location(ast.Compare(ast.Name("$chain", ast.Load()), node.ops[1:], node.comparators[1:]), node)
        ast.copy_location(rest.left, node)
        kept = self.frame.names.get("$chain")
        self.frame.names["$chain"] = middle
        truth = self.truth(first)
        if isinstance(truth, Static):
            result = self.visit(rest) if truth.value else truth
        else:
            made, (then, other) = self.open_if(truth)
            with self.within(then.block):
                inner = self.truth(self.in_frame(then, lambda: self.visit(rest)))
                then.block.registerOutput(self.value(inner))
            with self.within(other.block):
                other.block.registerOutput(self.constant(False))
            result = made.addOutput()
            result.setType(types.BOOL)
        self.frame.names.pop("$chain")
        if kept is not None:
            self.frame.names["$chain"] = kept
        return result

    def compare(self, op, left, right):
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self._contains(left, right)
            if isinstance(op, ast.In):
                return found
            return Static(not found.value) if isinstance(found, Static) else self.op("__not__", found)
        name, turned, fold = _COMPARE[type(op)]
        if isinstance(left, Static) and isinstance(right, Static):
            try:
                return Static(bool(fold(left.value, right.value)))
            except TypeError as error:
                raise self.error(str(error)) from None
        if (isinstance(left, Static) and left.value is None) or (isinstance(right, Static) and right.value is None):
            other = right if isinstance(left, Static) and left.value is None else left
            none = self.is_none(other)
            if name not in ("eq", "ne"):
                raise self.error("None has no order")
            if isinstance(none, Static):
                return Static(none.value == (name == "eq"))
            return none if name == "eq" else self.op("__not__", none)
        a, b = self._sides(left, right)
        if self._tensors(a, b) and a.type().kind() != "TensorType":
            name, a, b = turned, b, a
        kinds = {a.type().kind(), b.type().kind()}
        if name in ("eq", "ne") and "ClassType" not in kinds and types.unify(a.type(), b.type()) is None:
            if not kinds & {"TensorType", "IntType", "FloatType", "BoolType", "NumberType", "AnyType", "ComplexType"}:
                return Static(name == "ne")
        if "ClassType" in kinds:
            of_class = a.type().kind() == "ClassType"
            if of_class and name == "ne" and self.compiler.method_of_class(a.type(), "__ne__", self) is None:
                return self.op("__not__", self.truth(self.method(a, "__eq__", [b], {})))  # as Python has it
            return self.method(a, f"__{name}__", [b], {})
        if kinds == {"EnumType"}:
            return self.compare_enums(name, a, b)
        if name not in ("eq", "ne") and kinds == {"TupleType"} and types.holds_objects(a.type()):
            first, second = self.elements(a), self.elements(b)
            return self._ordered(op, list(zip(first, second)), len(first) - len(second))
        return self.op(name, a, b)

    def _ordered(self, op, pairs, longer):
        """How tuples with objects in them are ordered: by the first elements that differ, else by their lengths."""
        if not pairs:
            if longer:
                return Static(isinstance(op, (ast.Gt, ast.GtE)) == (longer > 0))
            return Static(isinstance(op, (ast.LtE, ast.GtE)))
        (a, b), rest = pairs[0], pairs[1:]
        of_class = a.type().kind() == "ClassType" and self.compiler.method_of_class(a.type(), "__eq__", self) is None
        same = self.op("__is__", a, b) if of_class else self.value(self.truth(self.compare(ast.Eq(), a, b)))
        made, frames = self.open_if(same)
        values = {}
        for frame, emit in zip(frames, (lambda: self._ordered(op, rest, longer), lambda: self.compare(op, a, b))):
            with self.within(frame.block):
                values[id(frame)] = self.value(self.truth(self.in_frame(frame, emit)))
        return self.joined_value(made, values, frames, types.BOOL)

    def _sides(self, left, right):
        """Both as values; a tuple beside a list of sizes is compared as a list."""
        a = self.value(left) if isinstance(left, ir.Value) else None
        b = self.value(right) if isinstance(right, ir.Value) else None
        if a is not None and b is None:
            return a, self.value(right, a.type() if a.type().kind() == "ListType" else None)
        if b is not None and a is None:
            return self.value(left, b.type() if b.type().kind() == "ListType" else None), b
        a, b = self.value(left), self.value(right)
        for empty, other in ((a, b), (b, a)):
            if empty in self.empties and empty.type().kind() == other.type().kind():
                self.value(empty, other.type())  # the elements that it does not have are of the other's type
        return a, b

    def _contains(self, item, whole):
        if isinstance(whole, Static) and isinstance(item, Static):
            return Static(item.value in whole.value)
        parts = whole.items if isinstance(whole, (TupleOf, Items)) else None
        if isinstance(whole, Static) and isinstance(whole.value, (tuple, list, set, frozenset)):
            parts = [Static(each) for each in whole.value]
        if isinstance(whole, Static) and isinstance(whole.value, dict):
            parts = [Static(each) for each in whole.value]
        if parts is None:
            whole = self.value(whole)
            if whole.type().kind() == "ClassType":
                return self.method(whole, "__contains__", [item], {})
            return self.op("__contains__", whole, self.value(item))
        found = Static(False)
        for each in parts:
            one = self.truth(self.compare(ast.Eq(), item, each))
            if isinstance(one, Static):
                if one.value:
                    return one
            else:
                found = one if isinstance(found, Static) else self.op("__or__", found, one)
        return found

    # -- texts ------------------------------------------------------------------------------------------------------------

    def visit_JoinedStr(self, node):
        text, parts = "", []
        for each in node.values:
            if isinstance(each, ast.Constant):
                text += each.value.replace("{", "{{").replace("}", "}}")
                continue
            item = self.visit(each.value)
            if each.format_spec is None and each.conversion in (-1, 115) and isinstance(item, Static):
                text += str(item.value).replace("{", "{{").replace("}", "}}")
                continue
            spec = Static("") if each.format_spec is None else self.visit(each.format_spec)
            if not isinstance(spec, Static) or each.conversion == 97:
                raise NotSupportedError(
                    "a format that is only known at run time is not part of the script language", self.place
                )
            if isinstance(item, Static):
                value = repr(item.value) if each.conversion == 114 else item.value
                text += format(value, spec.value).replace("{", "{{").replace("}", "}}")
                continue
            if each.conversion == 114:
                item = self.value(item)
                is_text = item.type() == types.STR
                item = self.inline(_quoted, [item], {}) if is_text else self.op("repr", item)
            text += "{:" + spec.value + "}" if spec.value else "{}"
            parts.append(self.value(item))
        if not parts:
            return Static(text.replace("{{", "{").replace("}}", "}"))
        return self.formatted("format", [Static(text), *parts])

    def formatted(self, word, items):
        """``"{}".format(...)`` and ``"%d" % ...``: the text and what goes into it."""
        values = [self.value(each) for each in items]
        whole = self.node("prim::TupleConstruct", values, [ir.TupleType([each.type() for each in values])]).output()
        return self.op("prim::format_list" if word == "format" else "prim::percent_format_list", whole)

    def compare_enums(self, name, a, b):
        same = self.op("prim::enum_eq", a, b)
        return same if name == "eq" else self.op("__not__", same)

    def visit_Starred(self, node):
        raise self.error("* stands only in calls, tuples and lists")


def _quoted(text: str):
    """``repr(text)``, but for letters beyond ASCII that print nothing, which stay as they are."""
    mark = '"' if "'" in text and '"' not in text else "'"
    text = text.replace("\\", "\\\\").replace(mark, "\\" + mark)
    text = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t").replace("\x7f", "\\x7f")
    for code in range(32):
        text = text.replace(chr(code), "\\x" + "01"[code // 16] + "0123456789abcdef"[code % 16])
    return mark + text + mark
