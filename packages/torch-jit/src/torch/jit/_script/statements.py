"""Statements.  Control flow becomes blocks with explicit values: each ``if`` and loop gives what its blocks assign.

A ``return`` inside of blocks sets ``$ret`` and the flag ``$returned``, which are names like any other; what comes after is
moved into the branch that goes on, or runs only where no flag is set.
"""

from __future__ import annotations

import ast
import importlib

from .. import _ir as ir
from . import types
from .errors import NotSupportedError, ScriptError
from .scope import EXITS, FALLS, MAYBE, RAISES, Frame, flags
from .values import Invalid, Static, TupleOf

__all__ = ["Statements"]

GONE = object()

_NO = {
    "Try": "try blocks", "TryStar": "try blocks", "AsyncFor": "async for loops",
    "AsyncWith": "async with statements", "Import": "import statements", "ImportFrom": "import statements",
    "Global": "global variables", "ClassDef": "class definitions", "AsyncFunctionDef": "async function definitions",
    "Match": "match statements",
}  # fmt: skip


class Statements:
    """Emits lists of statements; each says how control leaves it."""

    def body(self, statements):
        """Emit statements in order; returns how they end."""
        for i, statement in enumerate(statements):
            rest = statements[i + 1 :]
            if isinstance(statement, ast.If):
                status, rest = self.if_statement(statement, rest)
            else:
                status = self.statement(statement)
            if status in (EXITS, RAISES) or not rest:
                return status
            if status == MAYBE:
                return self.guarded(lambda rest=rest: self.body(rest))
        return FALLS

    def statement(self, node):
        method = getattr(self, "do_" + type(node).__name__, None)
        before, self.place = self.place, self.where(node)
        try:
            if method is None:
                what = _NO.get(type(node).__name__, type(node).__name__)
                raise NotSupportedError(
                    f"{what} aren't supported in the script language",
                    self.place,
                    "move it into a function marked @torch.jit.ignore",
                )
            return method(node) or FALLS
        except ScriptError as error:
            if not error.places:
                error.places.append(self.place)
            raise
        finally:
            self.place = before

    # -- leaving ----------------------------------------------------------------------------------------------------

    def do_Return(self, node):
        declared = self.function.returns
        item = (
            Static(None)
            if node.value is None
            else self.typed(node.value, declared)
            if declared
            else self.visit(node.value)
        )
        if declared is not None:
            item = self.returned(item, declared)
        self.frame.set("$ret", item)
        self.frame.set("$returned", Static(True))
        return EXITS

    def returned(self, item, declared):
        try:
            if types.is_none(declared) and isinstance(item, Static) and item.value is None:
                return item
            return self.value(item, declared)
        except ScriptError as error:
            got = f" but is actually of type {self.type_of(item)}" if self.is_value(item) else f": {error.message}"
            name = self.function.source.function
            error.message = f"{name}: Return value was annotated as having type {declared}{got}"
            raise

    def do_Break(self, node):
        return self._leave("$broke", "break")

    def do_Continue(self, node):
        return self._leave("$continued", "continue")

    def _leave(self, flag, word):
        if not self.function.loops:
            raise self.error(f"{word} outside of a loop")
        self.frame.set(flag, Static(True))
        return EXITS

    def left(self, names=flags):
        """Whether control has left by one of these flags: Static, or a value."""
        found = Static(False)
        for name in names:
            flag = self.frame.get(name, Static(False))
            if isinstance(flag, Static):
                if flag.value:
                    return Static(True)
            elif isinstance(found, Static):
                found = flag
            else:
                found = self.op("__or__", found, flag)
        return found

    def guarded(self, emit):
        """What ``emit`` emits, where no flag says that control has left."""
        left = self.left()
        if isinstance(left, Static):
            return EXITS if left.value else emit()
        on = self.op("__not__", left)
        made, (then, other) = self.open_if(on)
        with self.within(then.block):
            self.refine(then, list(self.frame.fallen.items()))
            first = self.in_frame(then, emit)
        other.gone = True
        second = self.merge(made, then, first, other, FALLS)
        return EXITS if first in (EXITS, RAISES) else second

    # -- if ---------------------------------------------------------------------------------------------------------

    def open_if(self, condition):
        """A node ``prim::If`` and the frames of its two blocks."""
        made = self.node("prim::If", [condition])
        return made, [Frame(self.frame, made.addBlock()) for _ in range(2)]

    def in_frame(self, frame, emit):
        before, self.frame = self.frame, frame
        try:
            return emit()
        finally:
            self.frame = before

    def if_statement(self, node, rest):
        """Emit an ``if``; returns how it ends and which statements are still to be emitted."""
        before, self.place = self.place, self.where(node.test)
        try:
            condition, yes, no = self.condition(node.test)
            if isinstance(condition, Static):
                self.refine(self.frame, yes if condition.value else no)
                return self.body([*(node.body if condition.value else node.orelse), *rest]), []
            made, frames = self.open_if(condition)
        finally:
            self.place = before
        status = []
        for frame, facts, statements in zip(frames, (yes, no), (node.body, node.orelse)):
            with self.within(frame.block):
                self.refine(frame, facts)
                status.append(self.in_frame(frame, lambda statements=statements: self.body(statements)))
        moved = False
        for i in (0, 1):
            # One branch has left: what follows belongs to the other.
            if rest and status[i] == EXITS and status[1 - i] in (FALLS, MAYBE):
                status[1 - i] = self._moved(frames[1 - i], status[1 - i], rest)
                moved, rest = True, []
        return self.merge(made, frames[0], status[0], frames[1], status[1], facts=not moved), rest

    def _moved(self, frame, status, rest):
        """Emit what follows an ``if`` at the end of the branch that goes on."""
        with self.within(frame.block):
            if status == FALLS:
                return self.in_frame(frame, lambda: self.body(rest))
            return self.in_frame(frame, lambda: self.guarded(lambda: self.body(rest)))

    def merge(self, made, then, first, other, second, facts=True):
        """Make the outputs of an ``if``: what its blocks have assigned.  Returns how the whole ends."""
        gone = [first in (EXITS, RAISES), second in (EXITS, RAISES) or other.gone]
        names = dict.fromkeys([*then.names, *other.names])
        for name in names:
            sides = [self._side(name, *each) for each in ((then, first, gone[0]), (other, second, gone[1]))]
            self.frame.set(name, self._joined(made, name, sides, (then, other)))
        for name in names:
            self._note_fallen(name, [frame for frame, left in zip((then, other), gone) if not left])
        if facts and gone[0] != gone[1]:
            self._carry_facts(other if gone[0] else then)
        if RAISES in (first, second):
            return second if first == RAISES else first
        if first == second == EXITS:
            return EXITS
        left = self.left()
        return MAYBE if not isinstance(left, Static) or left.value else FALLS

    def _note_fallen(self, name, frames):
        """Note the type that an Optional name has where control has not left."""
        item = self.frame.get(name)
        if isinstance(item, ir.Value) and types.is_optional(item.type()) and name not in ("$ret", *flags):
            known = set()
            for frame in frames:
                side = frame.get(name)
                known.add(frame.fallen.get(name) or (self.type_of(side) if self.is_value(side) else None))
            if known == {item.type().getElementType()}:
                self.frame.fallen[name] = known.pop()

    def _carry_facts(self, frame):
        """What is known in the only branch that goes on, is known afterwards."""
        for name, item in frame.refined.items():
            if isinstance(item, Static):
                self.frame.refined[name] = item
            elif name not in frame.names:
                original = self.frame.get(name)
                if original is not None and not isinstance(original, (Static, TupleOf, Invalid)):
                    cast = self.node("prim::unchecked_cast", [original], [item.type()]).output()
                    self.frame.refined[name] = cast

    def _side(self, name, frame, status, gone):
        """What a name is at the end of a branch: an item, GONE (it is not asked for) or None (it has no value)."""
        if status == RAISES:
            return GONE
        if name in flags:
            return frame.get(name, Static(False))
        returned = frame.get("$returned")
        if name != "$ret" and isinstance(returned, Static) and returned.value:
            return GONE
        item = frame.get(name)
        return item if item is not None else GONE if gone or name == "$ret" else None

    def _joined(self, made, name, sides, frames):
        a, b = sides
        if a is None or b is None:
            return Invalid(
                f"{name} is not defined in the {'true' if a is None else 'false'} branch of the if before it"
            )
        if a is GONE and b is GONE:
            return Invalid(f"{name} is not assigned on this way")
        for item in sides:
            if isinstance(item, Invalid):
                return item
        for item, other in ((a, b), (b, a)):
            if item is GONE and isinstance(other, Static):
                return other
        if a is b or (isinstance(a, Static) and isinstance(b, Static) and _same(a.value, b.value)):
            return a
        return self._outputs(
            made, name, *((None if item is GONE else item, frame) for item, frame in zip(sides, frames))
        )

    def _outputs(self, made, name, *sides):
        values = []
        for item, frame in sides:
            with self.within(frame.block):
                try:
                    values.append(None if item is None else self.value(item))
                except ScriptError as error:
                    return Invalid(f"{name} differs in the branches of the if before it: {error.message}")
        known = [each.type() for each in values if each is not None]
        joined = known[0] if len(known) == 1 else self.join(*known, values) or self._within_union(name, known)
        if joined is None and name == "$ret":
            joined = self.function.returns  # each side has been checked against it
        if joined is None:
            if name == "$ret":
                raise self.error(
                    f"Previous return statement returned a value of type {known[0]} but this return statement returns a value of "
                    f"type {known[1]}",
                    "return one type, or annotate Optional or Union",
                )
            before, was = self.frame.get(name), ""
            if before is not None and self.is_value(before) and (of := self.type_of(before)) in known:
                other = known[known[0] == of]
                was = f" ({name} previously had type {of} but is now being assigned to a value of type {other})"
            return Invalid(
                f"Type mismatch: {name} is set to type {known[0]} in the true branch and type {known[1]} in the false branch"
                + was
            )
        for value, (_, frame) in zip(values, sides):
            with self.within(frame.block):
                frame.block.registerOutput(self.uninitialized(joined) if value is None else value)
        output = made.addOutput()
        output.setType(joined)
        self.called(name, output)
        return output

    def _within_union(self, name, known):
        """The union of types that a parameter has after the branches; None where it is not declared as one of them."""
        declared = self.function.unions.get(name) or self.function.annotated.get(name)
        if declared is None or not all(each.isSubtypeOf(declared) for each in known):
            return None
        return types.any_of(*known)

    def join(self, one, two, values):
        """The type of both; a list that was empty so far takes the other's type."""
        if one != two and one.kind() == two.kind() == "ListType":
            for value, other in ((values[0], two), (values[1], one)):
                if value in self.empties:
                    self.empties.discard(value)
                    value.setType(other)
                    return other
        return types.unify(one, two)

    # -- plain statements -------------------------------------------------------------------------------------------

    def do_Pass(self, node):
        return FALLS

    def do_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return FALLS
        self.visit(node.value)
        return FALLS

    def do_Nonlocal(self, node):
        if not self.function.library:
            raise NotSupportedError("nonlocal variables aren't supported in the script language", self.place)
        self.function.shared.update(node.names)
        return FALLS

    def do_ImportFrom(self, node):
        if not self.function.library:
            raise NotSupportedError(
                "import statements aren't supported in the script language", self.place, "import it outside"
            )
        package = self.function.source.lookup("__package__", "")
        module = importlib.import_module("." * node.level + (node.module or ""), package)
        for each in node.names:
            self.frame.set(each.asname or each.name, Static(getattr(module, each.name)))
        return FALLS

    def do_Delete(self, node):
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.frame.set(target.id, Invalid(f"undefined value {target.id}: it was deleted"))
            elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
                raise self.error("del statements only support deletion at a single index", "slice what is to stay")
            elif isinstance(target, ast.Subscript):
                value = self.value(self.visit(target.value))
                if value.type().kind() == "ClassType":
                    self.method(value, "__delitem__", [self.visit(target.slice)], {})
                else:
                    self.op("Delete", value, self.value(self.visit(target.slice)))
            else:
                raise self.error("del statements are only supported for list and dict items and variables")
        return FALLS

    def do_Raise(self, node):
        if node.exc is None:
            raise self.error("raise needs an exception", "the script language has no except")
        kind, message = "Exception", Static("")
        exception = node.exc
        call = isinstance(exception, ast.Call)
        known = self.resolve(exception.func if call else exception)
        if known is None and isinstance(exception, (ast.Name, ast.Call)):
            item = self.visit(exception.func if call else exception)
            known = item.value if isinstance(item, Static) else None
        if isinstance(known, type) and issubclass(known, BaseException):
            kind = known.__name__ if known.__module__ == "builtins" else f"{known.__module__}.{known.__qualname__}"
        elif not call:
            raise self.error("exceptions must derive from BaseException: raise a class of exceptions or a call of one")
        if call and exception.args:
            message = self.message(exception.args[0])
        self.node("prim::RaiseException", [self.value(message), self.constant(kind)])
        return RAISES

    def message(self, expression):
        """A text for an error: what the script language cannot say of it, as it stands in the source."""
        since = self.last()
        try:
            item = self.visit(expression)
            if isinstance(item, Static):
                return Static(str(item.value))
            return item if self.type_of(item) == types.STR else self.op("str", self.value(item))
        except ScriptError:
            self.discard(since)
            if isinstance(expression, ast.JoinedStr):
                parts = [
                    str(each.value) if isinstance(each, ast.Constant) else "{" + ast.unparse(each.value) + "}"
                    for each in expression.values
                ]
                return Static("".join(parts))
            return Static(ast.unparse(expression))

    def do_Assert(self, node):
        condition, yes, _ = self.condition(node.test)
        if isinstance(condition, Static) and condition.value:
            self.refine(self.frame, yes)
            return FALLS
        if isinstance(condition, Static):
            message = Static("") if node.msg is None else self.message(node.msg)
            self.node("prim::RaiseException", [self.value(message), self.constant("AssertionError")])
            return RAISES
        made, (then, other) = self.open_if(condition)
        with self.within(other.block):
            message = self.in_frame(other, lambda: Static("") if node.msg is None else self.message(node.msg))
            self.node("prim::RaiseException", [self.value(message), self.constant("AssertionError")])
        self.refine(self.frame, yes)
        return FALLS

    def do_FunctionDef(self, node):
        if self.function.library:
            self.frame.set(node.name, Static(Local(node)))
            return FALLS
        raise NotSupportedError(
            "function definitions aren't supported within a function of the script language (closures)",
            self.place,
            "define it at the top level of the module and pass what it needs",
        )


class Local:
    """A function within a function of a library: compiled into its callers, with the names around it."""

    def __init__(self, tree):
        self.tree = tree


def _same(a, b):
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b) and not isinstance(a, (list, dict))
    except Exception:  # what has no truth is not the same
        return False
