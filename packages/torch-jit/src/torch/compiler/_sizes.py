"""Sizes that may change: what a function reads of the shapes of its tensors, as values of its graph.

A program holds for one set of sizes. When a second one comes, the function is watched twice more, with the sizes of both
calls, and what it reads of a shape is then a :class:`Size`. Arithmetic on sizes becomes arithmetic of the graph, a
comparison becomes a guard, and an operator that takes one is recorded with it. Whatever else is done with a size (a range,
a float, a text) makes the attempt void, and so does a difference of the two graphs: then each set of sizes has a program of
its own, as before.
"""

from __future__ import annotations

import contextlib
import operator
import re
import sys
import threading

import torch
from torch.jit import _ir as ir

from ._extents import Extents
from ._found import Found

__all__ = ["Escaped", "Size", "Sizes", "Space", "as_python", "shapes_watched"]


class Escaped(BaseException):
    """A run that only watches cannot go on: a size is used in a way that no graph says, or something outside would be changed."""


class Space:
    """What is known of sizes during one run: which dims may change, and what was asked about them."""

    def __init__(self, observer, free, reads=False):
        self.observer, self.free = observer, free  # free: (number of an input, dim) -> name of the variable
        # Whether numbers are read of tensors; names of those that guards ask for, and of those that they hold to one value;
        # whether an int among others was put where only its value tells it from them.
        self.reads, self.read, self.pinned, self.mixes = reads, set(), set(), False
        self.extents = Extents(observer.graph, observer.examples)
        self.conditions = []  # texts over the variables
        self.pending = []  # where sizes were made numbers that no operator has taken yet
        self.inside = 0

    def escape(self, why):
        self.observer.stop(f"a {'number' if self.reads else 'size'} {why}", sys._getframe(2))
        raise Escaped(why)

    def ask(self, text, answer):
        """The outcome of a comparison is part of the guards."""
        if text is None:
            self.escape("that values decide is a condition" if self.reads else "of a result is compared")
        said = text if answer else f"not {text}"
        if _varies(said) and said not in self.conditions:
            self.conditions.append(said)
        return answer

    def pend(self, frame):
        """A number was made of a size, in this frame, for the next operator."""
        self.pending.append((id(frame), frame.f_lasti))

    def told(self, frame):
        """An operator is recorded: all numbers that were made of sizes have to be its own."""
        at = id(frame), frame.f_lasti
        if any(each != at for each in self.pending):
            self.observer.late = "a size becomes a number of the program"
        self.pending.clear()

    def text(self, tensor, dim, number):
        """The size of a result as a text over the variables, or None."""
        observer = self.observer
        value, working = observer.tracer.value_of(tensor), observer.working
        self.inside, observer.working, profile = self.inside + 1, True, sys.getprofile()
        sys.setprofile(None)
        recording = ir._native.Recording(None)
        try:
            return self.extents.formula(value, dim, number)
        finally:
            recording.end()
            self.inside, observer.working = self.inside - 1, working
            sys.setprofile(profile)

    def of(self, tensor, dim, number):
        """A size of a tensor as it is read: a number where it cannot change."""
        observer = self.observer
        if not self.free and not (observer.found and observer.found.follows(observer.tracer.value_of(tensor))):
            return number
        at = observer.input_of.get(id(tensor))
        if at is not None:
            name = self.free.get((at, dim))
            return number if name is None else Size(self, number, name, (tensor, dim))
        return Size(self, number, None, (tensor, dim))


def _both(name, symbol, function, swapped=False):
    def method(self, other):
        if isinstance(other, torch.Tensor):
            return self.with_tensor(function, other, swapped)
        if type(other) not in (int, Size):  # of a number that changes, it is asked
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        return self.space_of(function(_number(a), _number(b)), (name, symbol, a, b))

    return method


def _compares(symbol, function):
    def method(self, other):
        if isinstance(other, float) and other.is_integer():
            other = int(other)
        if type(other) not in (int, Size):
            return NotImplemented
        return self.space.ask(_text(symbol, self, other), function(self.number, _number(other)))

    return method


_VARIABLE = re.compile(r"\bd\d+")


def _varies(text):
    return "d" in text


def _number(value):
    return value.number if isinstance(value, Size) else int(value)


def _text(symbol, a, b):
    parts = [each.text if isinstance(each, Size) else repr(int(each)) for each in (a, b)]
    return None if None in parts else f"({parts[0]} {symbol} {parts[1]})"


class Size:
    """An int that follows from sizes. It is no ``int``: C takes its number by ``__index__``, which is how its uses are seen."""

    __slots__ = ("made", "number", "said", "source", "space")

    def __init__(self, space, number, said, source):
        self.space, self.number, self.said, self.source, self.made = space, number, said, source, None

    def of_inputs(self):
        """An expression for it over ``i``, the tensors that the graph is given; None where there is none."""
        places = {
            name: f"i[{at}]" if dim is None else f"i[{at}].shape[{dim}]" for (at, dim), name in self.space.free.items()
        }
        if self.text is None or not places.keys() >= set(_VARIABLE.findall(self.text)):
            return None
        return _VARIABLE.sub(lambda found: places[found[0]], self.text)

    def space_of(self, number, source):
        return Size(self.space, number, None, source)

    @property
    def text(self):
        """What it is, over the variables; None where that is not known."""
        if self.said is None:
            if isinstance(self.source[0], torch.Tensor):
                self.said = self.space.text(*self.source, self.number)
            else:
                self.said = _text(*self.source[1:])
        return self.said

    def fixed(self):
        """The number, where it is the same whatever the sizes are; else None."""
        text = self.text
        return None if text is None or _varies(text) else self.number

    __add__, __radd__ = _both("add", "+", operator.add), _both("add", "+", operator.add, True)
    __sub__, __rsub__ = _both("sub", "-", operator.sub), _both("sub", "-", operator.sub, True)
    __mul__, __rmul__ = _both("mul", "*", operator.mul), _both("mul", "*", operator.mul, True)
    __floordiv__ = _both("floordiv", "//", operator.floordiv)
    __rfloordiv__ = _both("floordiv", "//", operator.floordiv, True)
    __mod__, __rmod__ = _both("remainder", "%", operator.mod), _both("remainder", "%", operator.mod, True)
    __lt__, __le__ = _compares("<", operator.lt), _compares("<=", operator.le)
    __gt__, __ge__ = _compares(">", operator.gt), _compares(">=", operator.ge)
    __eq__, __ne__ = _compares("==", operator.eq), _compares("!=", operator.ne)

    def with_tensor(self, function, other, swapped):
        """An operator of a size and a tensor: the size is a tensor of no dims, which makes no other dtype than a number."""
        if other.dim() == 0 and not other.is_floating_point():
            return NotImplemented
        stand = self.stand()
        return function(other, stand) if swapped else function(stand, other)

    def __truediv__(self, other):
        if isinstance(other, torch.Tensor):
            return self.with_tensor(operator.truediv, other, False)
        return self.or_escape("becomes a float") / other

    def __rtruediv__(self, other):
        if isinstance(other, torch.Tensor):
            return self.with_tensor(operator.truediv, other, True)
        return other / self.or_escape("becomes a float")

    def or_escape(self, why):
        """The number, where that cannot change."""
        return self.number if self.fixed() is not None else self.space.escape(why)

    def __neg__(self):
        return 0 - self

    def __pos__(self):
        return self

    def __bool__(self):
        return self.space.ask(None if self.text is None else f"({self.text} != 0)", self.number != 0)

    def __index__(self):
        if self.fixed() is not None:
            return self.number
        self.space.pend(sys._getframe(1))
        return self.noted()

    def noted(self, place=None):
        """The number, which the next operator takes; as the argument of this place, if that is known."""
        tracer = self.space.observer.tracer
        if place is not None:
            tracer.note_number(self.number, self.value(), place)
        else:
            self.space.mixes = True
            tracer.note_int(self.number, tracer.value_of(self.stand()))
        return self.number

    def stand(self):
        """A tensor of no dims that the graph makes of it."""
        observer = self.space.observer
        recording = ir._native.Recording(None)
        try:
            stand = torch.tensor(self.number)
            observer.tracer.set_value(stand, observer.graph.call("prim::NumToTensor", [self.value()]))
            observer.kept.append(stand)
            observer.tensors.add(id(stand))
            return stand
        finally:
            recording.end()

    def value(self):
        """The value of the graph."""
        if self.made is None:
            graph, tracer = self.space.observer.graph, self.space.observer.tracer
            if isinstance(self.source[0], torch.Tensor):
                tensor, dim = self.source
                self.made = graph.call("size", [tracer.value_of(tensor), dim])
            else:
                name, _, a, b = self.source
                parts = [each.value() if isinstance(each, Size) else graph.insertConstant(int(each)) for each in (a, b)]
                self.made = graph.call(name, parts)
        return self.made

    def _escapes(why, function):
        def method(self, *args):
            return function(self.or_escape(why), *args)

        return method

    __hash__ = _escapes("is looked up", hash)
    __float__, __complex__ = _escapes("becomes a float", float), _escapes("becomes a float", complex)
    __pow__, __rpow__ = _escapes("becomes a float", operator.pow), _escapes("becomes a float", lambda a, b: b**a)
    __int__ = __trunc__ = _escapes("becomes a number of the program", int)
    __round__ = _escapes("becomes a number of the program", round)
    __repr__ = __str__ = _escapes("becomes a text", repr)
    __format__ = _escapes("becomes a text", format)


class Sizes(tuple):
    """A shape whose sizes may change."""

    __slots__ = ()

    def numel(self):
        """Their product."""
        product = 1
        for each in self:
            product = each * product
        return product

    def __getitem__(self, index):
        found = super().__getitem__(index)
        return Sizes(found) if isinstance(index, slice) else found


def as_python(value):
    """What stands for a size, a number or a shape that may change, to who asks what type it is."""
    return value.number if isinstance(value, Size) else torch.Size(()) if isinstance(value, Sizes) else value


_thread = threading.local()


def _space(tensor):
    """The sizes of this thread's run, for a tensor of it."""
    space = getattr(_thread, "space", None)
    if space is None or space.inside or space.observer.reason is not None or not ir._native._tracing():
        return None
    if space.observer.in_operator:  # of torch.library, which is recorded whole
        return None
    if not space.observer.tracer.has_value(tensor):
        return None
    if type(space) is Found:
        space.inside = 1
        try:
            space.concerns(tensor)
        finally:
            space.inside = 0
        return None
    return space


def _sizes(tensor, space):
    space.inside += 1
    try:
        return Sizes(space.of(tensor, i, n) for i, n in enumerate(tuple(_before["shape"].__get__(tensor))))
    finally:
        space.inside -= 1


def _shape(self):
    space = _space(self)
    return _before["shape"].__get__(self) if space is None else _sizes(self, space)


def _size(self, dim=None):
    space = _space(self)
    if space is None:
        return _before["size"].__get__(self)(*(() if dim is None else (dim,)))
    sizes = _sizes(self, space)
    return sizes if dim is None else sizes[operator.index(dim)]


def _len(self):
    space = _space(self)
    return _before["__len__"].__get__(self)() if space is None else _sizes(self, space)[0]


def _numel(self):
    space = _space(self)
    return _before["numel"].__get__(self)() if space is None else _sizes(self, space).numel()


def _refused(name):
    def method(self, *args, **kwargs):
        space = _space(self)
        if space is not None:
            space.observer.stop(f"{name} of a tensor whose sizes may change is asked for", sys._getframe(1))
        return _before[name].__get__(self, type(self))(*args, **kwargs)

    return method


def _nbytes(self):
    space = _space(self)
    if space is not None:
        space.observer.stop("nbytes of a tensor whose sizes may change is asked for", sys._getframe(1))
    return _before["nbytes"].__get__(self)


#: while somebody watches
_watched = ir._native.Replaced(
    [
        (torch.Tensor, "shape", property(_shape)),
        (torch.Tensor, "nbytes", property(_nbytes)),
        *(
            (torch.Tensor, name, each)
            for name, each in {"size": _size, "numel": _numel, "nelement": _numel, "__len__": _len}.items()
        ),
        *((torch.Tensor, name, _refused(name)) for name in ("__iter__", "stride", "is_contiguous", "storage_offset")),
    ]
)
_before = _watched.before


@contextlib.contextmanager
def shapes_watched(space):
    """A block in which what this thread reads of shapes goes to a space."""
    with _watched:
        _thread.space = space
        try:
            yield
        finally:
            _thread.space = None
