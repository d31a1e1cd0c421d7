"""Runs a program once for each set of sizes, records it, and joins the recordings into one."""

from __future__ import annotations

import contextlib
import inspect
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import _pytree as pytree
from torch.compiler._guards import writes_to
from torch.jit import _native

from . import _assigned, _plans, _variation
from ._errors import UserError, UserErrorType
from ._guards import Guard
from ._join import Formulas, join
from ._questions import Questions
from ._recorder import Recorder
from ._sizes import Size
from ._symbols import RUNS, Symbol, rules_of_names, sizes_of_names, symbols
from ._tape import Call, Tape


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


_ROUNDS = 5  #: until no further sizes are found to follow from those with names


def observe(
    function: Any, args: tuple, kwargs: dict, located: dict[int, dict[int, Any]], preserved: tuple[str, ...] = ()
) -> Program:
    """Record a function or module on its example, and at other sizes where some may change."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    moving = symbols(located, leaves)
    run = _Runs(function, leaves, spec, preserved)
    with _put_back(function):
        if moving:  # runs at other sizes, which nobody watches, would write to parameters: this one refuses that
            _record(function, leaves, spec, {}, counts=_counts(moving))
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
        self._others = None

    def program(self, moving):
        """The joined recording of runs in which these sizes change.

        The first time it shows which sizes of tensors on the way follow from those with names, the second time these know their formulas, too.
        """
        moving, plans = _plans.found(self.function, self.leaves, self.spec, moving)
        texts, recorded, near, watched, far = {}, None, [], None, None
        for _ in range(_ROUNDS):
            if recorded != texts:
                moving, plans, tape, guards, asked = self.example(moving, plans, texts)
                recorded = texts
            if plans != watched:
                near, watched = self.near(moving, plans, tape), plans
            others = [*near, *((run, found) for run, found in far or () if all(g.holds(run) for g in guards))]
            sizes = [sizes_of_names(moving), *(sizes_of_names(moving, run) for run, _ in others)]
            asked.forget()
            formulas, tapes = (
                Formulas(sizes, rules_of_names(moving, tape.inputs), asked),
                [tape, *(t for _, t in others)],
            )
            joined, varying = join(tapes, formulas)
            if (found := formulas.of_sizes(varying, tapes)) != texts:
                texts = found
            elif far or not (far := self.far(moving, plans, tape, guards, asked)):
                break
        guards = guards + _plans.bounded([Guard(q.text, q.answer) for q, _ in self.unlike(asked, moving)], moving)
        guards = guards + [Guard(f"({s.name} == {s.same_as.name})", True) for s in moving if s.same_as is not None]
        return Program(_fixed(joined, tapes), moving, varying, self.leaves, self.spec, guards)

    def near(self, moving, plans, tape):
        """Recordings at sizes near those of the example, and with other numbers where only values of tensors tell them: (sizes, recording)."""
        others = self.other_values(moving, tape)
        found = []
        for n in range(RUNS if moving or others else 0):
            sizes = {s.name: plans[s.name][n] for s in moving}
            try:
                found.append((sizes, self.at(sizes, moving, *others[n])))
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
        return found

    def far(self, moving, plans, tape, guards, asked):
        """Recordings at sizes far from those of the example, where the program takes them. What is asked of a number that lost
        its name nobody sees, only that smaller sizes answer otherwise."""
        found, runs = [], _plans.far(self.leaves, moving, plans, guards)
        runs += _plans.together(moving, plans, guards)
        for sizes in [*runs, *(_plans.small(moving, plans, guards) if asked.lost else ())]:
            with contextlib.suppress(Exception):  # as above
                found.append((sizes, self.at(sizes, moving, *self.other_values(moving, tape)[0])))
        return found

    def at(self, sizes, moving, leaves, forced):
        """The recording at some sizes."""
        return _record(self.function, _plans.resized(leaves, moving, sizes), self.spec, forced, counts=_counts(moving))

    def other_values(self, moving, tape):
        """Arguments for further runs, and what numbers that only values of tensors tell are set to there."""
        if not tape.unknown:
            return [(self.leaves, {})] * RUNS if moving else []
        if self._others is None:
            again = lambda given, forced: _record(self.function, given, self.spec, forced, counts=_counts(moving))
            self._others = _variation.found(tape, self.leaves, again)
        return self._others

    def example(self, moving, plans, texts):
        """The recording of the example, and what it asks of sizes that would be answered otherwise for others. Of sizes without
        a name that is a guard, if the program can be watched at other sizes for which it holds."""
        while True:
            asked = Questions()
            counts = _counts(moving)
            tape = _record(self.function, self.leaves, self.spec, {}, moving, asked, self.preserved, counts, texts)
            left = self.unlike(asked, moving)
            guards = _plans.bounded([Guard(q.text, q.answer) for q, _ in left], moving)
            if not left or (found := _plans.guarded(moving, plans, guards)) is not None:
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


def _record(function, leaves, spec, forced, moving=(), asked=None, preserved=(), counts=(), texts=()):
    module = _assigned.module_of(function)
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
    if moving:
        _name(fresh, moving, asked)
        recorder.met = lambda n, tensor: asked.names.setdefault(id(tensor), texts[n]) if n in texts else None
    args, kwargs = pytree.tree_unflatten(fresh, spec)
    listening = asked.listening() if moving else contextlib.nullcontext()
    with _assigned.put_back(function), recorder.recording(), listening:
        result = function(*args, **kwargs)
    return recorder.finish(result)


def _name(leaves, moving, asked):
    """Let sizes of tensors, and ints, that may change know their names."""
    for symbol in moving:
        for leaf, dim, what in symbol.places:
            if dim is None:
                leaves[leaf] = asked.number(leaves[leaf], symbol.name)
                continue
            scale, shift = (1, 0) if what is None else (what.scale, what.shift)
            asked.names.setdefault(id(leaves[leaf]), {})[dim] = f"{scale} * {symbol.name} + {shift}"


@contextlib.contextmanager
def _put_back(function):
    """Buffers have their values again after the block, and so has the generator of random numbers. So no write to a buffer counts: a
    gradient that is yet to be computed may need what it was, and finds that.
    """
    module = _assigned.module_of(function)
    buffers = [] if module is None else list(module.buffers())
    before = [(b, b.detach().clone(), writes_to(b)) for b in buffers]
    random = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(random)
        written = [each for each in before if each[2] is None or writes_to(each[0]) != each[2]]
        for buffer, value, _ in written:
            with torch.inference_mode(buffer.is_inference()), torch.no_grad():
                buffer.copy_(value)
        for buffer, _, count in written:
            if count is not None:
                _native._set_version(buffer, count)


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
