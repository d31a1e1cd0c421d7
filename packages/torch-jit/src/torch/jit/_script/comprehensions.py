"""Comprehensions: decided while compiling where the elements are known, else loops that put a list or dict together."""

from __future__ import annotations

from .. import _ir as ir
from . import types
from .errors import NotSupportedError
from .scope import Frame
from .values import Items, Static

__all__ = ["Comprehensions"]


class Comprehensions:
    """Emits comprehensions of lists and dicts."""

    def visit_ListComp(self, node):
        return self._comprehension(node, lambda: self.visit(node.elt))

    def listed(self, node, wanted):
        """A comprehension that is a list of the type that is said."""
        element = wanted.getElementType()
        result = self.node("prim::ListConstruct", [], [wanted]).output()
        wrong = f"List type annotation `{wanted}` did not match the types of the given list elements"

        def turn():
            item = self.typed(node.elt, element)
            with self.telling(wrong):
                self.append(result, self.value(item, element))

        self._over(node.generators, turn)
        return result

    visit_GeneratorExp = visit_ListComp

    def visit_SetComp(self, node):
        raise NotSupportedError("sets are not part of the script language", self.where(node), "use a list")

    def _comprehension(self, node, element):
        """A list: of what is known one by one, or put together at run time."""
        if len(node.generators) == 1:
            part = node.generators[0]
            known = self.unrolled(self.visit(part.iter))
            found = None if known is None else self._known_comprehension(known, part, element)
            if found is not None:
                return self.list_of([self.value(e) for e in found]) if all(map(self.is_value, found)) else Items(found)
        result = self.node("prim::ListConstruct", [], [ir.ListType(types.TENSOR)]).output()
        self.empties.add(result)
        self._over(node.generators, lambda: self.append(result, self.value(element())))
        return result

    def _known_comprehension(self, known, part, element):
        """Items for known elements; None where a condition on them is not known."""
        frame, found = Frame(self.frame), []
        for each in known:
            self.in_frame(frame, lambda each=each: self.assign(part.target, each))
            holds = self.in_frame(frame, lambda: self._holds(part.ifs))
            if holds is None:
                return None
            if holds:
                found.append(self.in_frame(frame, element))
        return found

    def _holds(self, tests):
        for test in tests:
            since = self.last()
            condition, _, _ = self.condition(test)
            if not isinstance(condition, Static):
                self.discard(since)
                return None
            if not condition.value:
                return False
        return True

    def _over(self, parts, turn):
        """Run ``turn`` for each element of the parts of a comprehension, the first outermost."""
        if not parts:
            turn()
            return
        part, rest = parts[0], parts[1:]
        items = self.visit(part.iter)
        known = self.unrolled(items)
        frame = Frame(self.frame, self.block)

        def one(item):
            self.assign(part.target, item)
            self._if_all(part.ifs, lambda: self._over(rest, turn))

        if known is not None:
            for each in known:
                self.in_frame(frame, lambda each=each: one(each))
            return
        length, item = self.indexed(items)
        made = self.node("prim::Loop", [length, self.constant(True)])
        frame.block = block = made.addBlock()
        i = block.addInput("i", types.INT)
        with self.within(block):
            self.in_frame(frame, lambda: one(item(i)))
            block.registerOutput(self.constant(True))

    def _if_all(self, tests, emit):
        """What ``emit`` emits, where all tests hold."""
        if not tests:
            emit()
            return
        condition, yes, _ = self.condition(tests[0])
        if isinstance(condition, Static):
            if condition.value:
                self._if_all(tests[1:], emit)
            return
        _, (then, _) = self.open_if(condition)
        with self.within(then.block):
            self.refine(then, yes)
            self.in_frame(then, lambda: self._if_all(tests[1:], emit))

    def mapped(self, node, wanted):
        """A comprehension that is a dict of the type that is said."""
        result = self.node("prim::DictConstruct", [], [wanted]).output()
        key, inner = wanted.containedTypes()

        def turn():
            made = self.value(self.typed(node.key, key), key)
            self.set_item(result, made, self.value(self.typed(node.value, inner), inner))

        self._over(node.generators, turn)
        return result

    def visit_DictComp(self, node):
        result = self.node("prim::DictConstruct", [], [ir.DictType(types.STR, types.TENSOR)]).output()
        self.empties.add(result)
        self._over(
            node.generators,
            lambda: self.set_item(result, self.value(self.visit(node.key)), self.value(self.visit(node.value))),
        )
        return result
