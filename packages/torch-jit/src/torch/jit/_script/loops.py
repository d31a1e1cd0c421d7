"""Loops: ``prim::Loop`` with the names that the body assigns as carried values; loops over modules and tuples unrolled."""

from __future__ import annotations

import ast
import copy
import enum

from .. import _ir as ir
from . import types
from .errors import ScriptError
from .scope import EXITS, FALLS, MAYBE, RAISES, Frame, assigned
from .values import Enumerated, Invalid, Items, Range, Self, Static, TupleOf, Zipped

__all__ = ["Loops"]

MOST_TURNS = 2**63 - 1


class _Breaks(ast.NodeTransformer):
    """Puts a statement before each ``break`` that ends this loop."""

    def __init__(self, statement):
        self.statement, self.found = statement, False

    def visit_Break(self, node):
        self.found = True
        return [ast.copy_location(self.statement(False), node), node]

    def visit_For(self, node):
        node.orelse = [each for statement in node.orelse for each in self._all(statement)]
        return node

    visit_While = visit_For

    def _all(self, statement):
        made = self.visit(statement)
        return made if isinstance(made, list) else [made]

    def body(self, statements):
        return [each for statement in statements for each in self._all(statement)]


def _without_else(node):
    """Statements that do what a loop with an ``else`` does: a name says whether the loop has run to its end."""
    name = f"_ran_to_its_end_{node.lineno}_{node.col_offset}"

    def says(truth):
        return ast.fix_missing_locations(
            ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(truth)), node)
        )

    loop = copy.deepcopy(node)
    breaks = _Breaks(says)
    loop.body, loop.orelse = breaks.body(loop.body), []
    if not breaks.found:
        return [loop, *node.orelse]
    whole = ast.If(ast.Name(name, ast.Load()), node.orelse, [])
    return [says(True), loop, ast.fix_missing_locations(ast.copy_location(whole, node))]


class Loops:
    """Emits ``for``, ``while`` and comprehensions."""

    def do_While(self, node):
        if node.orelse:
            return self.body(_without_else(node))
        condition, yes, _ = self.condition(node.test)
        if isinstance(condition, Static) and not condition.value and not self._changes(node):
            return FALLS
        names = assigned(node.body)
        if isinstance(condition, Static):
            # What is known before the loop is not what is known in it: the condition is computed again as values.
            self._spill(names)
            condition, yes, _ = self.condition(node.test)
        return self.loop(node, names, self.constant(MOST_TURNS), condition, None, node.body, node.test)

    def _changes(self, node):
        inside = {each.id for each in ast.walk(node.test) if isinstance(each, ast.Name)}
        return bool(inside & set(assigned(node.body)))

    def _spill(self, names):
        for name in names:
            item = self.frame.get(name)
            if isinstance(item, (Static, TupleOf)) and not (isinstance(item, Static) and item.value is None):
                try:
                    self.frame.set(name, self.value(item))
                except ScriptError:
                    continue

    def do_For(self, node):
        if node.orelse:
            return self.body(_without_else(node))
        items = self.visit(node.iter)
        known = self.unrolled(items)
        if known is not None:
            return self._unroll(known, node)
        length, item = self.indexed(items)
        bind = lambda i: self.assign(node.target, item(i))
        targets = assigned([node.target])
        names = list(dict.fromkeys([*assigned(node.body), *targets]))
        return self.loop(node, names, length, Static(True), bind, node.body, None, targets)

    # -- what can be iterated over ----------------------------------------------------------------------------------

    def unrolled(self, items):
        """The elements, where they are known one by one and cannot be one typed list; else None."""
        if isinstance(items, (Items, TupleOf)):
            return items.items
        if isinstance(items, Self):
            return self.children(items)
        if isinstance(items, Static) and isinstance(items.value, (tuple, list, range, dict)):
            return [Static(each) for each in items.value]
        if isinstance(items, Static) and isinstance(items.value, type) and issubclass(items.value, enum.Enum):
            return [Static(each) for each in items.value]
        if isinstance(items, ir.Value) and items.type().kind() == "TupleType":
            return self.elements(items)
        if isinstance(items, Range) and self.function.library:  # over the dims of a layer
            parts = (items.start, items.stop, items.step)
            if all(isinstance(each, Static) for each in parts):
                turns = range(*(each.value for each in parts))
                return [Static(each) for each in turns] if len(turns) <= 8 else None
        if isinstance(items, Enumerated):
            inner = self.unrolled(items.inner)
            if inner is None:
                return None
            if not isinstance(items.start, Static):
                raise self.error("enumerate over modules needs a start that is known while compiling")
            return [TupleOf([Static(items.start.value + i), each]) for i, each in enumerate(inner)]
        if isinstance(items, Zipped):
            inner = [self.unrolled(each) for each in items.inner]
            if all(each is None for each in inner):
                return None
            count = min(len(each) for each in inner if each is not None)
            return [
                TupleOf(
                    [self.element(whole, i) if each is None else each[i] for whole, each in zip(items.inner, inner)]
                )
                for i in range(count)
            ]
        return None

    def element(self, items, i):
        """The i-th element of what is iterated over at run time."""
        return self.indexed(items)[1](self.constant(i))

    def indexed(self, items):
        """How many turns a loop takes, and the function that gives the element of a turn."""
        if isinstance(items, Range):
            return self._range(items)
        if isinstance(items, Enumerated):
            length, item = self.indexed(items.inner)
            start = items.start
            first = isinstance(start, Static) and start.value == 0
            return length, lambda i: TupleOf([i if first else self.op("add", i, self.value(start)), item(i)])
        if isinstance(items, Zipped):
            pairs = [self.indexed(each) for each in items.inner]
            lengths = [length for length, _ in pairs]
            length = lengths[0]
            for each in lengths[1:]:
                length = self.op("prim::min", length, each)
            return length, lambda i: TupleOf([item(i) for _, item in pairs])
        if isinstance(items, Static) and isinstance(items.value, str):
            items = self.value(items)
        if isinstance(items, Static):
            raise self.error(f"'{type(items.value).__name__}' object is not iterable: {self.describe(items)}")
        if not isinstance(items, ir.Value):
            raise self.error(f"{self.describe(items)}: object is not iterable")
        kind = items.type().kind()
        if kind == "DictType":
            items = self.op("keys", items)
        elif kind == "TensorType":
            return self.op("len", items), lambda i: self.op("select", items, 0, i)
        elif kind == "StringType":
            return self.op("len", items), lambda i: self.op("__getitem__", items, i)
        elif kind != "ListType":
            raise self.error(f"'{items.type()}' object is not iterable")
        return self.op("len", items), lambda i: self.op("__getitem__", items, i)

    def _range(self, items):
        parts = [self.value(each, types.INT) for each in (items.start, items.stop, items.step)]
        plain = all(isinstance(each, Static) and each.value == n for each, n in ((items.start, 0), (items.step, 1)))
        if plain:
            return parts[1], lambda i: i
        length = self.op("__range_length", *parts)
        return length, lambda i: self.op("__derive_index", i, parts[0], parts[2])

    # -- unrolled ---------------------------------------------------------------------------------------------------

    def _unroll(self, items, node):
        function = self.function
        kept = {name: self.frame.get(name, Static(False)) for name in ("$broke", "$continued")}
        function.loops += 1
        self.frame.set("$broke", Static(False))
        try:
            status = self._turns(list(items), node)
        finally:
            function.loops -= 1
            for name, flag in kept.items():
                self.frame.set(name, flag)
        if status == RAISES:
            return RAISES
        left = self.left(("$returned",))
        return (EXITS if left.value else FALLS) if isinstance(left, Static) else MAYBE

    def _turns(self, items, node):
        for i, item in enumerate(items):
            self.frame.set("$continued", Static(False))
            self.assign(node.target, item)
            status = self.body(node.body)
            self.frame.set("$continued", Static(False))
            left = self.left(("$returned", "$broke"))
            if status == RAISES or (isinstance(left, Static) and left.value):
                return status
            if not isinstance(left, Static):
                rest = items[i + 1 :]
                return self.guarded(lambda rest=rest: self._turns(rest, node)) if rest else status
        return FALLS

    # -- a loop at run time -----------------------------------------------------------------------------------------

    def loop(self, node, names, most, condition, bind, statements, test, targets=()):
        """Emit a ``prim::Loop``; ``targets`` are the names that a turn begins with.

        A name may turn out to be of a wider type at the end of the body than before it: then the body is compiled
        again with that type.
        """
        carried = [name for name in names if self._carries(self.frame.get(name))]
        wanted = {}
        first = condition if isinstance(condition, ir.Value) else self.constant(bool(condition.value))
        start = {}
        for name in carried:
            item = self.frame.get(name)
            start[name] = self.value(item)
        for _ in range(8):
            made = self.node("prim::Loop", [most, first, *(start[name] for name in carried)])
            again, ended = self._loop_body(made, carried, start, wanted, bind, statements, test, targets)
            if not again:
                break
            made.destroy()
            carried = [name for name in carried if again.get(name, name) is not None]
            wanted.update(again)
        else:
            raise self.error("the types of the names in this loop do not settle", "annotate them before the loop")
        for name, output in zip(carried, made.outputs()):
            self.frame.set(name, output)
            self.called(name, output)
        inside = [name for name in (*assigned(statements), *targets) if self.frame.get(name) is None]
        inside += [name for name, type in wanted.items() if type is None]
        for name in inside:
            self.frame.set(
                name, Invalid(f"undefined value {name}: it has none where the loop before has not run at all")
            )
        endless = test is not None and isinstance(condition, Static) and not self._changes(node)
        return self._after(made, ended, endless)

    def _carries(self, item):
        if item is None or isinstance(item, Invalid):
            return False
        return isinstance(item, (ir.Value, Static, TupleOf)) and not (
            isinstance(item, Static) and (callable(item.value) and not isinstance(item.value, ir.Type))
        )

    def _loop_body(self, made, carried, start, wanted, bind, statements, test, targets):
        block = made.addBlock()
        turn = block.addInput("i", types.INT)
        frame = Frame(self.frame, block)
        for flag in ("$broke", "$continued"):
            frame.names[flag] = Static(False)
        for name in carried:
            type = wanted.get(name, start[name].type())
            inside = block.addInput(name, type)
            frame.names[name] = Static(None) if types.is_none(type) else inside
        self.function.loops += 1
        try:
            with self.within(block):
                status = self.in_frame(frame, lambda: self._turn(turn, bind, statements))
                return self.in_frame(
                    frame, lambda: self._end(made, block, frame, carried, start, wanted, status, test, targets)
                )
        finally:
            self.function.loops -= 1

    def _turn(self, turn, bind, statements):
        if bind is not None:
            bind(turn)
        return self.body(statements)

    def _end(self, made, block, frame, carried, start, wanted, status, test, targets):
        """The returns of the body: whether to go on, and the carried values.  First the types to try again with."""
        again, values = {}, {}
        for name in carried:
            now = wanted.get(name, start[name].type())
            item = frame.get(name)
            if isinstance(item, Invalid) or status == RAISES:
                values[name] = self.uninitialized(now)
                continue
            value = values[name] = self.value(item, now if self._fits_empty(item, now) else None)
            if not value.type().isSubtypeOf(now):
                joined = self._widen(name, now, value, start[name])
                if joined is None and name in targets:
                    again[name] = None  # it is not known after the loop
                    continue
                if joined is None:
                    raise self.error(
                        f"Variable '{name}' previously had type {now} but is now being assigned to a value of type "
                        f"{value.type()} in the loop",
                        "give it one type",
                    )
                again[name] = joined
        if again:
            return again, None
        stop = self.left(("$returned", "$broke"))
        if isinstance(stop, Static):
            on = self.constant(not stop.value) if stop.value or test is None else self._again(test)
        else:
            on = self.op("__not__", stop)
            if test is not None:
                inner, (then, other) = self.open_if(on)
                with self.within(then.block):
                    then.block.registerOutput(self.in_frame(then, lambda: self._again(test)))
                with self.within(other.block):
                    other.block.registerOutput(self.constant(False))
                on = inner.addOutput()
                on.setType(types.BOOL)
        block.registerOutput(on)
        for name in carried:
            block.registerOutput(values[name])
            made.addOutput().setType(wanted.get(name, start[name].type()))
        return None, (frame.get("$broke"), self._returned(block, frame))

    def _fits_empty(self, item, type):
        return isinstance(item, ir.Value) and item in self.empties and type.kind() in ("ListType", "DictType")

    def _widen(self, name, now, value, start):
        if start in self.empties and value.type().kind() == now.kind():
            self.empties.discard(start)
            start.setType(value.type())
            return value.type()
        return types.unify(now, value.type())

    def _again(self, test):
        condition, _, _ = self.condition(test)
        return self.constant(bool(condition.value)) if isinstance(condition, Static) else condition

    def _returned(self, block, frame):
        """A return within the body: its flag and value are carried out of the loop, never into a turn."""
        flag = frame.names.get("$returned")
        if flag is None or (isinstance(flag, Static) and not flag.value):
            return None
        values = [self.value(flag), self.value(frame.get("$ret"))]
        for value in values:
            block.addInput("", value.type())
            block.registerOutput(value)
        return values[1].type()

    def _after(self, made, ended, endless):
        """How control leaves a loop, and the values of a return in it."""
        broke, returned = ended
        endless = endless and isinstance(broke, Static) and not broke.value
        if returned is None:
            return RAISES if endless else FALLS
        with self.before(made):
            start = [self.constant(False), self.uninitialized(returned)]
        for value, type in zip(start, (types.BOOL, returned)):
            made.addInput(value)
            made.addOutput().setType(type)
        flag, value = list(made.outputs())[-2:]
        self.frame.set("$ret", value)
        self.frame.set("$returned", Static(True) if endless else flag)
        return EXITS if endless else MAYBE
