"""Runs a program once for each set of sizes, records it, and joins the recordings into one."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import random
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import _pytree as pytree

from . import _sizes, _variation
from ._dims import Dim
from ._errors import UserError, UserErrorType
from ._guards import Guard
from ._nested import Nested
from ._numbers import Integer, Real
from ._questions import Questions, ask_of_constant, number_named
from ._questions import tried as _questions_tried
from ._recorder import Recorder
from ._sizes import Size
from ._tape import Call, Ref, Tape

#: how a size may be changed: (name, the n-th other size). Primes, so that the rules of two sizes are told apart.
_WAYS = {
    "signs": lambda size, n: (size + 1, -size - 4, size + 11)[n],  # of ints: no size is negative
    "more": lambda size, n: size + (1, 4, 11)[n],
    "times": lambda size, n: size * (2, 3, 5)[n],
    "less": lambda size, n: size - (1, 2, 3)[n],
    "part": lambda size, n: size // (2, 4, 8)[n] if size % 8 == 0 else 0,
    "within": None,
}
_RUNS = 3


@dataclass
class Symbol:
    """A size that may change, or (without a dim) an int: its name, bounds, and where it stands: (leaf, dim, the Dim there)."""

    name: str
    low: int
    high: int
    example: int
    places: list[tuple[int, int | None, Dim | None]] = field(default_factory=list)
    optional: bool = False
    #: the symbol whose size this one has to have always
    same_as: Symbol | None = None

    def sizes(self, way: str, shift: int) -> list[int] | None:
        if way == "within":
            first = max(self.least, self.example - 64)
            nearby = [s for s in range(first, min(self.high, self.example + 16) + 1) if s != self.example]
            return [nearby[i * (len(nearby) - 1) // 2] for i in range(_RUNS)] if nearby else None
        shift = shift if way in ("signs", "more") else 0
        found = [_WAYS[way](self.example + (shift if n else 0), n) for n in range(_RUNS)]
        return found if all(self.least <= s <= self.high for s in found) else None

    @property
    def least(self) -> int:
        """The least that is tried: sizes of 0 and 1 are programs of their own, for PyTorch too."""
        return max(self.low, 1) if self.low >= 0 else self.low

    @property
    def has_name(self) -> bool:
        """Whether the caller named it, and so its bounds."""
        return self.places[0][2] is not None


@dataclass
class Program:
    """A joined recording: as the tape of the example, with rules where numbers follow sizes."""

    tape: Tape
    symbols: list[Symbol]
    #: for each value, its sizes in each run of the dims that vary
    varying: list[dict[int, tuple[int, ...]]]
    leaves: list[Any]
    spec: Any
    #: what the program asked of sizes, and would have been told otherwise of others
    guards: list[Guard] = field(default_factory=list)


def symbols(located: dict[int, dict[int, Any]], leaves: list[Any]) -> list[Symbol]:
    """The sizes that may change: one for each Dim's name, and one for each place without a name."""
    found: dict[str, Symbol] = {}
    for leaf, spec in located.items():
        for dim, what in spec.items():
            size = leaves[leaf] if dim is None else leaves[leaf].shape[dim]
            if isinstance(what, Dim):
                root = what.root or what
                if (size - what.shift) % what.scale:
                    raise UserError(UserErrorType.CONSTRAINT_VIOLATION, f"dynamic_shapes: {size} is no {what.name}")
                example = (size - what.shift) // what.scale
                low, high = root.bounds
                symbol = found.setdefault(root.name, Symbol(root.name, low, high, example))
                if symbol.example != example:
                    raise UserError(
                        UserErrorType.CONSTRAINT_VIOLATION,
                        f"dynamic_shapes: {root.name} is {symbol.example} in one input and {example} in another",
                    )
                symbol.places.append((leaf, dim, what))
            else:
                name = f"s{len(found)}"
                low = -(2**31) if dim is None else 0
                found[name] = Symbol(name, low, 2**31 - 1, size, [(leaf, dim, None)], what is Dim.AUTO)
    return list(found.values())


def observe(
    function: Any, args: tuple, kwargs: dict, located: dict[int, dict[int, Any]], preserved: tuple[str, ...] = ()
) -> Program:
    """Record a function or module on its example, and at other sizes where some may change."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    moving = symbols(located, leaves)
    run = _Runs(function, leaves, spec, preserved)
    with _put_back(function, leaves):
        while True:
            try:
                return run.program(moving)
            except UserError:
                if not (fixed := run.fixed(moving)):
                    raise
                moving = [s for s in moving if s not in fixed]


class _Runs:
    """Runs of a program at several sizes."""

    def __init__(self, function, leaves, spec, preserved):
        self.function, self.leaves, self.spec, self.preserved = function, leaves, spec, preserved

    def program(self, moving):
        """The joined recording of runs in which these sizes change."""
        function, leaves, spec = self.function, self.leaves, self.spec
        moving, plans = _plans(function, leaves, spec, moving)
        moving, plans, tape, guards, asked = self.example(moving, plans)
        again = lambda given, forced: _record(function, given, spec, forced, counts=_counts(moving))
        others = _variation.found(tape, leaves, again) if tape.unknown else None
        tapes = [tape]
        for n in range(_RUNS if moving or others else 0):
            sizes = {s.name: plans[s.name][n] for s in moving}
            given, forced = others[n] if others else (leaves, {})
            try:
                tapes.append(again(_resized(given, moving, sizes), forced))
            except UserError:
                raise
            except Exception as error:  # whatever the program raises says that it does not take these sizes
                if not sizes:
                    raise
                raise UserError(
                    UserErrorType.CONSTRAINT_VIOLATION,
                    f"Constraints violated ({', '.join(sizes)})! The program takes other sizes of each, and not "
                    f"{', '.join(f'{k} = {v}' for k, v in sizes.items())} together: {type(error).__name__}: {error}",
                ) from error
        asked.found = []
        tape, varying = join(tapes)
        guards = guards + _bounded([Guard(q.text, q.answer) for q, _ in self.unlike(asked, moving)], moving)
        guards = guards + [Guard(f"({s.name} == {s.same_as.name})", True) for s in moving if s.same_as is not None]
        return Program(_fixed(tape, tapes), moving, varying, leaves, spec, guards)

    def example(self, moving, plans):
        """The recording of the example, and what it asks of sizes that would be answered otherwise for others. Of sizes without
        a name that is a guard, if the program can be watched at other sizes for which it holds."""
        while True:
            asked = Questions({})
            tape = _record(self.function, self.leaves, self.spec, {}, moving, asked, self.preserved, _counts(moving))
            left = self.unlike(asked, moving)
            guards = _bounded([Guard(q.text, q.answer) for q, _ in left], moving)
            if not left or (found := _guarded(moving, plans, guards)) is not None:
                return moving, found if left else plans, tape, guards, asked
            fixed = [s for s in moving if s.optional and any(s.name in sizes for _, sizes in left)]
            if not fixed:
                question, sizes = left[0]
                raise _violated(question, sizes)
            moving = [s for s in moving if s not in fixed]

    def unlike(self, asked, moving):
        """Questions that other sizes answer otherwise. UserError for one about a size with a name."""
        found = list(asked.other_answers({s.name: (s.low, s.high) for s in moving}))
        for question, sizes in found:
            if any(s.has_name for s in moving if s.name in sizes) and not any(
                s.optional for s in moving if s.name in sizes
            ):
                raise _violated(question, sizes)
        return found

    def fixed(self, moving):
        """Sizes that may change or not, and at which the program runs other operators."""
        found = []
        for symbol in moving if len(moving) > 1 else []:
            if symbol.optional:
                try:
                    self.program([symbol])
                except UserError:
                    found.append(symbol)
        return found or [s for s in moving if s.optional]


def _counts(moving):
    """The leaves that are ints which may be others."""
    return {leaf for s in moving for leaf, dim, _ in s.places if dim is None}


def _violated(question, sizes):
    said = ", ".join(f"{name} is {size}" for name, size in sizes.items())
    return UserError(
        UserErrorType.CONSTRAINT_VIOLATION,
        f"Constraints violated ({', '.join(sizes)})! {question.place}: {question.text} is {question.answer} for the "
        f"example, and not where {said}: give the Dim a min or max for which it holds, or leave the size as it is",
    )


def _bounded(guards, moving):
    """The guards without those that are bounds of one size, which it gets."""
    kept = []
    for guard in guards:
        symbol = next((s for s in moving if {s.name} == guard.names), None)
        low, high = (symbol.low, symbol.high) if symbol is not None and not symbol.has_name else (0, 0)
        holds = lambda n, guard=guard: guard.holds({next(iter(guard.names)): n})
        if low < high:
            example = symbol.example
            low, high = _last(holds, example, low), _last(holds, example, high)
            tried = [n for n in _questions_tried(symbol.low, symbol.high) if holds(n) != (low <= n <= high)]
            if low < high and not tried:
                symbol.low, symbol.high = low, high
                continue
        kept.append(guard)
    return kept


def _last(holds, example, end):
    """How far towards an end a condition holds that holds for the example, if it changes once."""
    if holds(end):
        return end
    while abs(end - example) > 1:
        middle = (example + end) // 2
        example, end = (middle, end) if holds(middle) else (example, middle)
    return example


def _guarded(moving, plans, guards):
    """Sizes for the runs that follow for which guards and bounds hold; None where none were found."""
    draw, found = random.Random(0), []
    known = {s.name: s for s in moving}
    about = [known[n] for n in sorted({n for g in guards for n in g.names} | {s.name for s in moving}) if n in known]
    near = {s.name: list(range(max(s.least, s.example - 40), min(s.high, s.example + 140) + 1)) for s in about}
    near = {name: [n for n in sizes if n > 1 or known[name].low < 0] for name, sizes in near.items()}
    runs = [{name: sizes[n] for name, sizes in plans.items()} for n in range(_RUNS)]
    fits = lambda run: all(g.holds(run) for g in guards) and all(s.least <= run[s.name] <= s.high for s in about)
    for run in runs:
        for _ in range(4000):
            if fits(run) and all(
                run[s.name] != s.example and run[s.name] not in [r[s.name] for r in found] for s in about
            ):
                found.append(run)
                break
            if not all(near.values()):
                return None
            run = {name: draw.choice(near[name]) for name in run}
            run.update({s.name: run[s.same_as.name] for s in about if s.same_as is not None and s.same_as.name in run})
        else:
            return None
    return {name: [run[name] for run in found] for name in plans}


def _fixed(tape: Tape, tapes: list[Tape]) -> Tape:
    """The tape with a check of each number that only values tell and that was the same in all runs: what was computed
    from it is a constant."""
    calls = list(tape.calls)
    for i, unknown in enumerate(tape.unknown):
        if any(t.unknown[i].seen != unknown.seen for t in tapes):
            continue
        at = next((k for k, call in enumerate(calls) if unknown.n in call.results), None)
        if at is None:
            continue
        text = (
            f"{unknown.place}: {unknown.name} is {unknown.seen} in this exported program, which runs with no other value "
            "that its example could be given"
        )
        arguments = {"function": "eq", "left": Size(unknown.n, unknown.dim), "right": unknown.seen}
        check = Call(
            "_check", torch.ops.aten._assert_scalar, arguments, frozenset(), {"text": text}, [], True, unknown.place
        )
        calls.insert(at + 1, check)
    return replace(tape, calls=calls)


def _record(function, leaves, spec, forced, moving=(), asked=None, preserved=(), counts=()):
    module = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
    module = module if isinstance(module, torch.nn.Module) else None
    named = dict(module.named_parameters()) if module is not None else {}
    buffers = dict(module.named_buffers()) if module is not None else {}
    recorder = Recorder({**named, **buffers}, set(buffers), module, forced)
    recorder.preserve(preserved)
    fresh = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in leaves]
    for i, leaf in enumerate(fresh):
        if isinstance(leaf, torch.Tensor):
            recorder.input(i, leaf)
        elif i in counts:
            recorder.count(i, leaf)
    for symbol in moving:
        for leaf, dim, _ in symbol.places:
            if dim is None:
                fresh[leaf] = number_named(fresh[leaf], symbol.name, asked)
    args, kwargs = pytree.tree_unflatten(fresh, spec)
    for symbol in moving:
        for leaf, dim, what in symbol.places:
            if dim is None:
                continue
            scale, shift = (1, 0) if what is None else (what.scale, what.shift)
            text = symbol.name if (scale, shift) == (1, 0) else f"({scale} * {symbol.name} + {shift})"
            asked.names.setdefault(id(fresh[leaf]), {})[dim] = text
    with recorder.recording(), asked.listening() if moving else contextlib.nullcontext():
        result = function(*args, **kwargs)
    return recorder.finish(result)


@contextlib.contextmanager
def _put_back(function, leaves):
    """Buffers have their values again after the block, and so has the generator of random numbers."""
    module = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
    before = [(b, b.detach().clone()) for b in module.buffers()] if isinstance(module, torch.nn.Module) else []
    random = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(random)
        with torch.no_grad():
            for buffer, value in before:
                buffer.copy_(value)


def _resized(leaves, moving, sizes):
    """The example with other sizes: what is there, repeated or cut off."""
    leaves = list(leaves)
    for symbol in moving:
        for leaf, dim, what in symbol.places:
            size = sizes[symbol.name] if what is None else what.size(sizes[symbol.name])
            if dim is None:
                leaves[leaf] = size
                continue
            have = leaves[leaf].shape[dim]
            if have == 0:
                raise UserError(
                    UserErrorType.DYNAMIC_DIM, f"{symbol.name} is 0 in the example: give one of another size"
                )
            leaves[leaf] = leaves[leaf].index_select(dim, torch.arange(size) % have)
    return leaves


def _plans(function, leaves, spec, moving):
    """Sizes that the program takes, for each symbol: found by trying. Those of symbols that go only together too."""
    plans: dict[str, list[int]] = {}
    left: list[Symbol] = []
    failures: dict[str, Exception] = {}
    for i, symbol in enumerate(moving):
        for way in _WAYS:
            sizes = symbol.sizes(way, 2 * i)
            if sizes is None:
                continue
            errors = (_fails(function, leaves, spec, [symbol], {symbol.name: s}) for s in dict.fromkeys(sizes))
            if (error := next(filter(None, errors), None)) is None:
                plans[symbol.name] = sizes
                break
            failures.setdefault(symbol.name, error)
        else:
            left.append(symbol)
    left = [s for s in left if (some := _some(function, leaves, spec, s)) is None or plans.update({s.name: some})]
    # Sizes that must agree, under several names.
    for _, group in itertools.groupby(sorted(left, key=lambda s: s.example), key=lambda s: s.example):
        together = list(group)
        for way in _WAYS:
            sizes = [s.sizes(way, 0) for s in together]
            if not all(sizes):
                continue
            runs = [{s.name: own[n] for s, own in zip(together, sizes, strict=True)} for n in range(_RUNS)]
            if not any(_fails(function, leaves, spec, together, run) for run in runs):
                plans.update({s.name: own for s, own in zip(together, sizes, strict=True)})
                for each in together[1:]:
                    each.same_as = together[0]
                break
    kept = [s for s in moving if s.name in plans]
    for symbol in moving:
        if symbol.name not in plans and not symbol.optional:
            error = failures.get(symbol.name)
            raise UserError(
                UserErrorType.CONSTRAINT_VIOLATION,
                f"Constraints violated ({symbol.name})! {symbol.name} was to change, and the program takes only {symbol.example}"
                + (f": {type(error).__name__}: {error}" if error else ": its bounds leave no other sizes to try")
                + f"\nSuggested fixes:\n  {symbol.name} = {symbol.example}",
            ) from error
    return kept, plans


def _some(function, leaves, spec, symbol):
    """Three numbers near that of the example that the program takes; None where there are fewer."""
    near = range(max(symbol.least, symbol.example - 24), min(symbol.high, symbol.example + 24) + 1)
    nearby = [n for n in near if n != symbol.example]
    found: list[int] = []
    for n in sorted(nearby, key=lambda n: abs(n - symbol.example))[:48]:
        if _fails(function, leaves, spec, [symbol], {symbol.name: n}) is None:
            found.append(n)
            if len(found) == _RUNS:
                return found
    return None


def _fails(function, leaves, spec, moving, sizes):
    fresh = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in _resized(leaves, moving, sizes)]
    args, kwargs = pytree.tree_unflatten(fresh, spec)
    try:
        with torch.no_grad():
            function(*args, **kwargs)
    except Exception as error:  # whatever the program raises says that it does not take the size
        return error
    return None


def refuse_other_names(symbols: list[Symbol], names: list[str]) -> None:
    """UserError for Dims of two names whose sizes must be equal; those without a name are free to be."""
    pairs = [(s, s.same_as) for s in symbols if s.same_as and s.places[0][2] is not None and s.same_as.places[0][2]]
    if not pairs:
        return
    where = lambda s: f"{s.name} = {names[s.places[0][0]]}.size()[{s.places[0][1]}]"
    lines = [f"  - The values of {where(s)} and {where(other)} must always be equal." for s, other in pairs]
    fixes = [f"  {s.name} = {other.name}" for s, other in pairs]
    raise UserError(
        UserErrorType.CONSTRAINT_VIOLATION,
        "\n".join(
            [f"Constraints violated ({', '.join(s.name for s, _ in pairs)})!", *lines, "Suggested fixes:", *fixes]
        ),
    )


def names_of_leaves(function: Any, args: tuple, kwargs: dict) -> list[str]:
    """What the leaves of the arguments are called: by the parameters of forward, and the way into containers."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    args, kwargs = pytree.tree_unflatten(list(range(len(leaves))), spec)
    try:
        parameters = inspect.signature(
            function.forward if isinstance(function, torch.nn.Module) else function
        ).parameters
    except (TypeError, ValueError):
        parameters = {}
    names = [p.name for p in parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD][: len(args)]
    rest = next((p.name for p in parameters.values() if p.kind is p.VAR_POSITIONAL), "args")
    names += [f"{rest}_{i}" for i in range(len(args) - len(names))]
    found: dict[int, str] = {}
    for name, tree in [*zip(names, args, strict=True), *kwargs.items()]:
        for path, index in pytree.tree_flatten_with_path(tree)[0]:
            found[index] = "_".join([name, *(_key(k) for k in path)])
    return [found[i] for i in range(len(leaves))]


def _key(key):
    for attribute in ("idx", "key", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


# --- joining ---


def join(tapes: list[Tape], around: Any = None) -> tuple[Tape, list[dict[int, tuple[int, ...]]]]:
    """The tape of the first run, with rules in place of numbers that were others in the others.

    ``around(seen)`` is asked where a function within takes a number that no rule of its own gives.
    """
    first = tapes[0]
    for calls in itertools.zip_longest(*(t.calls for t in tapes)):
        names = [c.name if c is not None else None for c in calls]
        if len(set(names)) > 1:
            there = next(c for c in calls if c is not None)
            raise UserError(
                UserErrorType.DYNAMIC_CONTROL_FLOW,
                f"{there.place}: what the program computes depends on a size that was to change: it called "
                f"{' / '.join(str(n or 'nothing more') for n in names)} at different sizes (a loop over a size? "
                "torch.jit.script keeps loops)",
            )
    if len({len(t.values) for t in tapes}) > 1:
        raise UserError(
            UserErrorType.DYNAMIC_DIM,
            "the program makes another number of tensors at another size (split or unbind along a dim that changes? leave that dim "
            "as it is)",
        )
    varying = []
    for values in zip(*(t.values for t in tapes), strict=True):
        if values[0].number is not None:
            seen = tuple(v.number for v in values)
            varying.append({None: seen} if len(set(seen)) > 1 else {})
            continue
        if len({(len(v.shape), v.dtype) for v in values}) > 1:
            raise UserError(UserErrorType.DYNAMIC_DIM, "a tensor has other dims or another dtype at another size")
        shapes = list(zip(*(v.shape for v in values), strict=True))
        varying.append({dim: seen for dim, seen in enumerate(shapes) if len(set(seen)) > 1})
    _same_constants(tapes)
    inputs = [*first.inputs.values(), *first.named.values()]
    known = _Known(first, varying, inputs, around)
    calls = []
    for group in zip(*(t.calls for t in tapes), strict=True):
        call = group[0]
        near = [r.n for r in pytree.tree_leaves(call.arguments) if isinstance(r, Ref)]
        arguments = {
            key: _joined([c.arguments[key] for c in group], lambda seen, near=near: known.rule(seen, near), call, key)
            for key in call.arguments
        }
        calls.append(replace(call, arguments=arguments))
        known.add([n for n in call.results if n is not None])
    outputs = [
        _joined(list(o), lambda seen: known.rule(seen, []), None, "result")
        for o in zip(*(t.outputs for t in tapes), strict=True)
    ]
    return replace(first, calls=calls, outputs=outputs), varying


class _Known:
    """Sizes that formulas may speak of, by what they were."""

    def __init__(self, tape, varying, inputs, around):
        self._varying, self._order, self._around = varying, list(dict.fromkeys(inputs)), around
        self._seen: dict[tuple, Size] = {}
        self._inputs: dict[tuple, Size] = {}
        self.add(self._order, self._inputs)

    def add(self, numbers, also=None):
        for n in numbers:
            for dim, seen in self._varying[n].items():
                self._seen.setdefault(seen, Size(n, dim))
                if also is not None:
                    also.setdefault(seen, Size(n, dim))

    def rule(self, seen, near):
        own = [(s, Size(n, dim)) for n in near for dim, s in self._varying[n].items()]
        known = [*self._inputs.items(), *own, *self._seen.items()]
        found = (_sizes.rule if isinstance(seen[0], int) else _sizes.real_rule)(seen, known)
        return self._around(seen) if found is None and self._around is not None else found


def _joined(values, find, call, key):
    """One argument of several runs."""
    first = values[0]
    if isinstance(first, Nested):
        return _joined_within(values, find)
    if isinstance(first, (list, tuple)):
        if len({len(v) for v in values}) > 1:
            raise _differs(values, call, key)
        return [_joined(list(parts), find, call, key) for parts in zip(*values, strict=True)]
    if isinstance(first, (Integer, Real)) and first.rule is not None:
        if all(isinstance(v, (Integer, Real)) and v.rule == first.rule for v in values):
            return first.rule
    if all(_alike(first, v) for v in values[1:]):
        if len(values) > 1:
            ask_of_constant(first, str(call.place) if call is not None else "the program's result")
        return first
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        if (found := find(tuple(values))) is not None:
            return found
    raise _differs(values, call, key)


def _joined_within(values, find):
    """A function within: as its tape of the first run, with rules, of which some take numbers from around."""
    first, rules = values[0], []

    def around(seen):
        if (rule := find(seen)) is None:
            return None
        if rule not in rules:
            rules.append(rule)
            numbers.append(first.tape.new_number(seen[0]))
            varying.append({None: seen})
        return Size(numbers[rules.index(rule)], None)

    numbers, varying = [], []
    tape, own = join([v.tape for v in values], around)
    return replace(first, tape=tape, taken=[*first.taken], rules=list(zip(numbers, rules)), varying=[*own, *varying])


def _alike(a, b):
    if isinstance(a, float) and isinstance(b, float) and a != a:
        return b != b
    if isinstance(a, int) and isinstance(b, int) and not isinstance(a, bool) and not isinstance(b, bool):
        return int(a) == int(b)
    return type(a) is type(b) and a == b


def _differs(values, call, key):
    where = f"{call.place}: {call.name}({key}=...)" if call is not None else "the program's result"
    return UserError(
        UserErrorType.DYNAMIC_DIM,
        f"{where} is {' / '.join(map(str, values))} at different sizes, by no rule that could be found",
    )


def _same_constants(tapes):
    for n, constant in tapes[0].constants.items():
        for other in tapes[1:]:
            if n not in other.constants or not torch.equal(constant, other.constants[n]):
                raise UserError(
                    UserErrorType.DYNAMIC_DIM,
                    f"a tensor of shape {tuple(constant.shape)} that the program keeps or makes in Python is another one at "
                    "another size: make it by operators of torch (torch.arange, torch.full)",
                )
