"""Joins the recordings of a program at several sizes into one, with rules in place of numbers that follow sizes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import torch
from torch import _pytree as pytree
from torch._seams import SizeExpression as Expression

from . import _formulas, _rows, _sizes
from ._errors import UserError, UserErrorType
from ._nested import Nested
from ._numbers import Integer, Real, Truth
from ._questions import NAMED, unnamed
from ._sizes import Formula, Size
from ._tape import Ref, Tape


class Formulas:
    """Formulas that the program computed from the names of sizes while its example was recorded, and what they give in each run.

    ``sizes`` are those of the names in each run, ``rules`` what they stand for.
    """

    def __init__(self, sizes: list[dict[str, int]], rules: dict[str, Any], questions: Any = None) -> None:
        self.sizes, self.rules, self.questions = sizes, rules, questions
        #: what numbers were in each run, whose formula the program tells: (their type, what they were) -> text
        self.known: dict[tuple, str] = {}
        for text, value, place in questions.lost if questions is not None else ():
            self._lost(text, value, place)

    def _lost(self, text, value, place):
        """A number whose name was lost: one that was the same in all runs has to be so at other sizes."""
        if (seen := self._seen(text)) is None:
            return
        if len(set(seen)) > 1:
            self.known.setdefault((type(value), seen), text)
        elif len(seen) > 1 and seen[0] == value:
            self.questions.ask(f"({text} == {value!r})", True, place)

    def _seen(self, text):
        try:
            return tuple(_formulas.evaluate(text, sizes) for sizes in self.sizes)
        except _formulas.FAILURES:
            return None

    def rule(self, values: list[Any]) -> Any:
        """The rule of a number that the program computed from names, by what it was in each run; None where it is none."""
        first, seen = values[0], tuple(map(unnamed, values))
        if isinstance(first, NAMED) and self._seen(first.text) == seen:
            self.known.setdefault((_kind(first), seen), first.text)
            return _formulas.rule(first.text, self.rules)
        text = self.known.get((_kind(first), seen))
        return None if text is None else _formulas.rule(text, self.rules)

    def rules_of(self, kind: type) -> list[tuple[tuple, Any]]:
        """The formulas of numbers of a kind that the program computed, and what they were: others may follow from these."""
        return [(seen, _formulas.rule(text, self.rules)) for (each, seen), text in self.known.items() if each is kind]

    def of_sizes(self, varying: list[dict], tapes: list[Tape]) -> dict[int, dict[int, str]]:
        """What the sizes of values that follow from names are called: value -> dim -> formula."""
        found: dict[int, dict[int, str]] = {}
        named = [(tuple(sizes[name] for sizes in self.sizes), Expression.of(name)) for name in self.rules]
        unknown = zip(*(t.unknown for t in tapes)) if self.rules else ()
        named += [(tuple(u.seen for u in group), Expression.of(group[0].name)) for group in unknown]
        texts: dict[tuple, str | None] = {}
        for n, dims in enumerate(varying if self.rules else ()):
            for dim, seen in dims.items():
                if dim is None:
                    continue
                if seen not in texts:
                    text = texts[seen] = self.known.get((int, seen)) or self._followed(seen, named)
                    if text is not None:  # what stands behind follows from it: 2*(n//2) behind n//2
                        named.append((seen, Expression.of_text(text)))
                if texts[seen] is not None:
                    found.setdefault(n, {})[dim] = texts[seen]
        return found

    def _followed(self, seen, named):
        """The formula of a size, found from what it was; None for one that follows from numbers without a name, too."""
        found = _formulas.expression(_sizes.rule(seen, named))
        return (
            str(found) if found is not None and found.free_symbols <= set(self.rules) and found.free_symbols else None
        )

    def within(self) -> Formulas:
        """Those of a function within, which knows no names."""
        inner = Formulas([], {})
        inner.questions = self.questions
        return inner

    def ask_of_constant(self, value: Any, place: str) -> None:
        """A number that was the same in all runs has to be so at other sizes."""
        if self.questions is not None:
            self.questions.ask_of_constant(value, place)


def _kind(number):
    return int if isinstance(number, int) else float


def join(
    tapes: list[Tape], formulas: Formulas | None = None, around: Any = None
) -> tuple[Tape, list[dict[int, tuple[int, ...]]]]:
    """The tape of the first run, with rules in place of numbers that were others in the others.

    ``around(values)`` is asked where a function within takes a number that no rule of its own gives.
    """
    formulas = formulas or Formulas([], {})
    if around is None:  # a program may be joined again, with other runs
        tapes = [replace(tapes[0], values=[*tapes[0].values]), *tapes[1:]]
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
    inputs = [*first.inputs.values(), *first.named.values()]
    known = _Known(first, varying, inputs, formulas, around)
    constants, calls = _constants(tapes, varying, known)
    for group in zip(*(t.calls for t in tapes), strict=True):
        call = group[0]
        near = [r.n for r in pytree.tree_leaves(call.arguments) if isinstance(r, Ref)]
        arguments = {key: known.joined([c.arguments[key] for c in group], near, call, key) for key in call.arguments}
        calls.append(replace(call, arguments=arguments))
        known.add([n for n in call.results if n is not None])
    outputs = [known.joined(list(o), [], None, "result") for o in zip(*(t.outputs for t in tapes), strict=True)]
    return replace(first, calls=calls, outputs=outputs, constants=constants), varying


class _Known:
    """Sizes that formulas may speak of, by what they were."""

    def __init__(self, tape, varying, inputs, formulas, around):
        self._varying, self._order, self._around = varying, list(dict.fromkeys(inputs)), around
        self.formulas = formulas
        self._seen: dict[tuple, Size] = {}
        self._inputs: dict[tuple, Size] = {}
        self.add(self._order, self._inputs)

    def add(self, numbers, also=None):
        for n in numbers:
            for dim, seen in self._varying[n].items():
                self._seen.setdefault(seen, Size(n, dim))
                if also is not None:
                    also.setdefault(seen, Size(n, dim))

    def rule(self, values, near):
        """What gives these numbers: a formula that the program computed, else one that is found."""
        if (found := self.formulas.rule(values)) is not None:
            return found
        seen = tuple(map(unnamed, values))
        own = [(s, Size(n, dim)) for n in near for dim, s in self._varying[n].items()]
        known = [*self._inputs.items(), *own, *self.formulas.rules_of(_kind(seen[0])), *self._seen.items()]
        found = (_sizes.rule if isinstance(seen[0], int) else _sizes.real_rule)(seen, known)
        return self._around(values) if found is None and self._around is not None else found

    def joined(self, values, near, call, key):
        """One argument of several runs."""
        first = values[0]
        if isinstance(first, Nested):
            return self._joined_within(values, near)
        if isinstance(first, (list, tuple)):
            if len({len(v) for v in values}) > 1:
                raise _differs(values, call, key)
            return [self.joined(list(parts), near, call, key) for parts in zip(*values, strict=True)]
        if isinstance(first, (Integer, Real)) and first.rule is not None:
            if all(isinstance(v, (Integer, Real)) and v.rule == first.rule for v in values):
                return first.rule
        if all(isinstance(v, Truth) for v in values):
            sides = [self.joined([getattr(v, side) for v in values], near, call, key) for side in ("left", "right")]
            return Formula(first.function, *sides)
        numbers = [unnamed(v) for v in values]
        if all(_alike(numbers[0], v) for v in numbers[1:]):
            if len(values) > 1:
                self.formulas.ask_of_constant(first, str(call.place) if call is not None else "the program's result")
            return numbers[0]
        if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
            if (found := self.rule(values, near)) is not None:
                return found
        raise _differs(numbers, call, key)

    def _joined_within(self, values, near):
        """A function within: as its tape of the first run, with rules, of which some take numbers from around."""
        first, rules = values[0], []

        def around(values):
            if (rule := self.rule(values, near)) is None:
                return None
            if rule not in rules:
                rules.append(rule)
                numbers.append(inner.new_number(unnamed(values[0])))
                varying.append({None: tuple(map(unnamed, values))})
            return Size(numbers[rules.index(rule)], None)

        numbers, varying = [], []
        inner = replace(first.tape, values=[*first.tape.values])
        tape, own = join([inner, *(v.tape for v in values[1:])], self.formulas.within(), around)
        return replace(
            first, tape=tape, taken=[*first.taken], rules=list(zip(numbers, rules)), varying=[*own, *varying]
        )


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


def _constants(tapes, varying, known):
    """The constants of the first run that are those of all, and calls that make the others of numbers: ``torch.tensor([h, w])``."""
    first, kept, calls = tapes[0], {}, []
    for n, constant in first.constants.items():
        group = [t.constants.get(n) for t in tapes]
        if all(other is not None and torch.equal(constant, other) for other in group):
            kept[n] = constant
        elif any(other is None or other.shape != constant.shape for other in group) or constant.dim() > 1:
            raise _another(constant)
        elif constant.dim() == 0:
            calls.append(_full(group, n, known))
        else:
            parts = [_part(first, constant, varying) for _ in constant]
            calls += [_full([g[i] for g in group], part, known) for i, part in enumerate(parts)]
            calls.append(_rows.call("stack", {"tensors": [Ref(part) for part in parts]}, n))
    return kept, calls


def _part(tape, constant, varying):
    varying.append({})
    return tape.new(constant[0])


def _full(group, n, known):
    """A number of a tensor that was another one in other runs, as an operator that makes it."""
    try:
        value = known.joined([x.item() for x in group], [], None, "a tensor made in Python")
    except UserError:
        raise _another(group[0]) from None
    return _rows.call("full", {"size": [], "fill_value": value, "dtype": group[0].dtype}, n)


def _another(constant):
    return UserError(
        UserErrorType.DYNAMIC_DIM,
        f"a tensor of shape {tuple(constant.shape)} that the program keeps or makes in Python is another one at another size: make "
        "it by operators of torch (torch.arange, torch.full)",
    )
