"""What a program reads from outside, as it is observed: each value with where it comes from, and its guards."""

from __future__ import annotations

import collections
import dataclasses
import functools
import sys
import types

import torch
from torch.jit import _ir as ir

from ._guards import FIXED, is_key, is_plain, layout_of
from ._tables import DICTS, Operator, has_dict, is_kind_of, is_torchs, module_class, tensor_classes

_DICTS = (dict, collections.OrderedDict)
#: how many leaves a container from outside may have
_MOST = 512


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
        kind = type(value)
        self.known[id(value)] = (value, source, of_arguments)
        self.guards.slot(source)
        self.outside.add(id(value))
        if isinstance(value, torch.Tensor):
            return self._tensor(value, source)
        if (
            kind in (tuple, torch.Size)
            or is_kind_of(kind, list)
            or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
        ):
            items = tuple(list.__iter__(value) if isinstance(value, list) else value)
            if len(items) > _MOST:
                self.stop(f"{_say(source)} has {len(items)} items")
                return value
            guards.check("type", source, kind)
            guards.check("len", source, len(items))
            for i, item in enumerate(items):
                self.outside_value(item, ("index", source, i), of_arguments)
        elif value is sys.modules:
            pass  # what a program finds imported stays
        elif kind in DICTS or (base := next((b for b in _DICTS if is_kind_of(kind, b)), None)):
            items = dict(value if kind in DICTS else base.items(value))
            names = list(items)
            if len(names) > _MOST or not all(map(is_key, names)):
                self.stop(f"{_say(source)} has keys that are objects, or too many")
                return value
            guards.check("type", source, kind)
            guards.check("keys", source, tuple(names))
            for name in names:
                self.outside_value(items[name], ("key", source, name), of_arguments)
        elif kind in (set, frozenset):
            if not all(map(is_key, value)):
                self.stop(f"{_say(source)} is a set of objects")
                return value
            guards.check("type", source, kind)
            guards.check("keys", source, tuple(value))
        elif kind is slice:
            guards.check("type", source, slice)
            for name in ("start", "stop", "step"):
                self.outside_value(getattr(value, name), ("attr", source, name), of_arguments)
        elif kind is dataclasses.Field:
            guards.check("is", source, value)
        elif str(kind.__module__).startswith("torch.fx") and not isinstance(value, module_class()):
            self.strange = kind
            self.stop(f"{_say(source)} is a {kind.__qualname__}")
        elif of_arguments and not is_fixed(value) and has_dict(value) and not _is_one_of_its_kind(value):
            guards.check("type", source, kind)
            self.loose[id(value)] = source
        elif kind is types.MethodType:
            guards.check("type", source, kind)
            self.outside_value(value.__func__, ("attr", source, "__func__"))
            self.outside_value(value.__self__, ("attr", source, "__self__"), of_arguments)
        elif kind is functools.partial:
            guards.check("type", source, kind)
            for name in ("func", "args", "keywords"):
                self.outside_value(getattr(value, name), ("attr", source, name), of_arguments)
        elif isinstance(value, types.BuiltinFunctionType) and not isinstance(
            value.__self__, (type(None), types.ModuleType, type)
        ):
            self.stop(f"{_say(source)} is a method of a {type(value.__self__).__qualname__}")
        elif is_fixed(value) or has_dict(value) or isinstance(value, Operator):
            guards.check("is", source, value)
            if isinstance(value, module_class()):
                guards.check("type", source, kind)
        else:
            self.stop(f"{_say(source)} is a {kind.__module__}.{kind.__qualname__}, which is not followed")
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

    def layout(self, value, source):
        """What is guarded of a tensor."""
        return layout_of(value)

    def told_apart(self):
        """Slots of objects that must not be one: where another object may stand for what was seen, it could be any of its class."""
        loose = {type(self.known[i][0]) for i in self.loose}
        kinds = (list, dict, set, tuple, *loose)
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


def is_fixed(value):
    """Whether an object means the same for as long as it is the same: functions, classes, modules of layers."""
    return isinstance(value, (*FIXED, module_class()))


def _is_one_of_its_kind(value):
    """Whether an object is more than its attributes: operators, also those of ``torch.ops``, and what has state in C, such as
    ``functools.partial`` and caches of functions.
    """
    if isinstance(value, Operator) or (callable(value) and is_torchs(type(value).__module__)):
        return True
    return any(base.__flags__ & _IMMUTABLE for base in type(value).__mro__ if base is not object)


#: of classes that are written in C, also those that are made when a module is imported
_IMMUTABLE = 1 << 8


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
