"""Compiles what stands in the texts of archives: calls of operators, of functions and classes of the archive, and forms such as
``uninitialized(Tensor)``.  Anything else is refused; nothing is run.
"""

from __future__ import annotations

import ast
import functools

import torch

from .. import _ir as ir
from . import contexts, library, operators, quantized, types
from .compiler import Emitter
from .errors import ScriptError
from .library import FUNCTIONS, SPECIAL
from .scope import FALLS, Function
from .spelling import ROWS
from .values import Bound, Static, TupleOf

__all__ = ["BUILTINS", "FORMS", "Constants", "Operators", "Path", "TextEmitter", "TextFunction"]

BUILTINS = {
    each.__name__: each
    for each in (int, float, bool, str, complex, range, print, len, getattr, abs, min, max, round, ord, chr)
}


class Operators:
    """``torch`` and ``ops.prim`` in the text: every attribute is an operator."""

    def __init__(self, space):
        self.space = space


class Operator:
    """``torch.add``: called with values."""

    def __init__(self, space, name):
        self.space, self.name = space, name


class Constants:
    """``CONSTANTS.c0``: the tensors beside the text."""

    def __init__(self, values):
        self.values = values


class Path:
    """``__torch__.a.b``: a part of a name."""

    def __init__(self, code, name):
        self.code, self.name = code, name


class Form:
    """``uninitialized`` and ``unchecked_cast``: calls whose first argument is a type."""

    def __init__(self, name):
        self.name = name


class TextFunction:
    """A function of an archive, compiled when something calls it."""

    def __init__(self, code, name, source):
        self.code, self.name, self.source = code, name, source

    _program = None

    def program(self):
        if self._program is None:
            self.code.compile(self.name, self.source, self.__dict__, "_program")
        if self._program.returns is None:
            raise ScriptError(f"{self.name} calls itself and does not say what it returns")
        return self._program


class TextEmitter(Emitter):
    """Compiles a text of an archive: only what such texts hold."""

    reads_text = True

    def _of_python(self, value, name):
        if self.function.library:
            return super()._of_python(value, name)
        if isinstance(value, Operators):
            if value.space == "":
                return Static(Operators(name))
            return Static(Operator(value.space, name))
        if isinstance(value, Operator) and value.name == "autograd":
            return Static(Operator(value.space, f"autograd.{name}"))
        if isinstance(value, Constants):
            try:
                return self.constant(value.values[int(name[1:])])
            except (ValueError, IndexError):
                raise self.error(f"the archive has no constant {name}") from None
        if isinstance(value, Path):
            return self._of_path(value, name)
        if isinstance(value, ir.Type) and value.kind() == "EnumType":
            members = self.function.source.code.enums[value.qualified_name()].__members__
            if name not in members:
                raise self.error(f"{value} has no member {name!r}")
            return self.graph.insertConstant(members[name], value)
        if name == "__new__" and (
            isinstance(value, contexts.ContextClass) or (isinstance(value, ir.Type) and value.kind() == "ClassType")
        ):
            return Static(Form("__new__"))
        if isinstance(value, contexts.Context) and name == "__init__":
            return Static(value.init)
        if isinstance(value, ir.Type) and value.kind() == "ClassType":  # hooks stand in a file of their class's name
            code = self.function.source.code
            found = code.find(f"{code.written[value.qualified_name()]}.{name}")
            if isinstance(found, TextFunction):
                return Static(found)
        if isinstance(value, str):
            return Bound(self.value(Static(value)), name)
        raise self.error(f"a text of an archive asks {type(value).__name__} for {name!r}")

    def _of_path(self, path, name):
        full = f"{path.name}.{name}"
        found = contexts.class_of(full, path.code) or path.code.find(full)
        return Static(Path(path.code, full) if found is None else found)

    def call_python(self, fn, args, kwargs):
        if self.function.library:
            return super().call_python(fn, args, kwargs)
        if isinstance(fn, Operator):
            return self._operator_call(fn, args, kwargs)
        if isinstance(getattr(fn, "__self__", None), contexts.Context):
            return fn(args, kwargs)
        if isinstance(fn, Form) and isinstance(args[0].value, contexts.ContextClass):
            return Static(contexts.Context(args[0].value))
        if isinstance(fn, Form):
            return self.node("prim::CreateObject", [], [args[0].value]).output()
        if isinstance(fn, TextFunction):
            return self.call_function(fn.program(), args, kwargs)
        if isinstance(fn, ir.Type):
            if fn.kind() == "TupleType":
                inner = fn.containedTypes()
                return TupleOf([self.value(item, want) for item, want in zip(args, inner)], fn)
            if fn.kind() == "EnumType":
                raise self.error("an enum is not called in an archive")
        if id(fn) in FUNCTIONS and fn in BUILTINS.values():
            return FUNCTIONS[id(fn)][1](self, *args, **kwargs) or Static(None)
        raise self.error("a text of an archive calls what is no function of it")

    def _operator_call(self, operator, args, kwargs):
        kind = f"{operator.space or 'aten'}::{operator.name}"
        if quantized.has(kind):
            return quantized.emit(self, kind, args, kwargs)
        if operator.space == "quantized":
            return self._absent_operator(kind)
        if operator.space in ("", "aten"):
            if operator.name in _TO_LISTS:
                args = [self.value(each) if isinstance(each, TupleOf) else each for each in args]
            if operator.name == "device" and len(args) == 1 and isinstance(args[0], Static):
                return Static(torch.device(args[0].value))
            if operator.name == "wait":
                value = self.value(args[0])
                return self.node("aten::wait", [value], [value.type().getElementType()]).output()
            if operator.name == "complex" and all(isinstance(each, Static) for each in args):
                return Static(complex(*(each.value for each in args)))
            if operator.name in ("format", "percentFormat"):
                text, *given = args
                if operator.name == "percentFormat" and len(given) == 1:  # several are a tuple, as after a %
                    given = self.unrolled(given[0]) or given
                return self.formatted(operator.name, [text, *given])
            if operator.name in ("eq", "ne") and all(self.type_of(each).kind() == "EnumType" for each in args):
                return self.compare_enums(operator.name, *map(self.value, args))
            if args and isinstance(args[0], ir.Value) and args[0].type().kind() == "GeneratorType":
                return self.python_operator(operator.name, operators.operator(operator.name), args, kwargs)
            if operator.name in _LAYERS and len(args) > 3 and self.type_of(args[3]).kind() == "ListType":
                packed = operators.operator(f"packed_{operator.name}")  # (data, batch_sizes, hx, params, ...)
                return self.python_operator(operator.name, packed, args, kwargs)
            kwargs = {name: item for name, item in kwargs.items() if not (name in _IGNORED and self._is_absent(item))}
            if not library.has_row(operator.name) and operator.name not in ROWS:
                fn = operators.operator(operator.name)
                if fn is not None:
                    return self._composed(operator.name, fn, args, kwargs)
                return self._absent_operator(kind)
            historic = self._historic(operator.name, args, kwargs)
            if historic is not None:
                return historic
            name = ROWS.get(operator.name, operator.name)
            args = args or [Static(each) for each in _UNSAID.get(name, ())]
            by_name = _BY_NAME.get(operator.name, {})
            kwargs.update({by_name[i]: item for i, item in enumerate(args) if i in by_name})
            return self.row(name, [item for i, item in enumerate(args) if i not in by_name], kwargs)
        if operator.space == "prim" and operator.name == "RaiseException":
            kind = args[1].value if len(args) > 1 and isinstance(args[1], Static) else None
            kind = (kind or "RuntimeError").removeprefix("builtins.")
            self.node("prim::RaiseException", [self.value(args[0]), self.constant(kind)])
            return Static(None)
        if operator.space == "prim" and operator.name.removeprefix("Enum").lower() in ("name", "value"):
            return self.attribute(self.value(args[0]), operator.name.removeprefix("Enum").lower())
        kind = f"{operator.space}::{operator.name}"
        if operator.space == "prim" and operator.name.startswith("is_") and not library.has_row(kind):
            return Static(False)  # a kind of tensor that there is none of here
        result = self.op(kind, *(self.value(each) for each in args))
        return TupleOf(result) if isinstance(result, (tuple, list)) else Static(None) if result is None else result

    def _composed(self, name, fn, args, kwargs):
        """An operator that is a function of Python here, compiled into this place; where that cannot be done, called."""
        since, frame = self.last(), self.frame
        for way in (self.inline, self.by_cases):
            try:
                return way(library.unwrapped(fn), args, kwargs)
            except (ScriptError, RecursionError):
                self.frame = frame
                self.discard(since)
        return self.python_operator(name, fn, args, kwargs)

    def _historic(self, name, args, kwargs):
        """What an operator meant in the archive's version of the format; None where it has not changed."""
        version = self.function.source.code.version
        if version < 4 and name in ("div", "div_") and len(args) == 2 and "rounding_mode" not in kwargs:
            return self._divided(name, args, kwargs)
        if version < 5 and name == "full" and isinstance(kwargs.get("dtype"), (type(None), Static)):
            filling = self.value(args[1])
            if self._is_absent(kwargs.get("dtype", Static(None))) and filling.type() in (types.INT, types.BOOL):
                return self.row(name, [args[0], self.op("Float", filling)], kwargs)
        return None

    def _divided(self, name, args, kwargs):
        """Until version 4 the quotient of integers is one, cut off towards zero."""
        values = [self.value(each) for each in args]
        tensors = [each for each in values if each.type().kind() == "TensorType"]
        if not tensors or any(each.type() in (types.FLOAT, types.COMPLEX) for each in values):
            return None
        tensors += [self.value(kwargs["out"])] if "out" in kwargs else []
        floats = [self.op("is_floating_point", each) for each in tensors]
        made, frames = self.open_if(functools.reduce(lambda one, two: self.op("__or__", one, two), floats))
        found = {}
        for frame, more in zip(frames, ({}, {"rounding_mode": Static("trunc")})):
            with self.within(frame.block):
                found[id(frame)] = self.value(self.row(name, values, {**kwargs, **more}))
        return self.joined_value(made, found, frames)

    def _absent_operator(self, name):
        """An operator that there is none of: a program that gets there raises, others are not kept from running."""
        text = f"the archive calls the operator {name}, which this stack does not have"
        self.node("prim::RaiseException", [self.constant(text), self.constant("NotImplementedError")])
        return self.uninitialized(types.TENSOR)

    @staticmethod
    def _is_absent(item):
        """None, False or 0: what these arguments are unless something special is asked for."""
        return isinstance(item, Static) and not item.value

    def do_FunctionDef(self, node):
        if self.function.library:
            return super().do_FunctionDef(node)
        self.frame.set(node.name, Static(Local(node)))
        return FALLS

    def forked_local(self, tree):
        """``fork`` of a function that sees the names around it."""
        names = sorted({each.id for each in ast.walk(tree) if isinstance(each, ast.Name)})
        items = {name: self.frame.get(name) for name in names if self.frame.get(name) is not None}

        def emit(inner, values):
            inner.function = Function(inner.function.source)
            inner.frame.names.update(zip(items, values))
            inner.body(tree.body)
            return inner.frame.get("$ret")

        return self.forked(emit, list(items.values()))


def _refuse(name, what):
    """What the language has and the texts of archives have not; functions of torch that are compiled into one may."""
    above = getattr(Emitter, name)

    def visit(self, node):
        if not self.function.library:
            raise self.error(f"a text of an archive has {what}")
        return above(self, node)

    setattr(TextEmitter, name, visit)


for _name in ("visit_BinOp", "visit_ListComp", "visit_GeneratorExp", "visit_DictComp", "visit_JoinedStr"):
    _refuse(_name, "calls of operators, and no signs for them")
_refuse("do_AugAssign", "no assignments in place")


class Local:
    """A function without arguments within a function: what ``fork`` takes."""

    def __init__(self, tree):
        self.tree = tree


# Arguments that stand at a place there and are given by name here.
_BY_NAME = {
    **{name: {2: "dtype"} for name in ("softmax", "log_softmax", "_safe_softmax")},
    **{name: {2: "alpha"} for name in ("add", "add_", "sub", "sub_", "rsub")},
}
_TO_LISTS = frozenset({"append", "insert", "_set_item"})  # a tuple becomes an element, as it is
_UNSAID = {"is_autocast_enabled": ["cuda"]}  # what calls without arguments mean
_IGNORED = frozenset({"layout", "pin_memory", "non_blocking"})  # arguments that our rows do not have
_LAYERS = frozenset({"gru", "lstm", "rnn_relu", "rnn_tanh"})  # of packed sequences they are functions of Python


def _form(word):
    """A special form by its place in the tables of library.py."""
    marker = Form(word)

    def handler(emitter, node):
        if word == "fork":
            target = emitter.visit(node.args[0])
            if isinstance(target, Static) and isinstance(target.value, Local):
                return emitter.forked_local(target.value.tree)
            return emitter.forked(
                lambda inner, items: inner.call(target, items, {}), emitter.elements_of(node.args[1:])
            )
        wanted = emitter.function.source.code.type_of(node.args[0])
        if word == "uninitialized":
            return emitter.uninitialized(wanted)
        annotated = word == "annotate"
        value = emitter.value(emitter.typed(node.args[1], wanted) if annotated else emitter.visit(node.args[1]))
        if annotated and value.type() == types.TENSOR:
            value = emitter.op("Bool", value) if wanted == types.BOOL else emitter.number_of(value, wanted)
        if types.is_none(value.type()) and types.is_none(wanted):
            return Static(None)
        return value if value.type() == wanted else emitter.node("prim::unchecked_cast", [value], [wanted]).output()

    SPECIAL[id(marker)] = marker, handler
    return marker


FORMS = {word: _form(word) for word in ("annotate", "unchecked_cast", "uninitialized", "fork")}


def _ask(emitter, node):
    """``isinstance(x, T)`` and ``isinstance(x, [T, U])``."""
    item = emitter.value(emitter.visit(node.args[0]))
    listed = node.args[1].elts if isinstance(node.args[1], (ast.List, ast.Tuple)) else [node.args[1]]
    code = emitter.function.source.code
    if isinstance(listed[0], ast.Name) and listed[0].id in ("list", "tuple", "dict"):
        return emitter.op(f"prim::is_{listed[0].id}", item)
    made = emitter.node("prim::isinstance", [item], [types.BOOL])
    made.ty_("types", ir.TupleType([code.type_of(each) for each in listed]))
    return made.output()


_ISINSTANCE = Form("isinstance")
SPECIAL[id(_ISINSTANCE)] = _ISINSTANCE, _ask
FORMS["isinstance"] = _ISINSTANCE
