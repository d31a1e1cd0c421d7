"""Sizes of results as formulas of sizes of arguments: what a graph has computed so far is run on tensors without values, at
several sizes, and a formula is kept that gives what was seen each time.

A formula holds where it was seen to hold, between the least and the greatest size that was tried, and these are guarded where
something else happens beyond them (a table of positions ends). Nothing but shapes is computed.
"""

from __future__ import annotations

import itertools
import math
import operator
from fractions import Fraction

import torch
from torch.export import _sizes
from torch.jit import _ir as ir

__all__ = ["Extents"]

_SYMBOLS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.floordiv: "//"}
_FAR, _NEAR = (
    (1, 3, 2, 7, 13, 4, 19, 10, 5, 16, 11),
    (1, 0, 2, 4, 3, 1, 2, 0, 4, 3, 1),
)  #: how much greater sizes are tried
_PERIOD = 33  #: sizes on either side that a quotient is tried at: more than it divides by
LEAST, MOST = 2, 1 << 16  #: sizes that are tried before they are bounds


class Unknown(Exception):
    """A graph gives no sizes here: an operator needs values, or does not take such sizes."""


class _Point:
    """Shapes of a graph's values for one set of sizes."""

    def __init__(self, sizes):
        self.sizes, self.shapes = sizes, {}  # of variables; number of a value -> what it is, tensors without values


class Extents:
    """Asked for the sizes of values of ``graph``, whose inputs have these ``tensors``."""

    def __init__(self, graph, tensors):
        self.graph, self.tensors = graph, tensors
        self.variables, self.now = {}, {}  # (number of an input, dim) -> name; name -> size here
        self.formulas, self.ends = {}, {}  # of values; of sizes that are bounds: what was tried there
        self.bounds = {}  # of a variable: where its formulas were seen to hold
        self.same = {}  # name of a variable -> the one that it is taken to be equal to
        self.tried, self.places, self.steps = None, {}, {}

    def variable(self, at, dim, name, leader):
        """A dim of an input may change."""
        self.variables[at, dim], self.same[name] = name, leader
        if name == leader:
            self.now[name] = None

    def conditions(self):
        """What has to hold for the formulas that were given to hold."""
        if self.tried is None:
            return []
        tied = [f"{name} == {leader}" for name, leader in self.same.items() if name != leader]
        least = [f"{name} >= {low}" for name, (low, _) in self.bounds.items() if low > LEAST]
        return tied + least + [f"{name} <= {high}" for name, (_, high) in self.bounds.items() if high < MOST]

    def _begin(self):
        for (at, dim), name in self.variables.items():
            if name in self.now:
                self.now[name] = self.tensors[at].shape[dim]
        self.bounds = dict.fromkeys(self.now, (LEAST, MOST))
        self.terms = [
            names for count in range(3 if len(self.now) < 4 else 2) for names in itertools.combinations(self.now, count)
        ]
        here = _Point(self.now)
        self.tried = [[here, *(self._ahead(steps, i) for i in range(len(self.terms) + 2))] for steps in (_FAR, _NEAR)]

    def _ahead(self, steps, i):
        return _Point({name: n + steps[(i + 4 * j) % len(steps)] for j, (name, n) in enumerate(self.now.items())})

    def formula(self, value, dim, number):
        """The size of a value along a dim (None: the number of its items) as a text over the variables, or None."""
        if self.tried is None:
            self._begin()
        key = value.unique(), dim
        if key not in self.formulas:
            try:
                self.formulas[key] = self._found(value, dim, number)
            except Unknown:
                self.formulas[key] = None
        return self.formulas[key]

    def _found(self, value, dim, number):
        text = next(filter(None, (self._fitted(points, value, dim, number) for points in self.tried)), None)
        if text is None:
            return None
        gives = eval(f"lambda {', '.join(self.now)}: {text}", {"__builtins__": {}})

        def holds(point):
            try:
                return self._size(point, value, dim) == gives(**point.sizes)
            except Unknown:
                return False

        if "//" in text and not all(holds(self._at(sizes)) for sizes in self._near()):
            return None  # another quotient gives the same at the points
        for name in self.now:
            self._bound(name, holds)
        while not all(holds(self._at(sizes)) for sizes in itertools.product(*self.bounds.values())):
            for (
                name,
                here,
            ) in self.now.items():  # between bounds of several variables: nearer, until it holds in all corners
                self.bounds[name] = tuple(
                    (end + here) // 2 if abs(end - here) > 1 else here for end in self.bounds[name]
                )
        return text

    def _fitted(self, points, value, dim, number):
        """A formula for the sizes at these points: a sum of multiples of variables and of products of two, or a quotient."""
        try:
            seen = tuple(self._size(point, value, dim) for point in points)
        except Unknown:
            return None
        if seen[0] != number:
            return None
        rows = [[math.prod(p.sizes[n] for n in names) for names in self.terms] for p in points]
        if (found := _solved(rows, seen)) is not None:
            return _sum(found, self.terms)
        known = [(tuple(p.sizes[n] for p in points), _sizes.Size(n, None)) for n in self.now]
        rule = _sizes.rule(seen, known)
        return rule and _text(rule)

    def _bound(self, name, holds):
        """Where a formula stops to hold on either side, the bound is the last size where it does."""
        ends = []
        for end in self.bounds[name]:
            good, bad = self.now[name], end
            if not holds(self._at(tuple({**self.now, name: end}.values()))):
                while abs(bad - good) > 1:
                    middle = (bad + good) // 2
                    good, bad = (middle, bad) if holds(_Point({**self.now, name: middle})) else (good, middle)
                end = good
            ends.append(end)
        self.bounds[name] = tuple(ends)

    def _near(self):
        """All sizes that one variable may have next to its own, and where all have grown as much."""
        for step in range(-_PERIOD, _PERIOD + 1):
            yield tuple(max(LEAST, n + step) for n in self.now.values())
            for name, n in self.now.items():
                yield tuple({**self.now, name: max(LEAST, n + step)}.values())

    def _at(self, sizes):
        """The point where variables have these sizes, which are bounds."""
        return self.ends.setdefault(sizes, _Point(dict(zip(self.now, sizes))))

    def _size(self, point, value, dim):
        self._run(point, value)
        found = point.shapes[value.unique()]
        return len(found) if dim is None else found.shape[dim]

    def _run(self, point, value):
        """Compute what a value follows from, as far as it has not been; most points have got as far as others."""
        number, shapes = value.unique(), point.shapes
        if number in shapes:
            return
        step = self.steps.get(number)
        if step is None or not step.follows(shapes):
            step = self.steps[number] = _Step(value, shapes)
        for each in step.inputs - shapes.keys():
            shapes[each] = self._input(point, each)
        step.run(shapes)

    def _input(self, point, number):
        """An input of the graph, without values."""
        if number not in self.places:
            self.places = {value.unique(): i for i, value in enumerate(self.graph.inputs())}
        at = self.places[number]
        sizes = list(self.tensors[at].shape)
        for dim in range(len(sizes)):
            if (name := self.variables.get((at, dim))) is not None:
                sizes[dim] = point.sizes[self.same[name]]
        return torch.empty(sizes, dtype=self.tensors[at].dtype, device="meta")


class _Step:
    """What computes a value and those before it, of some that have been: ``inputs`` are those of the graph."""

    def __init__(self, value, known):
        self.inputs, todo = _missing(value, known)
        self.given, self.results, self.constants = [], [], {}
        graph, made = ir.Graph(), {}

        def bring(v):
            if v.unique() not in made:
                made[v.unique()] = graph.addInput()
                made[v.unique()].setType(v.type() if v.type().kind() != "TensorType" else ir.TensorType.get())
                self.given.append(v.unique())
            return made[v.unique()]

        for node in todo:
            if node.kind() == "prim::Constant" and node.output().type().kind() == "TensorType":
                self.constants[node.output().unique()] = node.output().toIValue().to("meta")
                continue
            clone = graph.createClone(node, bring)
            graph.insertNode(clone)
            _elsewhere(graph, clone)
            for old, new in zip(node.outputs(), clone.outputs()):
                made[old.unique()] = new
                self.results.append(old.unique())
        for each in self.results:
            graph.registerOutput(made[each])
        self.function = ir.Function("shapes", graph)

    def follows(self, known):
        """Whether what it takes is there."""
        return all(each in known or each in self.inputs or each in self.constants for each in self.given)

    def run(self, shapes):
        """Add what it computes."""
        shapes.update(self.constants)
        if not self.results:
            return
        try:
            found = self.function(*(shapes[each] for each in self.given))
        except Exception as error:  # of an operator, whatever it finds wrong with sizes
            raise Unknown from error
        shapes.update(zip(self.results, found if len(self.results) > 1 else (found,)))


def _missing(value, shapes):
    """The inputs that a value follows from and that have no shape yet, and the nodes that have not run, in order."""
    inputs, found, stack, order = set(), set(), [value], []
    while stack:
        number, node = stack[-1].unique(), stack[-1].node()
        if number in shapes or number in found:
            stack.pop()
        elif node.kind() == "prim::Param":
            inputs.add(number)
            found.add(number)
            stack.pop()
        elif waiting := [v for v in node.inputs() if v.unique() not in shapes and v.unique() not in found]:
            stack += waiting
        else:
            stack.pop()
            found.update(v.unique() for v in node.outputs())
            order.append(node)
    return inputs, order


def _solved(rows, seen):
    """The numbers that the terms of each row are multiplied by to give what was seen, where these are whole; or None."""
    left = [[Fraction(x) for x in (*row, number)] for row, number in zip(rows, seen)]
    count = len(rows[0])
    for i in range(count):
        at = next((j for j in range(i, len(left)) if left[j][i]), None)
        if at is None:
            return None
        left[i], left[at] = left[at], left[i]
        left[i] = [x / left[i][i] for x in left[i]]
        for j, row in enumerate(left):
            if j != i and row[i]:
                left[j] = [x - row[i] * y for x, y in zip(row, left[i])]
    found = [row[-1] for row in left[:count]]
    if any(row[-1] for row in left[count:]) or any(x.denominator != 1 for x in found):
        return None
    return [int(x) for x in found]


def _sum(factors, terms):
    parts = []
    for factor, names in zip(factors, terms):
        if factor:
            parts.append(" * ".join([str(factor)] * (factor != 1 or not names) + list(names)))
    return "0" if not parts else parts[0] if len(parts) == 1 and " " not in parts[0] else f"({' + '.join(parts)})"


_places = {}


def _elsewhere(graph, node):
    """An operator that is told a device makes its results without values."""
    key = node.kind(), node.overload()
    if key not in _places:
        names = [a[0] for s in ir.signatures(node.kind()) if s.overload == key[1] for a in s.arguments]
        _places[key] = names.index("device") if "device" in names else None
    if _places[key] is not None:
        with graph.insert_point_guard(node):
            node.replaceInput(_places[key], graph.insertConstant(torch.device("meta")))


def _text(rule):
    if isinstance(rule, _sizes.Size):
        return rule.n
    if not isinstance(rule, _sizes.Formula):
        return str(rule)
    return f"({_text(rule.left)} {_SYMBOLS[rule.function]} {_text(rule.right)})"
