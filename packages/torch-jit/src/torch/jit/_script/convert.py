"""What a call from Python needs beyond the types that C++ converts: instances of script classes, keywords."""

from __future__ import annotations

from .. import _ir as ir
from .._errors import raised
from . import types
from .interfaces import conform

__all__ = ["Converter", "to_object"]


class Converter:
    """Prepares the arguments of one program."""

    def __init__(self, program, classes, counts):
        self.program, self.classes, self.counts = program, classes, counts

    @classmethod
    def of(cls, program):
        """A converter, or None where the call needs none."""
        classes = [i for i, each in enumerate(program.parameters) if _has_class(each.type)]
        keywords = any(each.keyword for each in program.parameters)
        counts = [(i, each.count) for i, each in enumerate(program.parameters) if each.count]
        return cls(program, classes, counts) if classes or keywords or counts else None

    def call(self, run, args, kwargs):
        try:
            bound = self.program.signature.bind(*args, **kwargs)
        except TypeError as error:  # as C++ has it, where no converter is needed
            raise raised("TypeError")(f"{self.program.name}(): {error}") from None
        bound.apply_defaults()
        values = list(bound.arguments.values())
        for i in self.classes:
            values[i] = to_object(values[i])
            as_interface(values[i], self.program.parameters[i].type)
        for i, count in self.counts:
            if isinstance(values[i], (int, float)):
                values[i] = [values[i]] * count
        return run(*values)


def _has_class(type):
    return type.kind() in ("ClassType", "InterfaceType", "AnyType") or any(
        _has_class(each) for each in type.containedTypes()
    )


def as_interface(value, type):
    """See to it that an object fits the interface that it is to be a value of, alone or in a list."""
    if type.kind() == "ListType":
        for each in value:
            as_interface(each, type.getElementType())
        return
    interface = types.interface_in(type)
    object = getattr(value, "_c", value)
    if interface is not None and isinstance(object, ir.Object):
        conform(object._type(), interface)


def to_object(value):
    """An instance of a script class as an object of programs: its attributes at this moment."""
    if isinstance(value, (list, tuple)) and not types.is_named_tuple(type(value)):
        plain = list if isinstance(value, list) else tuple  # a class of its own may want other arguments
        return plain(to_object(each) for each in value)
    if isinstance(value, dict):
        return {key: to_object(each) for key, each in value.items()}
    cls = types._classes.get(type(value))
    if cls is None or cls.kind() != "ClassType":
        return value
    made = ir.Object(cls)
    for name, *_ in cls.attributes():
        made.setattr(name, to_object(getattr(value, name)))
    return made
