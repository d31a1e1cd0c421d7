"""What an expression is while compiling.

Either a value of the graph, or one of these: something known now (a number, a function, a module), a tuple whose elements
are known one by one, a method with its owner, something that only a loop can take.  They become values of the graph when
the program needs them at run time; until then conditions on them choose a branch while compiling.
"""

from __future__ import annotations

__all__ = ["Bound", "Enumerated", "Invalid", "Items", "Range", "Self", "Slice", "Static", "Super", "TupleOf", "Zipped"]


class Static:
    """A Python object that is known while compiling."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class TupleOf:
    """A tuple by its elements; ``type`` for a named one."""

    __slots__ = ("items", "type")

    def __init__(self, items, type=None):
        self.items, self.type = list(items), type


class Bound:
    """``owner.name``, to be called."""

    __slots__ = ("name", "owner")

    def __init__(self, owner, name):
        self.owner, self.name = owner, name


class Self:
    """A module or object being compiled: its description and the value that holds it at run time."""

    __slots__ = ("concrete", "value")

    def __init__(self, concrete, value):
        self.concrete, self.value = concrete, value


class Super:
    """``super()`` within a method: attributes are looked up in the classes after ``cls``."""

    __slots__ = ("cls", "owner")

    def __init__(self, cls, owner):
        self.cls, self.owner = cls, owner


class Range:
    """``range(start, stop, step)``: three values."""

    __slots__ = ("start", "step", "stop")

    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step


class Enumerated:
    """``enumerate(inner, start)``."""

    __slots__ = ("inner", "start")

    def __init__(self, inner, start):
        self.inner, self.start = inner, start


class Zipped:
    """``zip(*inner)``."""

    __slots__ = ("inner",)

    def __init__(self, inner):
        self.inner = list(inner)


class Slice:
    """``slice(start, stop, step)``: three items."""

    __slots__ = ("start", "step", "stop")

    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step


class Items:
    """Elements that are known one by one, and nothing but iterated over: modules of a list."""

    __slots__ = ("items",)

    def __init__(self, items):
        self.items = list(items)


class Invalid:
    """A name that has no value here; ``why`` says it."""

    __slots__ = ("why",)

    def __init__(self, why):
        self.why = why
