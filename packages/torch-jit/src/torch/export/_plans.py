"""Which other sizes a program is watched at: found by running it."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from typing import Any

import torch
from torch import _pytree as pytree

from . import _assigned
from ._errors import UserError, UserErrorType
from ._guards import Guard
from ._questions import tried
from ._symbols import RUNS, WAYS, Symbol

_SMALL = 4096  #: elements of inputs that are tried whatever the example has


def resized(leaves: list[Any], moving: list[Symbol], sizes: dict[str, int]) -> list[Any]:
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


def found(
    function: Any, leaves: list[Any], spec: Any, moving: list[Symbol]
) -> tuple[list[Symbol], dict[str, list[int]]]:
    """Sizes that the program takes, for each symbol: found by trying. Those of symbols that go only together too."""
    plans: dict[str, list[int]] = {}
    left: list[Symbol] = []
    failures: dict[str, Exception] = {}
    for i, symbol in enumerate(moving):
        for way in WAYS:
            sizes = symbol.sizes(way, 2 * i)
            if sizes is None:
                continue
            errors = (_fails(function, leaves, spec, [symbol], {symbol.name: s}) for s in dict.fromkeys(sizes))
            if (error := next(filter(None, errors), None)) is None:
                plans[symbol.name], symbol.way = sizes, way
                break
            failures.setdefault(symbol.name, error)
        else:
            left.append(symbol)
    left = [s for s in left if (some := _some(function, leaves, spec, s)) is None or plans.update({s.name: some})]
    left.sort(key=lambda s: (s.example, not s.has_name))
    for _, group in itertools.groupby(left, key=lambda s: s.example):
        _agreeing(function, leaves, spec, list(group), plans)
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


def _agreeing(function, leaves, spec, left, plans):
    """Sizes that must agree, under several names: two, those of one dim, or all of one size."""
    while left:
        first, *others = left
        left = others
        of_dim = [s for s in others if s.places[0][1] == first.places[0][1]]
        for more in [*([s] for s in others), of_dim, others]:
            group = [first, *more]
            if more and (found := _common(function, leaves, spec, group)) is not None:
                first.way, sizes = found
                plans.update({s.name: sizes for s in group})
                for each in more:
                    each.same_as = first
                left = [s for s in others if s not in more]
                break


def _common(function, leaves, spec, group):
    """Sizes that the program takes of several symbols at once, and how they change; None where there are none."""
    both = replace(group[0], low=max(s.low for s in group), high=min(s.high for s in group))
    for way in WAYS:
        sizes = both.sizes(way, 0)
        if sizes and not any(_fails(function, leaves, spec, group, {s.name: n for s in group}) for n in sizes):
            return way, sizes
    return None


def _some(function, leaves, spec, symbol):
    """Three numbers near that of the example that the program takes; None where there are fewer."""
    near = range(max(symbol.least, symbol.example - 24), min(symbol.high, symbol.example + 24) + 1)
    nearby = [n for n in near if n != symbol.example]
    found: list[int] = []
    for n in sorted(nearby, key=lambda n: abs(n - symbol.example))[:48]:
        if _fails(function, leaves, spec, [symbol], {symbol.name: n}) is None:
            found.append(n)
            if len(found) == RUNS:
                return found
    return None


def _fails(function, leaves, spec, moving, sizes):
    fresh = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in resized(leaves, moving, sizes)]
    args, kwargs = pytree.tree_unflatten(fresh, spec)
    try:
        with torch.no_grad(), _assigned.put_back(function):
            function(*args, **kwargs)
    except Exception as error:  # whatever the program raises says that it does not take the size
        return error
    return None


def bounded(guards: list[Guard], moving: list[Symbol]) -> list[Guard]:
    """The guards without those that are bounds of one size, which it gets."""
    kept = []
    for guard in guards:
        symbol = next((s for s in moving if {s.name} == guard.names), None)
        low, high = (symbol.low, symbol.high) if symbol is not None and not symbol.has_name else (0, 0)
        holds = lambda n, guard=guard: guard.holds({next(iter(guard.names)): n})
        if low < high:
            example = symbol.example
            low, high = _last(holds, example, low), _last(holds, example, high)
            others = [n for n in tried(symbol.low, symbol.high) if holds(n) != (low <= n <= high)]
            if low < high and not others:
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


def guarded(moving: list[Symbol], plans: dict[str, list[int]], guards: list[Guard]) -> dict[str, list[int]] | None:
    """Sizes for the runs that follow for which guards and bounds hold; None where none were found."""
    draw, found = random.Random(0), []
    known = {s.name: s for s in moving}
    about = [known[n] for n in sorted({n for g in guards for n in g.names} | {s.name for s in moving}) if n in known]
    near = {s.name: list(range(max(s.least, s.example - 40), min(s.high, s.example + 140) + 1)) for s in about}
    near = {name: [n for n in sizes if n > 1 or known[name].low < 0] for name, sizes in near.items()}
    runs = [{name: sizes[n] for name, sizes in plans.items()} for n in range(RUNS)]
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


def far(
    leaves: list[Any], moving: list[Symbol], plans: dict[str, list[int]], guards: list[Guard]
) -> list[dict[str, int]]:
    """Sizes far from those of the example, where loops, lists and constants made in Python show that they follow a size: all at once
    or, where that would make the inputs large, one at a time. None are given for which guards do not hold."""
    base = {name: sizes[0] for name, sizes in plans.items()}
    found = {s.name: size for i, s in enumerate(moving) if s.same_as is None and (size := _far(s, i)) is not None}
    runs = [{**base, **found}]
    if _elements(leaves, moving, runs[0]) > (most := max(_SMALL, 4 * _elements(leaves, [], {}))):
        runs = [{**base, name: size} for name, size in found.items()]
    for run in runs:
        run.update({s.name: run[s.same_as.name] for s in moving if s.same_as is not None})
    fits = lambda run: _elements(leaves, moving, run) <= most and all(g.holds(run) for g in guards)
    return [run for run in runs if found and fits(run)]


def together(moving: list[Symbol], plans: dict[str, list[int]], guards: list[Guard]) -> list[dict[str, int]]:
    """Sizes at which all that are equal in the example change at once, where some were found to change alone only to multiples:
    whether others are taken can depend on what they meet. None are given for which guards do not hold.
    """
    found = []
    for _, group in itertools.groupby(sorted(moving, key=lambda s: s.example), key=lambda s: s.example):
        group = list(group)
        if len(group) < 2 or all(s.way in ("more", "signs") for s in group):
            continue
        for step in (1, 2, 5):
            run = {name: sizes[0] for name, sizes in plans.items()}
            run.update({s.name: s.example + step for s in group})
            if all(s.least <= run[s.name] <= s.high for s in group) and all(g.holds(run) for g in guards):
                found.append(run)
    return found


def small(moving: list[Symbol], plans: dict[str, list[int]], guards: list[Guard]) -> list[dict[str, int]]:
    """Sizes below that of the example, and some above. None are given for which guards do not hold."""
    found = []
    free = [s for s in moving if s.same_as is None and s.way in ("more", "signs")]
    for n in range(2, 10) if free else ():
        run = {name: sizes[0] for name, sizes in plans.items()}
        run.update({s.name: min(max(n + i, s.low), s.high) for i, s in enumerate(free)})
        run.update({s.name: run[s.same_as.name] for s in moving if s.same_as is not None})
        if run not in found and all(g.holds(run) for g in guards):
            found.append(run)
    return found


def _far(symbol, i):
    size = symbol.example + 131 + 16 * i
    if symbol.way == "times":
        size = symbol.example * (131 // symbol.example + 2) if symbol.example else None
    elif symbol.way not in ("more", "signs"):
        return None
    return None if size is None else min(size, symbol.high)


def _elements(leaves, moving, sizes):
    """How many elements the tensors among the leaves have at some sizes."""
    shapes = [list(x.shape) if isinstance(x, torch.Tensor) else [0] for x in leaves]
    for symbol in moving:
        for leaf, dim, what in symbol.places:
            if dim is not None:
                shapes[leaf][dim] = sizes[symbol.name] if what is None else what.size(sizes[symbol.name])
    return sum(math.prod(shape) for shape in shapes)
