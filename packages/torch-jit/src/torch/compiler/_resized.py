"""Watches a call in which sizes of tensors, numbers among what is read, and numbers that tensors hold may change."""

from __future__ import annotations

import contextlib
import dataclasses
import sys

import torch
from torch._seams import named_size
from torch.jit import _ir as ir

from ._found import Found
from ._guards import VALUE, WHOLE, layout_of, order_of
from ._numbers import KNOWN, Number
from ._observer import Observer
from ._outside import place_of
from ._sizes import Escaped, Size, Space, shapes_watched

__all__ = ["Resized", "Variation"]

#: what reads a number of each kind of a tensor
_READ = {int: "Int", float: "Float", bool: "Bool"}


@dataclasses.dataclass
class Variation:
    """What may be another one when a program runs again."""

    free: dict = dataclasses.field(default_factory=dict)  # path of a tensor -> its dims whose sizes may change
    ranges: dict = dataclasses.field(default_factory=dict)  # of marks: path -> dim -> least and greatest, or None
    ties: dict = dataclasses.field(
        default_factory=dict
    )  # (path, dim) -> the size it is taken for, which stands before it
    numbers: dict = dataclasses.field(default_factory=dict)  # place of a number -> what it is in either run
    reads: bool = False  # numbers that are read of tensors


class Resized(Observer):
    """Watches a call in which some things may change: the run of a pair in which numbers are ``which`` of their two values.
    Ints that are read of tensors are ``shift`` more than they are, but for those of these ``fixed`` names.
    """

    def __init__(self, variation, which=0, finds=False, shift=0, fixed=()):
        super().__init__(takes_numbers=variation.reads)
        self.found = Found(self) if finds else None
        self.varied = {place: both[which] for place, both in variation.numbers.items()}
        self.variables = {}  # place of a number that changes -> what it is in this run
        self.fresh = frozenset()  # ids of arguments that are made anew for this run, and may be changed
        self.copies = {}  # id of a tensor from outside that is written to -> what operators take in its place
        self.lent = (
            frozenset()
        )  # ids of other objects that the call has changed, which are put back after the program is made
        self.free, self.ranges, self.takes_sizes = variation.free, variation.ranges, True
        self.space = Space(self, {}, variation.reads)
        self.ties, self.shift, self.fixed = variation.ties, shift, fixed
        self.guessed = []  # ints that an operator takes where only their value tells which of its numbers they are
        self.dims, self.asked = [], []  # of each variable, in order: (slot, dim); (source, dim)

    def stop(self, text, frame=None, frames=None):
        """The run ends here: what is not watched would do things that the call has not done."""
        if self.reason is None:
            super().stop(text, frame or sys._getframe(1), frames)
            raise Escaped(text)

    def _tensor(self, value, source):
        if id(value) in self.copies:
            self.tracer.lend(value, self.copies[id(value)])
        elif id(value) not in self.fresh:
            self.tracer.protect(value)
        return super()._tensor(value, source)

    def stand_in(self, tensor):
        """What operators take in the place of a tensor."""
        return self.tracer.lent(tensor) if self.copies else tensor

    def layout(self, value, source):
        """What is guarded of an input: sizes that may change are not."""
        dims = self.free.get(source, ()) if self.changes_with_calls(source) else ()
        kind, dtype, sizes, strides, device, needs_grad = layout_of(value)
        if dims:
            sizes = tuple(-1 if i in dims else n for i, n in enumerate(sizes))
            for i in dims:
                name = self.space.free[len(self.inputs), i] = f"d{len(self.dims)}"
                least, most = self.ranges.get(source, {}).get(i, (None, None))
                self.space.conditions += [f"{name} >= {least}"] * (least is not None)
                self.space.conditions += [f"{name} <= {most}"] * (most is not None)
                self.dims.append((self.guards.slot(source), i))
                self.asked.append((source, i))
                self.space.extents.variable(len(self.inputs), i, name, f"d{self.asked.index(self.ties[source, i])}")
        return kind, dtype, sizes, None if self.free else strides, device, needs_grad

    @staticmethod
    def numbers(value, place=None):
        """A size that may change is a number to an operator, which is recorded with what it follows from."""
        return value.noted(place) if isinstance(value, Size) else value

    def beside(self, left, right):
        """Two operands of which one is a tensor: a number that changes is taken by its operator."""
        one, two = (value.noted() if type(value) is Number else value for value in (left, right))
        return one, two

    def outside_value(self, value, source, of_arguments=False):
        """A number that changes is an input of the graph."""
        if self.reason is not None or not self.varied or (place := place_of(source)) not in self.varied:
            return super().outside_value(value, source, of_arguments)
        number = self.varied[place]
        if place not in self.variables:
            at, name = len(self.inputs), f"d{len(self.dims)}"
            slot = self.guards.check("type", source, type(number))
            kind = ir.IntType if type(number) is int else ir.FloatType
            made = Number(self.space, number, name, None)
            made.made = self.graph.addInput(f"input_{at}", kind.get())
            self.space.free[at, None] = name
            self.dims.append((slot, WHOLE))
            self.asked.append((place, None))
            self.inputs.append(slot)
            self.examples.append(named_size(f"s{name[1:]}", number) if type(number) is int else number)
            if type(number) is int:
                self.space.conditions.append(f"-{1 << 31} < {name} < {1 << 31}")
            self.variables[place] = made
        return self.variables[place]

    def may_count(self, value, name):
        """A number that changes is read, whether or not it is only counted."""
        if not super().may_count(value, name):
            return False
        return place_of(("attr", self.known[id(value)][1], name)) not in self.varied

    def read_number(self, tensor):
        """A number that is read of a tensor is a value of the graph; one of an argument may be asked about by a guard."""
        number, at = super().read_number(tensor), self.input_of.get(id(tensor))
        shift = self.shift if type(number) is int else 0
        made = self.graph.call(_READ[type(number)], [self.tracer.value_of(tensor)])
        if at is None or any(node.hasEffects() for node in self.graph.nodes()):
            return Number.made_of(self.space, number + shift if shift else number, made)
        key = VALUE, at, type(number)
        if key not in self.variables:
            name = f"d{len(self.dims)}"
            self.varied[key] = number
            number = number + shift if shift and name not in self.fixed else number
            self.dims.append((self.inputs[at], VALUE))
            self.asked.append((key, None))
            self.space.read.add(name)
            self.variables[key] = Number.made_of(self.space, number, made, name)
        return self.variables[key]

    def read_index(self, tensor, frame):
        """The same for the operator that this frame calls next."""
        number = self.read_number(tensor)
        self.space.pend(frame)
        return Size.noted(number)

    def where(self):
        self.space.told(_caller())
        return super().where()

    def run(self, function, args, kwargs):
        mine = self.fresh | self.lent if self.space.reads else self.fresh
        try:
            with shapes_watched(self.space) if self.free or self.takes_numbers else contextlib.nullcontext():
                return super().run(function, args, kwargs)
        finally:
            try:
                if any(id(value) not in mine for _, value, *_ in self.effects()):
                    self.stop("more is changed than what was made anew for this run")
            except Escaped:
                pass  # with a reason
            finally:
                self.undo(mine)

    def close(self, low):
        """Guards of the sizes: what was asked about them; those of 0 and 1 are programs of their own."""
        self.guessed = self.tracer.guessed
        if self.tracer.forget_ints() or self.space.pending:
            self.stop("a size becomes a number of the program")
        if self.free and any(node.isNondeterministic() or node.hasEffects() for node in self.graph.nodes()):
            self.unpacks()
        names = [f"d{i}" for i in range(len(self.dims))]
        sizes = [name for name, (_, dim) in zip(names, self.dims) if dim not in (WHOLE, VALUE)]
        conditions = [f"{name} >= {low}" for name in sizes] + self.space.conditions + self.space.extents.conditions()
        known = {"__builtins__": {}, **KNOWN}
        self.fits = eval(f"lambda {', '.join(names)}: {' and '.join(conditions) or True}", known)
        if self.dims:
            self.guards.steps.append(("sizes", self.dims[0][0], self.fits, list(self.dims)))
        if self.free and any(node.kind() == "aten::contiguous" for node in self.graph.nodes()):
            self.guards.steps += self._orders()
        for node in list(self.graph.nodes()):
            if node.kind() == "prim::NumToTensor" and not node.output().uses():
                node.destroy()

    def _orders(self):
        """Guards of how tensors lie in memory: what is contiguous is the tensor itself, and not a copy."""
        for slot, x in zip(self.inputs, self.examples):
            if isinstance(x, torch.Tensor):
                _, _, sizes, strides, *_ = layout_of(x)
                yield "order", slot, order_of(sizes, strides)

    def unpacks(self):
        """Lists that are taken apart are as long whatever the sizes: what has drawn random numbers cannot run again as Python."""
        for node in self.graph.nodes():
            if node.kind() == "prim::ListUnpack":
                count = node.outputsSize()
                if self.space.extents.formula(node.inputsAt(0), None, count) != str(count):
                    self.stop("a list has as many items as sizes say")

    def holds(self, layouts, numbers=None):
        """Whether the program is for arguments of these layouts, and for these numbers in place of those of the run."""
        numbers = self.varied if numbers is None else numbers
        return self.fits(*(numbers[source] if i is None else layouts[source][2][i] for source, i in self.asked))


def _caller():
    return sys._getframe(2)
