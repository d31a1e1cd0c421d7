"""Programs for several sizes: made of a function when its second set of sizes comes, or at once where the caller says that
sizes change (``dynamic=True``, ``mark_dynamic``): the second set is then one that is made up.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import re

import torch
from torch._dynamo import config

from . import _numbers
from ._backends import native
from ._effects import NOTHING
from ._numbers import MATH
from ._observer import Reason
from ._resized import Resized, Variation
from ._sizes import Escaped
from ._tables import EXACT

__all__ = ["Again"]

#: kinds of nodes that are about sizes only
_OF_SIZES = frozenset((
    "aten::size", "aten::add", "aten::sub", "aten::mul", "aten::floordiv", "aten::remainder", "aten::Int", "prim::Constant",
    "prim::NumToTensor", "prim::ListConstruct", "aten::div", "aten::pow", "aten::Float", "aten::Bool", "aten::__not__",
    "aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge", "aten::floor", "aten::ceil",
    "aten::round", *EXACT, *(f"aten::{function.__name__}" for function in MATH),
))  # fmt: skip
_MOST_FORKS = 8  #: pairs of calls that go different ways, which a function is watched for
_MOST_SIZES = 6  #: different ones that are tried one by one
_SHIFTS = (1, -1, 2, 5)  #: to other ints in place of those that are read
_FAR = (1, -1, 2, 5, -2, 9, 3, -5, 17)  #: to numbers that no call has
_BIG = 1 << 20  #: elements of a tensor that is not doubled
_FACTORS = ((3, 5, 7, 11), (5, 7, 11, 13))  #: of sizes that are made up, so that they are no numbers of the program
_OTHER_FACTORS = ((2, 3, 5, 7), (7, 2, 9, 4), (9, 4, 2, 5))


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

    def fresh(self):
        """The ids of what was made."""
        return frozenset(id(new) for at, new in self.made.items() if id(new) != at)

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
    """The operators of tensors that a graph calls, in order, but for tensors of numbers: those are constants of one graph and made
    of numbers that change in another.
    """
    made, work = set(), []
    for node in graph.nodes():
        if _makes_of_numbers(node, made):
            made.add(node.output().unique())
        elif node.kind() not in _OF_SIZES or any(v.type().kind() == "TensorType" for v in node.outputs()):
            work.append(node.kind())
    return [kind for kind in work if kind not in ("prim::NumToTensor", "prim::Constant")]


def _makes_of_numbers(node, made):
    """Whether a node is of what ``torch.tensor`` of numbers comes to, where ``made`` are the results of others."""
    kind, inputs = node.kind(), list(node.inputs())
    if kind == "aten::clone":
        return inputs[0].node().kind() == "prim::Constant"
    if kind == "aten::full":
        return not list(inputs[0].node().inputs())
    return kind == "aten::stack" and all(v.unique() in made for v in inputs[0].node().inputs())


def _written(observer, graph):
    """The tensors from outside that a graph changes in place, by id; None where it prints, or calls Python."""
    effects = [n for n in graph.nodes() if n.hasEffects() and n.kind() != "aten::set_grad_enabled"]
    if not all(n.kind().startswith("aten::") and n.inputsSize() for n in effects):
        return None
    aliases = graph.alias_db() if effects else None
    return {id(x): x for x, v in zip(observer.examples, graph.inputs()) if effects and aliases.has_writers(v)}


def _copies(tensors):
    """Copies of tensors, by the ids of these: what shares memory shares it in the copies, too."""
    memory, found = {}, {}
    for each in tensors:
        held, at = each.untyped_storage(), each.untyped_storage()._cdata
        if at not in memory:
            memory[at] = held.clone()
        made = torch.empty(0, dtype=each.dtype, device=each.device)
        made.set_(memory[at], each.storage_offset(), each.size(), each.stride())
        found[id(each)] = made.requires_grad_(each.requires_grad)
    return found


class Again:
    """A call that was watched, and is watched again for a program that holds for more calls. ``observer`` has watched it;
    ``finish`` makes the steps of a program of an observation.
    """

    def __init__(self, compiled, args, kwargs, observer, finish):
        self.compiled, self.args, self.kwargs, self.observer, self.finish = compiled, args, kwargs, observer, finish
        self.graph, self.layouts, self.at = observer.graph, observer.layouts, observer.known_at
        self.why = None  # why the last run is no program
        self.forks = False  # whether the last pair of runs went different ways

    @functools.cached_property
    def written(self):
        """The tensors that the call changes in place, by id; None where it does more than that."""
        return _written(self.observer, self.graph)

    @functools.cached_property
    def borrowed(self):
        """Those of them that are no arguments: parameters, buffers, and what functions around hold. Other threads read them: operators
        take copies in their place.
        """
        arguments = {id(x) for x in self.at.values()}
        return {at: x for at, x in (self.written or {}).items() if at not in arguments}

    def found(self, programs):
        """An observation and steps of a program for this call and others like it; None where there is none."""
        found = None if programs else self.general()
        for other in programs:
            found = found or self.resized(self._variation_from(other), other.layouts)
        if found is None and self.observer.first_read:
            found = self._of_reads()
        return found

    def is_repeatable(self):
        """Whether a call with arguments that are made anew changes these only, so that what is changed is changed once."""
        again = _Before(self.observer, {}, {})
        for value in (*self.args, *self.kwargs.values()):
            again.of(value)
        return self.written is not None and all(again.reached(id(v)) for _, v, *_ in self.observer.effects())

    # --- which calls ---

    def _variation_from(self, other):
        """What this call differs in from that of an earlier program; None where it is more than sizes and numbers."""
        free, observer = changed(other.layouts, self.layouts), self.observer
        if free is None:
            return None
        fixed = ((int, config.specialize_int), (float, config.specialize_float))
        moved = {
            at: (other.plain[at][0], observer.plain[at][0])
            for at in _numbers.changed(other.plain, observer.plain) or ()
        }
        return Variation(free, numbers={at: both for at, both in moved.items() if (type(both[0]), True) not in fixed})

    def resized(self, variation, before, asked=False):
        """A program for the sizes and numbers of this call, of one with the layouts ``before``, and others. A function that was
        watched twice in vain is not watched again.

        A backend of one's own may look at the sizes of its examples: where nobody has ``asked`` for all sizes, it gets a program
        for all of them only if it does not.
        """
        compiled = self.compiled
        if compiled.dynamic is False or compiled.in_vain >= 2 or not self.is_repeatable():
            return None
        if variation is None or not (variation.free or variation.numbers) or not self._may_vary(variation.free, asked):
            return None
        variation.ranges = {source: getattr(self.at[source], "_dynamo_dynamic_range", {}) for source in variation.free}
        if not _within(variation.ranges, before, self.layouts) or any(
            n.kind() == "prim::If" and n.outputsSize() for n in self.graph.nodes()
        ):
            return None
        leaders = {}
        variation.ties = {
            (source, i): leaders.setdefault((sizes[i], before[source][2][i]), (source, i))
            for source, (_, _, sizes, *_) in self.layouts.items()
            for i in variation.free.get(source, ())
        }
        variation.reads = self.observer.first_read is not None
        # Sizes as they were in two calls; and others, where one of them is a number of the program, too.
        pairs = [(None, before)]
        if variation.free and None not in (made_up := [_made_up(self.layouts, variation.free, f) for f in _FACTORS]):
            pairs.append(made_up)
        for layouts in pairs:
            if (found := self._attempt(variation, layouts)) is not None:
                return found
        # Counted when it is certain: other threads may be watching the function, too.
        if self.forks and compiled.forks < _MOST_FORKS:  # which says nothing of other pairs of calls
            compiled.forks += 1
        else:
            compiled.in_vain += 1
        return None

    def _may_vary(self, free, asked):
        """Whether these dims may change: none is said to be fixed, and each is said to change where nothing else does."""
        if any(_static(self.at[source], dims) for source, dims in free.items()):
            return False
        marked = all(set(dims) <= _marks(self.at[source]) for source, dims in free.items())
        if asked or self.compiled.dynamic or marked or not config.automatic_dynamic_shapes:
            return bool(asked or self.compiled.dynamic or marked)
        self.observer.unasked = self.compiled.backend is not native
        return True

    def _of_reads(self):
        """A program of this very call, in which numbers that are read of tensors are values."""
        if self.written is None:
            self.why = Reason(
                "a number is read of a tensor, and more is changed than tensors", self.observer.first_read
            )
            return None
        with self.observer.set_back():
            return self._attempt(Variation(reads=True), (None,))

    def general(self):
        """A program for several sizes, of a call without an earlier one, where the caller says that sizes change; None where
        nobody does, or where they cannot.
        """
        marked, wished, all_dims = {}, {}, {}
        for source, (kind, _, sizes, *_) in self.layouts.items():
            value = self.at.get(source)
            if kind is not torch.Tensor or value is None:
                continue
            dims = tuple(i for i, n in enumerate(sizes) if n >= 2 and not _static(value, (i,)))
            all_dims[source] = dims
            marked[source] = tuple(i for i in dims if i in getattr(value, "_dynamo_dynamic_indices", ()))
            wished[source] = tuple(i for i in dims if i in getattr(value, "_dynamo_weak_dynamic_indices", ()))
        if self.compiled.dynamic:
            return self._asked(_some(all_dims)) or self._of_each_size(all_dims)
        marked, asked = _some({s: marked[s] + wished[s] for s in marked}), _some(marked)
        if not marked:
            return None
        sizes = {self.layouts[source][2][i] for source, dims in marked.items() for i in dims}
        found = self._asked(marked) or self._asked(_of_sizes(all_dims, self.layouts, sizes))
        if found is None and asked and (why := self._holds_to(asked)):
            from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

            raise ConstraintViolationError(
                f"mark_dynamic: {_dims_of(asked, self.layouts)} was said to change, but the function {why}; "
                "torch._dynamo.maybe_mark_dynamic marks what may be one size only"
            )
        return found

    def _asked(self, free):
        """A program for other sizes of these dims, of which somebody says that they change."""
        before = _made_up(self.layouts, free, None) if free else None
        found = before and self.resized(Variation(free), before, True)
        self.compiled.in_vain = 0
        return found

    def _of_each_size(self, dims_of):
        """Where not all sizes can change together (a layer holds to its own), those that can: equal ones change as one."""
        sizes = sorted({self.layouts[source][2][i] for source, dims in dims_of.items() for i in dims})
        if not 2 <= len(sizes) <= _MOST_SIZES:
            return None
        found = {n: steps for n in sizes if (steps := self._asked(_of_sizes(dims_of, self.layouts, {n})))}
        together = self._asked(_of_sizes(dims_of, self.layouts, set(found))) if len(found) > 1 else None
        return together or next(iter(found.values()), None)

    def _holds_to(self, free):
        """Why a function is one for the sizes of this call only, or None where that is not certain."""
        made = _made_up(self.layouts, free, None)
        if made is None or self.written != {} or not self.is_repeatable():
            return None
        if any(node.isNondeterministic() for node in self.graph.nodes()):
            return None
        ties = {(source, i): (source, i) for source, dims in free.items() for i in dims}
        watcher = Resized(Variation(free, ties=ties))
        try:
            self._run(watcher, _Before(self.observer, {}, {}))
        except (Exception, Escaped):
            return None
        pinned = [each for each in watcher.space.conditions if _PINNED.fullmatch(each)]
        if pinned:
            return f"asks whether it is {pinned[0].strip('()').split()[-1]}"
        try:
            self._run(Resized(Variation(free, ties=ties)), _Before(self.observer, made, free))
        except Escaped:
            return None
        except Exception as error:
            return f"raises at another size: {error}"
        return None

    # --- runs ---

    def _run(self, watcher, before):
        """Call the function with what it was given, as it was before it was called."""
        given = tuple(map(before.of, self.args)), {k: before.of(v) for k, v in self.kwargs.items()}
        others = {id(self.at[source]) for source in before.free} | (self.written or {}).keys() - self.borrowed.keys()
        if not all(map(before.reached, others)):
            watcher.stop("an argument cannot be made anew")
        watcher.fresh, watcher.copies = before.fresh(), _copies(self.borrowed.values())
        watcher.lent = frozenset(of for of, _ in self.observer.changed if not before.reached(of))
        return watcher.run(self.compiled.function, *given)

    def _attempt(self, variation, layouts):
        """The program of runs at these layouts (None: those of the arguments), if it is one, and holds for this call."""
        self.why, self.forks = None, False
        state = torch.get_rng_state()  # other numbers and sizes may draw where this call has not
        try:
            found = self._watched(variation, layouts)
        except (Exception, Escaped) as error:  # whatever goes wrong with what may change, goes right with what does not
            self.why = self.why or Reason(f"{type(error).__name__} is raised: {error}", self.observer.first_read)
            return None
        finally:
            torch.set_rng_state(state)
        if not found or not found[0].holds(self.layouts):
            return None
        return found if variation.reads or _work(found[0].graph) == _work(self.graph) else None

    def _watched(self, variation, layouts):
        """What the function does with each of these layouts, if it is the same for all of them."""
        finds, found = self.observer.found is not None, []
        for which, each in enumerate(layouts):
            if (one := self._steps(Resized(variation, 1 - which, finds), each, variation)) is None:
                return None
            found.append(one)
        (watcher, _), (other, _) = found[0], found[-1]
        alike = _signature(watcher.graph) == _signature(other.graph)
        self.forks = watcher.space.conditions != other.space.conditions
        if not alike or self.forks:
            return None
        if not variation.reads:
            return found[0] if self._holds_elsewhere(watcher, other, variation, layouts[0]) else None
        return self._of_other_ints(found[0], variation, layouts[0]) if watcher.space.mixes else found[0]

    def _holds_elsewhere(self, first, second, variation, layouts):
        """Whether the program is the same for numbers and sizes of no call. An int that equals another one of the program in both
        calls (``x[1, i // 2]`` of 2 and 3) may stand in its place by chance: there are more calls until each such int has changed.
        """
        guessed = [first.guessed, second.guessed]
        if not variation.numbers and _all_change(guessed):
            return True
        free = variation.free
        places = [
            made for by in (None, *_FACTORS, *_OTHER_FACTORS) if free and (made := _made_up(self.layouts, free, by))
        ]
        places = places or [layouts] * bool(variation.numbers)
        for shift in range(len(_FAR) if places else 0):
            at = places[shift % len(places)]
            moved = {of: _shifted(*both, shift + k) for k, (of, both) in enumerate(variation.numbers.items())}
            if not first.holds(at or self.layouts, moved):
                continue
            other = dataclasses.replace(variation, numbers={of: (new, new) for of, new in moved.items()})
            watcher = Resized(other, 1, self.observer.found is not None)
            try:
                found = self._steps(watcher, at, other)
            except (Exception, Escaped):  # there is no such index, or no such size
                continue
            if found is not None:
                if _signature(watcher.graph) != _signature(first.graph):
                    return False
                guessed.append(watcher.guessed)
                if _all_change(guessed):
                    return True
        return False

    def _steps(self, watcher, layouts, variation):
        """An observation of a run at these layouts with the steps of its program, or None."""
        before = _Before(self.observer, layouts or {}, variation.free if layouts else {}, self.written)
        try:
            result = self._run(watcher, before)
            steps = self.finish(watcher, result, self.compiled) if watcher.reason is None else None
            if watcher.reason is None:
                watcher.close(2)  # when results have asked for their sizes, too
        finally:
            self.why = watcher.reason
            watcher.undo(watcher.fresh)  # what was lent to it
        return (watcher, steps) if watcher.reason is None else None

    def _of_other_ints(self, first, variation, layouts):
        """The observation whose ints are where they seem to be, and not equal ones: the program is the same for other ints."""
        if not variation.reads:
            return first
        seen, fixed = [first], first[0].space.pinned
        for shift in _SHIFTS:
            watcher = Resized(variation, 1, self.observer.found is not None, shift, fixed)
            try:
                found = self._steps(watcher, layouts, variation)
            except (Exception, Escaped):  # there is no such index, or no such size
                continue
            if found is not None:
                known = (one for one in seen if _signature(one[0].graph) == _signature(watcher.graph))
                if (one := next(known, None)) is not None:
                    return one
                seen.append(found)
        self.why = Reason("an int that is read of a tensor cannot be told from others", self.observer.first_read)
        return None


def _all_change(runs):
    """Whether each of some numbers is another one in at least one of the runs."""
    return all(len(set(each)) > 1 for each in zip(*runs, strict=True))


def _shifted(before, now, by):
    """A number that is that of neither call."""
    shift = _FAR[by % len(_FAR)]
    if type(now) is float:
        return now * (1 + shift / 4) + shift / 16
    return now + shift if now + shift != before else now + 3 * shift


def _dims_of(free, layouts):
    return ", ".join(f"dim {i} of a tensor {tuple(layouts[source][2])}" for source, dims in free.items() for i in dims)


#: what is asked of a size that has one answer only
_PINNED = re.compile(r"\(?d\d+ == \d+\)?")


def _some(dims_of):
    return {source: dims for source, dims in dims_of.items() if dims}


def _of_sizes(dims_of, layouts, sizes):
    """The dims whose size is among these."""
    return _some({s: tuple(i for i in dims if layouts[s][2][i] in sizes) for s, dims in dims_of.items()})


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
