"""The result of a program, taken apart into tensors and put together again at each call."""

from __future__ import annotations

import collections
import dataclasses
import re
import types

import torch

from ._guards import FIXED, is_key, is_plain
from ._numbers import KNOWN
from ._sizes import Size
from ._tables import BASES, HEAP

_CALLED = re.compile(r"\b([a-z]\w*)\(")  #: functions in the text of a number


class Outputs:
    """What a function gave: tensors that the program computes, its inputs, and what stands around them.

    ``tensors`` are those that the graph has to give, and numbers that it reads of tensors; ``build(computed, inputs)`` makes the result of a call.
    """

    def __init__(self, observer, value):
        self.observer, self.tensors, self.names, self._places = observer, [], {}, {}
        self.lines, self.held, self._open = [], [], set()
        effects = list(observer.effects())
        if not effects and type(value) is torch.Tensor:
            if id(value) not in observer.input_of and observer.tracer.has_value(value):
                self.tensors, self.build = [value], None  # the only tensor
                return
        text = self._text(value)
        effects = [self._effect(*each) for each in effects]  # when all that they take has been made
        body = "".join(f"    {line}\n" for line in (*self.lines, *effects))
        exec(f"def build(o, i, h=()):\n{body}    return {text}\n", self.names)
        self.build = self.names["build"]

    def _effect(self, kind, value, *what):
        """A statement that changes what was there before."""
        of = self._held(value)
        if kind == "attr":
            return f"{self._constant(setattr)}({of}, {what[0]!r}, {self._text(what[1])})"
        if kind == "del":
            return f"{self._constant(delattr)}({of}, {what[0]!r})"
        if kind == "count":
            count = self._constant(_counted)
            return f"{count}({of}, {what[0]!r}, {self._constant(tuple(what[1]))})"
        if kind == "refilled":
            return f"{self._constant(_refill)}({of}, {{{self._pairs(what[0].items(), '{}: {}')}}})"
        if kind == "all":
            return f"{of}[:] = [{', '.join(map(self._text, what[0]))}]"
        if kind == "without":
            return f"del {of}[{self._constant(what[0])}]"
        return f"{of}[{self._constant(what[0])}] = {self._text(what[1])}"

    def _held(self, value):
        """What was there before: the one of the call, where it may be another one each time, or go."""
        observer = self.observer
        if isinstance(value, FIXED) or id(value) not in observer.known:
            return self._constant(value)
        slot = observer.guards.slot(observer.known[id(value)][1])
        if slot not in self.held:
            self.held.append(slot)
        return f"h[{self.held.index(slot)}]"

    def _constant(self, value):
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def _text(self, value):
        observer, kind = self.observer, type(value)
        if is_plain(value):
            if type(value) is int and value in observer.ids:
                observer.stop("the result has an id()")
            return self._constant(value)
        if id(value) in self._places:
            if id(value) in self._open:
                observer.stop(f"the result has a {kind.__qualname__} that holds itself")
            return self._places[id(value)]
        if isinstance(value, type):
            return self._constant(value)
        if isinstance(value, Size):
            if (text := value.of_inputs()) is None and value.space.reads:
                text = self._places[id(value)] = f"o[{len(self.tensors)}]"
                self.tensors.append(value)
            elif text is None:
                observer.stop("the result has a size that does not follow from those of arguments")
            self.names.update((name, KNOWN[name]) for name in _CALLED.findall(str(text)))
            return str(text)
        if isinstance(value, torch.Tensor):
            if id(value) in observer.input_of:
                return f"i[{observer.input_of[id(value)]}]"
            if kind is not torch.Tensor or not observer.tracer.has_value(value):
                observer.stop("the result has a tensor that no operator made")
                return "None"
            text = self._places[id(value)] = f"o[{len(self.tensors)}]"
            self.tensors.append(value)
            return text
        if id(value) in observer.outside:
            if isinstance(value, set):
                observer.stop(f"the result has a {kind.__qualname__} from outside")
                return "None"
            if kind is not tuple:
                return self._held(value)
        if kind is tuple:
            return "(" + "".join(self._text(v) + ", " for v in value) + ")"
        if issubclass(kind, tuple) and (hasattr(kind, "_fields") or kind is torch.Size):
            make = self._constant(kind if kind is torch.Size else lambda items, kind=kind: tuple.__new__(kind, items))
            return f"{make}(({''.join(self._text(v) + ', ' for v in value)}))"
        if type(value).__module__ == "torch.return_types":
            make = self._constant(kind)
            return f"{make}(({''.join(self._text(v) + ', ' for v in value)}))"
        if kind is types.MethodType and getattr(value.__func__, "__code__", None) not in observer.codes:
            return f"{self._constant(kind)}({self._constant(value.__func__)}, {self._text(value.__self__)})"
        if kind is slice:
            return f"slice({self._text(value.start)}, {self._text(value.stop)}, {self._text(value.step)})"
        return self._made(value)

    def _made(self, value):
        """The name of a container or an object that a line makes."""
        observer, kind = self.observer, type(value)
        name = self._places[id(value)] = f"m{len(self._places)}"
        base = next((b for b in reversed(BASES) if isinstance(value, b)), object)
        if id(value) in observer.named:
            observer.stop(f"the result has a {kind.__qualname__} with attributes of its own")
        elif isinstance(value, dict) and not all(map(is_key, dict.keys(value))):
            observer.stop("the result has a dict whose keys are objects")
        elif base is set and not all(map(is_key, set.__iter__(value))):
            observer.stop("the result has a set of objects")
        elif (base is kind and kind is not object) or kind is collections.defaultdict:
            self._open.add(id(value))
            self.lines.append(f"{name} = {self._display(value)}")
            self._open.discard(id(value))
        elif id(value) not in observer.made and not (
            dataclasses.is_dataclass(value) and kind.__new__ is object.__new__
        ):
            observer.stop(f"the result has a {kind.__module__}.{kind.__qualname__}")
        else:
            self.lines.append(f"{name} = {self._constant(base.__new__)}({self._constant(kind)})")
            self._fill(name, value, base)
        return name

    def _display(self, value):
        """A list, dict or set as an expression."""
        if type(value) is list:
            return f"[{', '.join(map(self._text, value))}]"
        if type(value) is set:
            return f"{self._constant(value)}.copy()"
        text = f"{{{self._pairs(value.items(), '{}: {}')}}}"
        if type(value) is collections.defaultdict:
            return f"{self._constant(type(value))}({self._text(value.default_factory)}, {text})"
        return text if type(value) is dict else f"{self._constant(type(value))}({text})"

    def _pairs(self, items, form):
        return ", ".join(form.format(self._constant(k), self._text(v)) for k, v in items)

    def _fill(self, name, value, base):
        """Write what an object consists of, which may hold the object itself."""
        if isinstance(value, dict) and len(value):
            put, items = self._constant(base.__setitem__), self._pairs(base.items(value), "({}, {})")
            self.lines.append(f"for k, v in ({items},): {put}({name}, k, v)")
        elif base is list:
            items = ", ".join(map(self._text, list.__iter__(value)))
            self.lines.append(f"{self._constant(list.extend)}({name}, [{items}])")
        elif base is set:
            self.lines.append(f"{self._constant(set.update)}({name}, {self._constant(set(value))})")
        own = object.__getattribute__(value, "__dict__") if type(value).__dictoffset__ else {}
        if own:
            self.lines.append(f"{self._constant(_update)}({name}, {{{self._pairs(own.items(), '{}: {}')}}})")
        for slot in _slots(type(value)):
            held = _of_slot(slot, value, self)
            if held is not self:
                self.lines.append(f"{self._constant(slot.__set__)}({name}, {self._text(held)})")


def _refill(held, items):
    held.clear()
    held.update(items)


def _counted(value, name, steps):
    held = getattr(value, name)
    for step, by in steps:
        held = step(held, by)
    setattr(value, name, held)


def _update(value, attributes):
    object.__getattribute__(value, "__dict__").update(attributes)


def _of_slot(slot, value, otherwise):
    try:
        return slot.__get__(value)
    except AttributeError:
        return otherwise


def _slots(kind):
    """The descriptors of what a class keeps in ``__slots__``."""
    for base in kind.__mro__:
        if base.__flags__ & HEAP:
            yield from (each for each in vars(base).values() if isinstance(each, types.MemberDescriptorType))
