"""What a program reads from outside, as it is observed: each value with where it comes from, and its guards."""

from __future__ import annotations

import collections

import torch
from torch.jit import _ir as ir

from ._guards import is_plain, layout_of, writes_to
from ._kinds import kind_of
from ._tables import tensor_classes


class Outside:
    """The half of an observer that knows where values come from."""

    def outside_value(self, value, source, of_arguments=False):
        """Guard a value that the function reads from outside, and remember where it comes from."""
        if self.reason is not None:
            return value
        guards = self.guards
        if is_plain(value):
            guards.check("equal", source, value)
            if type(value) in (int, float):
                self.plain[place_of(source)] = value, source
            return value
        seen = self.known.get(id(value))
        if seen is not None:
            if seen[1] != source:
                guards.check("same", source, guards.slot(seen[1]))
            return value
        self.known[id(value)] = (value, source, of_arguments)
        guards.slot(source)
        self.outside.add(id(value))
        if isinstance(value, torch.Tensor):
            return self._tensor(value, source)
        kind = kind_of(value, of_arguments)
        if kind is None:
            self.stop(f"{_say(source)} is a {_class_of(value)}, which is not followed")
        elif (why := kind.why_not(value)) is not None:
            if kind.strange:
                self.strange = type(value)
            self.stop(f"{_say(source)} {why}")
        else:
            for check, *what in kind.guards(value):
                guards.check(check, source, *what)
            if kind.loose:
                self.loose[id(value)] = source
            for part in kind.parts(value):
                self.outside_value(part.value, (part.step, source, part.name), of_arguments and part.moves)
        return value

    def _tensor(self, value, source):
        if type(value) is not torch.Tensor and type(value) not in tensor_classes():
            self.strange = type(value)
            self.stop(f"{_say(source)} is a tensor of the class {type(value).__qualname__}")
            return value
        if value.layout is not torch.strided or value.device.type == "meta" or getattr(value, "is_nested", False):
            self.stop(f"{_say(source)} is a tensor of layout {value.layout} on {value.device}")
            return value
        guards = self.guards
        guards.check("tensor", source, self.layout(value, source))
        if self.changes_with_calls(source):
            self.layouts[source], self.known_at[source] = layout_of(value), value
        slot = guards.slot(source)
        v = self.graph.addInput(f"input_{len(self.inputs)}", ir.TensorType.get())
        if self.tracer.has_value(value):
            self.stop(f"{_say(source)} is a tensor that has been in use before it was read")
        self.tracer.set_value(value, v)
        self.dtypes[v.unique()] = value.dtype
        self.input_of[id(value)] = len(self.inputs)
        self.versions[len(self.inputs)] = writes_to(self.stand_in(value))
        self.inputs.append(slot)
        self.examples.append(value)
        self.tensors.add(id(value))
        self.kept.append(value)
        return value

    def changes_with_calls(self, source):
        """Whether a source is an argument, or what lists, tuples, dicts and objects among them hold that are others each time."""
        while source[0] in ("index", "key", "attr"):
            if source[0] == "attr" and source[1] not in self.loose.values():
                return False
            source = source[1]
        return source in (("args",), ("kwargs",))

    def source_of(self, value):
        """Where an object comes from; from nowhere else, if that is not known, than from the program that keeps it."""
        known = self.known.get(id(value))
        return ("const", value) if known is None else known[1]

    @staticmethod
    def stand_in(tensor):
        """What operators take in the place of a tensor: itself."""
        return tensor

    def layout(self, value, source):
        """What is guarded of a tensor."""
        return layout_of(value)

    def told_apart(self):
        """Slots of objects that must not be one: where another object may stand for what was seen, it could be any of its class."""
        loose = {type(self.known[i][0]) for i in self.loose}
        kinds = (list, dict, set, tuple, collections.deque, *loose)
        apart = [v for v in self.known.values() if isinstance(v[0], kinds) and not (type(v[0]) is tuple and not v[0])]
        return [self.guards.slot(source) for _, source, _ in apart]

    def arguments(self, args, kwargs):
        """What the function is called with, and what it gets."""
        self.guards.check("len", ("args",), len(args))
        self.guards.check("keys", ("kwargs",), tuple(kwargs))
        args = tuple(self.outside_value(value, ("index", ("args",), i), True) for i, value in enumerate(args))
        return args, {k: self.outside_value(value, ("key", ("kwargs",), k), True) for k, value in kwargs.items()}


def place_of(source):
    """A source as a key: objects that are read from by what they are."""
    kind, *rest = source
    if kind in ("const", "cell"):
        return kind, id(rest[0])
    return (kind, place_of(rest[0]), *rest[1:]) if rest else source


def _class_of(value):
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _say(source):
    """A source as a program writes it."""
    kind, *rest = source
    if kind == "args":
        return "the arguments"
    if kind == "kwargs":
        return "the arguments by name"
    if kind == "const":
        return getattr(rest[0], "__name__", "") or type(rest[0]).__name__
    if kind == "cell":
        return "a variable of an enclosing function"
    above = rest[0]
    if kind == "index":
        return f"argument {rest[1]}" if above == ("args",) else f"{_say(above)}[{rest[1]}]"
    if kind == "key":
        return str(rest[1]) if above == ("kwargs",) or above[0] == "const" else f"{_say(above)}[{rest[1]!r}]"
    return f"{_say(above)}.{rest[1]}"
