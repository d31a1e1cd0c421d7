"""Other values for the numbers that only values of tensors tell, so that what follows them shows in further runs."""

from __future__ import annotations

import itertools

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._tape import Tape

_RUNS = 3
_TRIES = 48


def found(tape: Tape, leaves: list[Any], record: Callable[..., Tape]) -> list[tuple[list[Any], dict[int, Any]]]:
    """For each further run the leaves of its arguments, and what its unknown numbers are set to, by their index.

    All are tried at once, then each alone; two that hold only together are tried as a sum that stays. What still fails is left to the values
    of other examples, drawn from the elements of this one.
    """
    others = [_others(unknown, tape, i) for i, unknown in enumerate(tape.unknown)]
    if all(len(values) >= _RUNS for values in others):
        together = [dict(enumerate(values)) for values in list(zip(*others))[:_RUNS]]
        if all(_runs(record, leaves, values) for values in together):
            return [(leaves, values) for values in together]
    forced: list[dict[int, Any]] = [{} for _ in range(_RUNS)]
    left = []
    for i, values in enumerate(others):
        values = _working(values, lambda value, i=i: _runs(record, leaves, {i: value}))
        for n in range(_RUNS if values else 0):
            forced[n][i] = values[n % len(values)]
        if not values:
            left.append(i)
    for i, j in itertools.combinations(list(left), 2):
        if not {i, j} <= set(left):
            continue
        one, two = tape.unknown[i].seen, tape.unknown[j].seen
        pairs = [(one + s, two - t * s) for s in (1, -1, 2, -2, 3, -3) for t in (1, -1)]
        works = _working(pairs, lambda pair, i=i, j=j: _runs(record, leaves, {i: pair[0], j: pair[1]}))
        for n in range(_RUNS if works else 0):
            forced[n][i], forced[n][j] = works[n % len(works)]
        if works:
            left.remove(i)
            left.remove(j)
    if not left:
        return [(leaves, values) for values in forced]
    given = _drawn(tape, leaves, record, left)
    return list(zip(given, forced))


def _others(unknown, tape, i):
    seen = unknown.seen
    if isinstance(seen, float):
        return [seen * 3 + 2.25, seen * 5 - 4.5, seen + 11.75]
    low, high = tape.bounds.get(unknown.name, [float("-inf"), float("inf")])
    if unknown.dim is not None:
        low = max(low, 0)
    shift = 2 * i
    first = [
        seen + 1 + shift,
        seen + 4 + shift,
        seen + 11 + shift,
        seen - 1,
        seen - 2,
        seen - 3,
        seen * 2,
        seen * 3,
        seen * 5,
    ]
    return [v for v in dict.fromkeys([*first, *range(max(seen, 0) * 2 + 16)]) if v != seen and low <= v <= high][
        :_TRIES
    ]


def _working(values, works):
    kept = []
    for value in values:
        if works(value):
            kept.append(value)
            if len(kept) == _RUNS:
                break
    return kept


def _runs(record, leaves, forced):
    try:
        record(leaves, forced)
    except Exception:  # whatever the program raises says that it does not take the number
        return False
    return True


def _drawn(tape, leaves, record, left):
    """Leaves of further runs, whose values give other numbers; those of the example where none do."""
    generator, runs = torch.Generator().manual_seed(0), []
    for _ in range(12):
        other = [
            x.flatten()[torch.randint(max(x.numel(), 1), (x.numel(),), generator=generator)].view(x.shape)
            if isinstance(x, torch.Tensor) and x.numel()
            else x
            for x in leaves
        ]
        try:
            seen = [u.seen for u in record(other, {}).unknown]
        except Exception:  # the program does not take these values
            continue
        if len(seen) == len(tape.unknown) and any(seen[i] != tape.unknown[i].seen for i in left):
            runs.append(other)
        if len(runs) == _RUNS:
            break
    return [runs[n % len(runs)] if runs else leaves for n in range(_RUNS)]
