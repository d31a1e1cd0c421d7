"""What instrumented code calls: for each name, attribute, item, call and store of a function that is followed."""

from __future__ import annotations

import collections.abc
import enum
import itertools
import operator
import sys
import types

import torch
from torch.jit import _ir as ir

from . import _attributes, _calls, _special
from ._effects import Items
from ._guards import TYPES, of_class
from ._own import own
from ._sizes import Size, as_python
from ._tables import HEAP, INDEXED, tensors_in


class Hooks:
    """The half of an observer that instrumented code calls."""

    def load(self, value, name):
        """A global or builtin was read."""
        frame = sys._getframe(1)
        if self.reason is None:
            space = frame.f_globals
            if self.is_set(space, name, value):
                return value
            if name in space:
                return self.outside_value(value, ("key", ("const", space), name))
            self.guards.check("absent", ("const", space), name)
        return value

    def attr(self, value, name):
        """``value.name``."""
        if self.reason is not None:
            return getattr(value, name)
        return _attributes.attribute(self, value, name)

    def call(self, function):
        """``function(...)``: what is called in its place."""
        if self.reason is None and _calls.is_strange(function):
            self.stop(f"{_calls.named(function)}() is called")
        if self.reason is not None:
            return function
        return lambda *args, **kwargs: _calls.call(self, function, args, kwargs)

    def apply(self, function, *args):
        """``function(*args)``, watched."""
        return _calls.call(self, function, args, {})

    def apply_all(self, function, args, kwargs):
        """``function(*args, **kwargs)``, watched."""
        return _calls.call(self, function, args, kwargs) if self.reason is None else function(*args, **kwargs)

    def item(self, value, key):
        """``value[key]``."""
        if self.reason is None and type(value) not in INDEXED:
            if isinstance(value, (type, *TYPES)) and not isinstance(value, enum.EnumMeta):  # of a generic class
                return self.aside(operator.getitem, (value, key), {})[0]
            if isinstance(of_class(type(value), "__getitem__"), types.FunctionType):
                return self.apply(self.method(value, "__getitem__"), key)
            if isinstance(value, torch.Tensor):
                key = self.place(key)
            elif isinstance(value, dict) and own(value, "__missing__") and not dict.__contains__(value, key):
                return self.apply(self.method(value, "__missing__"), key)
            elif type(value) is collections.defaultdict and id(value) in self.outside and key not in value:
                self.stop("a defaultdict from outside gets a key")
        return value[key]

    def store_place(self, key):
        """Where a tensor is written: a mask leaves its shape as it is, so that the program holds for other masks."""
        return self.place(key, masks=True)

    def place(self, key, masks=False):
        """An index of a tensor: one that is a tensor without dims is read as a number; a list of numbers is a constant."""
        if self.reason is None:
            if type(key) is tuple:
                return tuple(self.place(k, masks) for k in key)
            if type(key) is list and key and all(type(k) is int for k in key):
                recording = ir._native.Recording(None)
                made = torch.tensor(key)
                recording.end()
                self.give_constant(made)
                return made
            if isinstance(key, torch.Tensor) and key.dtype not in (torch.bool, torch.uint8) and self.may_read(key):
                return self.read_number(key) if key.dim() == 0 else key
            for t in tensors_in(key):
                if t.dim() == 0 or (not masks and self.found is None and t.dtype in (torch.bool, torch.uint8)):
                    self.stop("a tensor is an index by its value")
        return key

    def sliced(self, value):
        """``value[a:b]``."""
        if self.reason is None and isinstance(of_class(type(value), "__getitem__"), types.FunctionType):
            return Items(self, value)
        if type(value) not in INDEXED and not isinstance(value, torch.Tensor):
            self.stop(f"a {type(value).__qualname__} is sliced")
        return value

    def parts(self, value, form):
        """What a target takes apart: ``a, (b, c) = value``."""
        found = self.iter(value)
        if (
            self.reason is not None
            or (found is value and not any(form))
            or not isinstance(found, collections.abc.Iterable)
        ):
            return found
        items = list(itertools.islice(found, len(form) + 1) if form else found)
        for i, inner in enumerate(form[: len(items)]):
            items[i] = items[i] if inner is None else self.parts(items[i], inner)
        return items

    def iter(self, value, form=None):
        """``for each in value``; with a form for ``for a, b in value``."""
        if form is not None and self.reason is None:
            return (self.parts(each, form) for each in self.iter(value))
        if self.reason is None and type(value) not in INDEXED:
            if not isinstance(value, torch.Tensor) and isinstance(
                found := of_class(type(value), "__iter__"), types.FunctionType
            ):
                if found is collections.abc.Sequence.__iter__:
                    return self._by_number(value)
                return self.apply(self.method(value, "__iter__"))
            if isinstance(value, torch.Tensor):
                return iter(value.unbind(0)) if value.dim() else iter(value)
        return value

    def _by_number(self, value):
        """The items of a ``collections.abc.Sequence``."""
        number, get = 0, self.method(value, "__getitem__")
        while True:
            try:
                item = self.apply(get, number)
            except IndexError:
                return
            yield item
            number += 1

    def method(self, value, name):
        """A method that the class of a value has, guarded."""
        self.class_has(type(value), name)
        return types.MethodType(of_class(type(value), name), value)

    def class_has(self, kind, name):
        """Guard what a class has under a name."""
        if self.reason is None and kind.__flags__ & HEAP:
            found = of_class(kind, name)
            if getattr(found, "__module__", None) != "torch.compiler._sizes":  # stands there while sizes are watched
                self.guards.check("class", ("const", kind), name, found)

    def class_lacks(self, kind, name):
        """Guard that a class has nothing under a name."""
        if self.reason is None and kind.__flags__ & HEAP:
            self.guards.check("class", ("const", kind), name)

    def augmented(self, op, value, other):
        """``name += other``: the new value of the name."""
        return self.in_place(op, value, other)

    def augment(self, value, name, op, later):
        """``value.name += later()``: of a tensor, a call in place that needs no store."""
        if self.may_count(value, name):
            by = later()
            if self.counts(value, name, op, by):
                return
            later = lambda: by
        held = self.attr(value, name)
        made = self.in_place(op, held, later())
        if made is held and isinstance(made, torch.Tensor):
            return
        setattr(self.store(value, name), name, made)

    def compared(self, value):
        """``value is ...``: objects are told apart by the guards, numbers and texts are not."""
        if self.reason is None and (isinstance(value, Size) or type(value) in (int, float, complex, str, bytes)):
            self.stop(f"a {type(as_python(value)).__name__} is compared by identity")
        return value

    def is_truth(self, value):
        """``value is True``, which a truth that is read of a tensor may be."""
        return value.or_escape("is compared by identity") if isinstance(value, Size) else value

    def raised(self, error):
        """``raise error``."""
        self.error = error() if isinstance(error, type) and issubclass(error, BaseException) else error
        return self.error

    def caught(self):
        """``except``: of what an operator raised, where values may decide. What Python raises follows from what is guarded."""
        error = sys.exc_info()[1]
        if error is not self.error and (self.tracer.has_failed or not isinstance(error, Exception)):
            self.stop("an exception is caught", sys._getframe(1))

    def manager(self, value):
        """``with value:``."""
        return value if self.reason is not None else _special.manager(self, value)

    def imported(self, value, module, name, level):
        """``from module import name`` within a function."""
        if self.reason is None:
            frame = sys._getframe(1)
            module = _absolute(module, level, frame.f_globals)
            space = vars(sys.modules[module]) if module in sys.modules else {}
            if isinstance(value, types.ModuleType):
                return value
            if space.get(name) is value:
                return self.outside_value(value, ("key", ("const", space), name))
            self.stop(f"{name} is imported from {module}")
        return value


def _absolute(module, level, space):
    if not level:
        return module
    package = (space.get("__package__") or space.get("__name__", "")).split(".")
    base = package[: len(package) - level + 1]
    return ".".join([*base, module] if module else base)
