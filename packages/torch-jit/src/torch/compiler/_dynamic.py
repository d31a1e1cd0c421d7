"""Programs for several sizes: made of a function when its second set of sizes comes, or at once where the caller says that
sizes change (``dynamic=True``, ``mark_dynamic``): the second set is then one that is made up.
"""

from __future__ import annotations

import collections
import contextlib
import math
import re
import sys

import torch
from torch._dynamo import config
from torch._seams import named_size
from torch.jit import _ir as ir

from . import _numbers
from ._backends import native
from ._effects import NOTHING
from ._found import Found
from ._guards import WHOLE, layout_of
from ._numbers import Number
from ._observer import Observer
from ._outside import place_of
from ._sizes import Size, Space, shapes_watched

__all__ = ["Resized", "general", "resized"]

#: kinds of nodes that are about sizes only
_OF_SIZES = frozenset((
    "aten::size", "aten::add", "aten::sub", "aten::mul", "aten::floordiv", "aten::remainder", "aten::Int", "prim::Constant",
    "prim::NumToTensor", "prim::ListConstruct", "aten::div", "aten::pow", "aten::sqrt",
))  # fmt: skip

_MOST_SIZES = 6  #: different ones that are tried one by one
_BIG = 1 << 20  #: elements of a tensor that is not doubled
_FACTORS = ((3, 5, 7, 11), (5, 7, 11, 13))  #: of sizes that are made up, so that they are no numbers of the program


class Resized(Observer):
    """Watches a call in which some sizes of arguments may change. ``free`` says which: path of a tensor -> its dims.

    ``ranges`` are those of marks: path of a tensor -> dim -> least and greatest, or None.
    """

    def __init__(self, free, ranges, ties, numbers=None, finds=False):
        super().__init__()
        self.found = Found(self) if finds else None
        self.varied, self.variables = numbers or {}, {}  # place of a number that changes -> what it is in this run
        self.free, self.ranges, self.space, self.takes_sizes = free, ranges, Space(self, {}), True
        self.ties = ties  # (source, dim) -> the size that it is taken to be equal to, which stands before it
        self.dims, self.asked = [], []  # of each variable, in order: (slot, dim); (source, dim)

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
    def numbers(value):
        """A size that may change is a number to an operator, which is recorded with what it follows from."""
        return value.noted() if isinstance(value, Size) else value

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
            self.examples.append(named_size(f"s{at}", number) if type(number) is int else number)
            if type(number) is int:
                self.space.conditions.append(f"-{1 << 31} < {name} < {1 << 31}")
            self.variables[place] = made
        return self.variables[place]

    def may_count(self, value, name):
        """A number that changes is read, whether or not it is only counted."""
        if not super().may_count(value, name):
            return False
        return place_of(("attr", self.known[id(value)][1], name)) not in self.varied

    def where(self):
        self.space.told(_caller())
        return super().where()

    def run(self, function, args, kwargs):
        with shapes_watched(self.space) if self.free else contextlib.nullcontext():
            return super().run(function, args, kwargs)

    def close(self, low):
        """Guards of the sizes: what was asked about them; those of 0 and 1 are programs of their own."""
        if self.tracer.forget_ints() or self.space.pending:
            self.stop("a size becomes a number of the program")
        if self.free and any(node.isNondeterministic() or node.hasEffects() for node in self.graph.nodes()):
            self.unpacks()
        names = [f"d{i}" for i in range(len(self.dims))]
        sizes = [name for name, (_, dim) in zip(names, self.dims) if dim != WHOLE]
        conditions = [f"{name} >= {low}" for name in sizes] + self.space.conditions + self.space.extents.conditions()
        known = {"__builtins__": {}, "sqrt": math.sqrt}
        self.fits = eval(f"lambda {', '.join(names)}: {' and '.join(conditions) or True}", known)
        self.guards.steps.append(("sizes", self.dims[0][0], self.fits, list(self.dims)))
        for node in list(self.graph.nodes()):
            if node.kind() == "prim::NumToTensor" and not node.output().uses():
                node.destroy()

    def unpacks(self):
        """Lists that are taken apart are as long whatever the sizes: what has drawn random numbers cannot run again as Python."""
        for node in self.graph.nodes():
            if node.kind() == "prim::ListUnpack":
                count = node.outputsSize()
                if self.space.extents.formula(node.inputsAt(0), None, count) != str(count):
                    self.stop("a list has as many items as sizes say")

    def holds(self, layouts):
        """Whether the program is for arguments of these layouts."""
        return self.fits(*(self.varied[source] if i is None else layouts[source][2][i] for source, i in self.asked))


def _caller():
    return sys._getframe(2)


def changed(before, now):
    """The dims of arguments that two observations differ in, by source; None where they differ in more than sizes."""
    free = {}
    if before.keys() != now.keys():
        return None
    for source, (kind, dtype, sizes, _, device, needs_grad) in before.items():
        other = now[source]
        if (kind, dtype, device, needs_grad) != (other[0], other[1], other[4], other[5]) or len(sizes) != len(other[2]):
            return None
        dims = tuple(i for i, (a, b) in enumerate(zip(sizes, other[2])) if a != b)
        if dims and (kind is not torch.Tensor or any(sizes[i] < 2 or other[2][i] < 2 for i in dims)):
            return None
        if dims:
            free[source] = dims
    return free


def _static(value, dims):
    """Whether one of these dims is marked as one that never changes."""
    marks = getattr(value, "_dynamo_static_indices", ())
    return any(i in marks for i in dims)


def _marks(value):
    """The dims that are marked as ones that change, surely or maybe."""
    names = "_dynamo_dynamic_indices", "_dynamo_weak_dynamic_indices"
    return {i for name in names for i in getattr(value, name, ())}


def _within(ranges, *calls):
    """Whether the sizes of calls are those that marks allow."""
    return all(
        (least is None or layouts[source][2][i] >= least) and (most is None or layouts[source][2][i] <= most)
        for source, dims in ranges.items()
        for i, (least, most) in dims.items()
        for layouts in calls
    )


class _Before:
    """What a call was given, as it was before it: lists, dicts and objects made anew, with tensors of other sizes. A tensor or an
    object that stands in several places stands in them as one.
    """

    def __init__(self, observer, layouts, free, written=()):
        self.observer, self.layouts, self.free, self.made = observer, layouts, free, {}
        self.written = written  # ids of tensors that are changed in place

    def of(self, value):
        """A value as it was."""
        if id(value) not in self.made:
            self._make(value)
        return self.made[id(value)]

    def _make(self, value):
        observer, kind = self.observer, type(value)
        now = self.made[id(value)] = value
        change = observer.changed.get((id(value), None))
        if isinstance(value, torch.Tensor):
            source = next((s for s in self.free if observer.known_at[s] is value), None)
            if source is not None:
                _, dtype, sizes, strides, device, needs_grad = self.layouts[source]
                made = torch.empty_strided(sizes, strides, dtype=dtype, device=device)
                now = made.zero_().requires_grad_(needs_grad)
            elif id(value) in self.written:
                now = value.detach().clone().requires_grad_(value.requires_grad)
        elif kind is tuple:
            now = tuple(map(self.of, value))
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            now = kind(*map(self.of, value))
        elif kind in (list, dict, collections.OrderedDict, collections.deque):
            now = self.made[id(value)] = (
                kind() if kind is not collections.deque else collections.deque(maxlen=value.maxlen)
            )
            held = value if change is None else change.before
            if kind in (list, collections.deque):
                now += map(self.of, held)
            else:
                now.update((k, self.of(v)) for k, v in held.items())
        elif id(value) in observer.loose and kind.__new__ is object.__new__ and not _has_slots(kind):
            now = self.made[id(value)] = object.__new__(kind)
            own = dict(object.__getattribute__(value, "__dict__"))
            own.update((c.name, c.before) for c in observer.changed.values() if c.value is value and c.name is not None)
            object.__getattribute__(now, "__dict__").update((k, self.of(v)) for k, v in own.items() if v is not NOTHING)
        self.made[id(value)] = now

    def reached(self, at):
        """Whether another object stands for one, by its id, in what was made: not where it lies in what cannot be made anew."""
        return at in self.made and id(self.made[at]) != at


def _has_slots(kind):
    return any(vars(base).get("__slots__") for base in kind.__mro__)


def _signature(graph):
    """What a graph consists of, with its values by number."""
    numbers, lines = {}, []

    def number(value):
        return numbers.setdefault(value.unique(), len(numbers))

    for value in graph.inputs():
        number(value)
    for node in graph.nodes():
        held = node.output().toIValue() if node.kind() == "prim::Constant" else None
        if isinstance(held, torch.Tensor):
            held = tuple(held.shape), held.dtype, held.tolist()
        lines.append((node.kind(), repr(held), [number(v) for v in node.inputs()]))
        for value in node.outputs():
            number(value)
    lines.append([number(v) for v in graph.outputs()])
    return lines


def _work(graph):
    """The operators of tensors that a graph calls, in order."""
    return [
        node.kind()
        for node in graph.nodes()
        if node.kind() not in _OF_SIZES or any(v.type().kind() == "TensorType" for v in node.outputs())
        if node.kind() not in ("prim::NumToTensor", "prim::Constant")
    ]


def _written(observer, graph):
    """The ids of the tensors that a graph changes in place; None where it changes others than arguments, or prints, or calls Python."""
    effects = [n for n in graph.nodes() if n.hasEffects() and n.kind() != "aten::set_grad_enabled"]
    if not all(n.kind().startswith("aten::") and n.inputsSize() for n in effects):
        return None
    aliases = graph.alias_db() if effects else None
    found = {id(x) for x, v in zip(observer.examples, graph.inputs()) if aliases.has_writers(v)} if effects else set()
    return found if found <= {id(x) for x in observer.known_at.values()} else None


def _changes_copies(observer, args, kwargs):
    """Whether a call with arguments that are made anew changes these only, so that what is changed is changed once."""
    again = _Before(observer, {}, {})
    for value in (*args, *kwargs.values()):
        again.of(value)
    return all(again.reached(id(value)) for _, value, *_ in observer.effects())


def resized(compiled, args, kwargs, finish, observer, graph, other, asked=False, before=None):
    """Steps of a program for the sizes of this call, of an earlier one, and others; None where there is none. A function that
    was watched twice in vain is not watched again.

    ``observer`` has watched this call, ``graph`` is its program; ``other`` is an earlier program, or ``before`` are layouts of other arguments. A
    backend of one's own may look at the sizes of its examples: it gets a program for all sizes only where these are ``asked`` for.
    """
    if compiled.dynamic is False or compiled.in_vain >= 2:
        return None
    if not _changes_copies(observer, args, kwargs):
        return None
    written = _written(observer, graph)
    if written is None:
        return None
    before = other.layouts if before is None else before
    free, moved = changed(before, observer.layouts), {}
    if other is not None:
        moved = _numbers.changed(other.plain, observer.plain) or {}
        fixed = ((int, config.specialize_int), (float, config.specialize_float))
        moved = {at: (other.plain[at][0], observer.plain[at][0]) for at in moved}
        moved = {at: both for at, both in moved.items() if (type(both[0]), True) not in fixed}
    if free is None or not (free or moved):
        return None
    if any(_static(observer.known_at[source], dims) for source, dims in free.items()):
        return None
    automatic = config.automatic_dynamic_shapes and compiled.backend is native
    if not (automatic or compiled.dynamic or asked):
        marked = (_marks(observer.known_at[source]) for source in free)
        if not all(set(dims) <= set(marks) for dims, marks in zip(free.values(), marked)):
            return None
    ranges = {source: getattr(observer.known_at[source], "_dynamo_dynamic_range", {}) for source in free}
    if not _within(ranges, before, observer.layouts):
        return None
    if any(node.kind() == "prim::If" for node in graph.nodes()):
        return None
    random = any(node.isNondeterministic() for node in graph.nodes())
    leaders = {}
    ties = {
        (source, i): leaders.setdefault((sizes[i], before[source][2][i]), (source, i))
        for source, (_, _, sizes, *_) in observer.layouts.items()
        for i in free.get(source, ())
    }
    compiled.in_vain += 1
    state = torch.get_rng_state() if random else None
    try:
        # Sizes as they were in two calls; and others, where one of them is a number of the program, too.
        made_up = [_made_up(observer.layouts, free, factors) for factors in _FACTORS] if free else (None, None)
        for layouts in ((None, before), made_up):
            if layouts[1] is None:
                break
            found = _watched(compiled, args, kwargs, finish, observer, free, moved, written, ranges, layouts, ties)
            if found and found[0].holds(observer.layouts) and _work(found[0].graph) == _work(graph):
                compiled.in_vain -= 1
                return found
    except Exception:  # whatever goes wrong with sizes that may change, goes right with those that do not
        return None
    finally:
        if state is not None:
            torch.set_rng_state(state)
    return None


def _watched(compiled, args, kwargs, finish, observer, free, moved, written, ranges, layouts, ties):
    """What the function does with these sizes (None: those of the arguments) and numbers, if it is the same for all of them."""
    found = []
    for which, each in enumerate(layouts):
        before = _Before(observer, each or {}, free if each else {}, written)
        given, names = tuple(map(before.of, args)), {k: before.of(v) for k, v in kwargs.items()}
        others = {id(observer.known_at[source]) for source in free} if each else set()
        if not all(map(before.reached, others | written)):
            return None
        watcher = Resized(
            free, ranges, ties, {source: both[1 - which] for source, both in moved.items()}, observer.found is not None
        )
        result = watcher.run(compiled.function, given, names)
        steps = finish(watcher, result, compiled) if watcher.reason is None else None
        if watcher.reason is None:
            watcher.close(2)  # when results have asked for their sizes, too
        if watcher.reason is not None:
            return None
        found.append((watcher, steps))
    (watcher, _), (other, _) = found
    if _signature(watcher.graph) != _signature(other.graph) or watcher.space.conditions != other.space.conditions:
        return None
    return found[0]


def general(compiled, args, kwargs, finish, observer, graph):
    """What :func:`resized` gives, of a call without an earlier one, where the caller says that sizes change; None where
    nobody does, or where they cannot.
    """

    def attempt(free):
        before = _made_up(observer.layouts, free, None) if free else None
        found = before and resized(compiled, args, kwargs, finish, observer, graph, None, True, before)
        compiled.in_vain = 0
        return found

    marked, wished, all_dims = {}, {}, {}
    for source, (kind, _, sizes, *_) in observer.layouts.items():
        value = observer.known_at.get(source)
        if kind is not torch.Tensor or value is None:
            continue
        dims = tuple(i for i, n in enumerate(sizes) if n >= 2 and not _static(value, (i,)))
        all_dims[source] = dims
        marked[source] = tuple(i for i in dims if i in getattr(value, "_dynamo_dynamic_indices", ()))
        wished[source] = tuple(i for i in dims if i in getattr(value, "_dynamo_weak_dynamic_indices", ()))
    if compiled.dynamic:
        return attempt(_some(all_dims)) or _of_each_size(attempt, all_dims, observer.layouts)
    marked, asked = _some({s: marked[s] + wished[s] for s in marked}), _some(marked)
    if not marked:
        return None
    sizes = {observer.layouts[source][2][i] for source, dims in marked.items() for i in dims}
    found = attempt(marked) or attempt(_of_sizes(all_dims, observer.layouts, sizes))
    if found is None and asked and (why := _holds_to(compiled, args, kwargs, observer, graph, asked)):
        from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

        raise ConstraintViolationError(
            f"mark_dynamic: {_dims_of(asked, observer.layouts)} was said to change, but the function {why}; "
            "torch._dynamo.maybe_mark_dynamic marks what may be one size only"
        )
    return found


def _dims_of(free, layouts):
    return ", ".join(f"dim {i} of a tensor {tuple(layouts[source][2])}" for source, dims in free.items() for i in dims)


def _holds_to(compiled, args, kwargs, observer, graph, free):
    """Why a function is one for the sizes of this call only, or None where that is not certain."""
    made = _made_up(observer.layouts, free, None)
    if made is None or _written(observer, graph) != set() or not _changes_copies(observer, args, kwargs):
        return None
    if any(node.isNondeterministic() for node in graph.nodes()):
        return None
    before = _Before(observer, {}, {})
    watcher = Resized(free, {}, {(source, i): (source, i) for source, dims in free.items() for i in dims})
    try:
        watcher.run(compiled.function, tuple(map(before.of, args)), {k: before.of(v) for k, v in kwargs.items()})
    except Exception:
        return None
    pinned = [each for each in watcher.space.conditions if _PINNED.fullmatch(each)]
    if pinned:
        return f"asks whether it is {pinned[0].strip('()').split()[-1]}"
    before = _Before(observer, made, free)
    try:
        Resized(free, {}, watcher.ties).run(
            compiled.function, tuple(map(before.of, args)), {k: before.of(v) for k, v in kwargs.items()}
        )
    except Exception as error:
        return f"raises at another size: {error}"
    return None


#: what is asked of a size that has one answer only
_PINNED = re.compile(r"\(?d\d+ == \d+\)?")


def _some(dims_of):
    return {source: dims for source, dims in dims_of.items() if dims}


def _of_sizes(dims_of, layouts, sizes):
    """The dims whose size is among these."""
    return _some({s: tuple(i for i in dims if layouts[s][2][i] in sizes) for s, dims in dims_of.items()})


def _of_each_size(attempt, dims_of, layouts):
    """Where not all sizes can change together (a layer holds to its own), those that can: equal ones change as one."""
    sizes = sorted({layouts[source][2][i] for source, dims in dims_of.items() for i in dims})
    if not 2 <= len(sizes) <= _MOST_SIZES:
        return None
    found = {n: steps for n in sizes if (steps := attempt(_of_sizes(dims_of, layouts, {n})))}
    together = attempt(_of_sizes(dims_of, layouts, set(found))) if len(found) > 1 else None
    return together or next(iter(found.values()), None)


def _made_up(layouts, free, factors):
    """Layouts of another call, where equal sizes stay equal; None where memory is not dense. Sizes that may change are twice
    as big (half, of what is big), or each is times a factor of its own.
    """
    sizes = sorted({layouts[source][2][i] for source, dims in free.items() for i in dims})
    most = max(torch.Size(layouts[source][2]).numel() for source in free)
    if factors is None:
        to = {n: max(2, n // 2) if most > _BIG and n != 2 else 2 * n for n in sizes}
    elif len(sizes) > len(factors) or most > _BIG // 1000:
        return None
    else:
        to = {n: n * factor for n, factor in zip(sizes, factors)}
    other = dict(layouts)
    for source, dims in free.items():
        kind, dtype, sizes, strides, device, needs_grad = layouts[source]
        made = tuple(to[n] if i in dims else n for i, n in enumerate(sizes))
        steps, step, was = [0] * len(sizes), 1, 1
        for i in sorted(range(len(sizes)), key=lambda i: (strides[i], -i)):
            if sizes[i] != 1 and strides[i] != was:
                return None
            steps[i], step, was = step, step * made[i], was * sizes[i]
        other[source] = kind, dtype, made, tuple(steps), device, needs_grad
    return other
