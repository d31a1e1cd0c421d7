"""Numbers that depend on sizes: found by running a program at several sizes and looking what they were each time.

A number that was 12, 20, 28 while a batch was 3, 5, 7 is ``4 * batch``. Four runs at unrelated sizes tell such rules apart.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass
from fractions import Fraction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


@dataclass(frozen=True)
class Size:
    """The size of a value along a dim; without a dim, the value itself, which is a number."""

    n: int
    dim: int | None


@dataclass(frozen=True)
class Formula:
    """An operator of Python on two numbers, or a function of one: ``Formula(operator.add, a, b)``, ``Formula(math.trunc, a)``."""

    function: object
    left: object
    right: object = None


@dataclass(frozen=True)
class Varying:
    """What a number was in each run."""

    seen: tuple

    def __str__(self) -> str:
        return ", ".join(map(str, self.seen))


def rule(seen: tuple[int, ...], known: Iterable[tuple[tuple[int, ...], Size]]) -> object | None:
    """A formula of sizes that gives the numbers seen, or None; ``known`` has the sizes and what they were, nearest first.

    >>> print(rule((12, 20, 28), [((3, 5, 7), Size(0, 0))]))
    Formula(function=<built-in function mul>, left=Size(n=0, dim=0), right=4)
    """
    sizes: dict[tuple[int, ...], Any] = {}
    for vector, size in known:
        if isinstance(vector[0], int):
            sizes.setdefault(vector, size)
        else:
            sizes.setdefault(tuple(map(math.trunc, vector)), Formula(math.trunc, size))
    if seen in sizes:
        return sizes[seen]
    for vector, size in sizes.items():
        if (found := _linear(seen, vector, size)) is not None:
            return found
    pairs = list(sizes.items())[:24]
    for i, (a, one) in enumerate(pairs):
        for b, two in pairs[i:]:
            both = Formula(operator.mul, one, two)
            vector = tuple(x * y for x, y in zip(a, b, strict=True))
            if seen == vector or (found := _multiple(seen, vector, both)) is not None:
                return both if seen == vector else found
    for a, one in pairs:
        for b, two in pairs:
            for function in (operator.add, operator.sub):
                vector = tuple(function(x, y) for x, y in zip(a, b, strict=True))
                shift = {s - v for s, v in zip(seen, vector, strict=True)}
                if len(shift) == 1 and a != b:
                    return _plus(Formula(function, one, two), shift.pop())
    for i, (a, one) in enumerate(pairs[:8]):
        for j, (b, two) in enumerate(pairs[i:8], i):
            for c, three in pairs[j:8]:
                vector = tuple(x * y * z for x, y, z in zip(a, b, c, strict=True))
                all_three = Formula(operator.mul, Formula(operator.mul, one, two), three)
                if seen == vector or (found := _multiple(seen, vector, all_three)) is not None:
                    return all_three if seen == vector else found
    return None


def _plus(size, number):
    if number == 0:
        return size
    return Formula(operator.add, size, number) if number > 0 else Formula(operator.sub, size, -number)


def _linear(seen, vector, size):
    """``k * size + c``, or ``(size + c) // q``."""
    if vector[0] == vector[1]:
        return None
    slope = Fraction(seen[1] - seen[0], vector[1] - vector[0])
    if slope.denominator == 1 and slope != 0:
        shift = seen[0] - int(slope) * vector[0]
        if all(s == int(slope) * v + shift for s, v in zip(seen, vector, strict=True)):
            return _plus(size if slope == 1 else Formula(operator.mul, size, int(slope)), shift)
    for q in (2, 4, 8, 16, 32, 3, 5, 6, 7, 9, 10, 12, 14):
        for shift in sorted(range(-q, 2 * q), key=abs):
            if all(s == (v + shift) // q for s, v in zip(seen, vector, strict=True)):
                return Formula(operator.floordiv, _plus(size, shift), q)
    return None


def _multiple(seen, vector, size):
    ratio = Fraction(seen[0], vector[0]) if vector[0] else Fraction(0)
    if not ratio or any(s != ratio * v for s, v in zip(seen, vector, strict=True)):
        return None
    found = size if ratio.numerator == 1 else Formula(operator.mul, size, ratio.numerator)
    return found if ratio.denominator == 1 else Formula(operator.floordiv, found, ratio.denominator)


def real_rule(seen: tuple[float, ...], known: Iterable[tuple[tuple[int, ...], Size]]) -> object | None:
    """The same for numbers that are no ints: a constant times a power of a size, or of the product of two.

    >>> print(real_rule((0.5, 0.25, 0.125), [((4, 16, 64), Size(0, 0))]).right)
    1.0
    """
    first: dict[tuple, Any] = {}
    for vector, size in known:
        first.setdefault(vector, size)
    sizes = list(first.items())
    pairs = itertools.combinations_with_replacement(sizes[:24], 2)
    products = (
        (tuple(x * y for x, y in zip(a, b, strict=True)), Formula(operator.mul, one, two))
        for (a, one), (b, two) in pairs
    )
    for vector, size in itertools.chain(sizes, products):
        for power in (1.0, -1.0, 0.5, -0.5, 2.0, -2.0):
            if not all(vector) or (power % 1 and min(vector) < 0):
                continue
            factors = [s / v**power for s, v in zip(seen, vector, strict=True)]
            if max(factors) - min(factors) <= 1e-12 * max(map(abs, factors)):
                return Formula(operator.mul, Formula(operator.pow, size, power), factors[0])
    return None
