"""The sizes that may change: their names, their bounds, where they stand, and what others may be tried."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

from ._dims import Dim, HintType
from ._errors import UserError, UserErrorType
from ._sizes import Formula, Size

#: how a size may be changed: (name, the n-th other size). Primes, so that the rules of two sizes are told apart.
WAYS = {
    "signs": lambda size, n: (size + 1, -size - 4, size + 11)[n],  # of ints: no size is negative
    "more": lambda size, n: size + (1, 4, 11)[n],
    "times": lambda size, n: size * (2, 3, 5)[n],
    "less": lambda size, n: size - (1, 2, 3)[n],
    "part": lambda size, n: size // (2, 4, 8)[n] if size % 8 == 0 else 0,
    "within": None,
}
RUNS = 3


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
    #: the way in which it changes
    way: str | None = None

    def sizes(self, way: str, shift: int) -> list[int] | None:
        if way == "within":
            first = max(self.least, self.example - 64)
            nearby = [s for s in range(first, min(self.high, self.example + 16) + 1) if s != self.example]
            return [nearby[i * (len(nearby) - 1) // 2] for i in range(RUNS)] if nearby else None
        shift = shift if way in ("signs", "more") else 0
        found = [WAYS[way](self.example + (shift if n else 0), n) for n in range(RUNS)]
        return found if all(self.least <= s <= self.high for s in found) else None

    @property
    def least(self) -> int:
        """The least that is tried: sizes of 0 and 1 are programs of their own, for PyTorch too."""
        return max(self.low, 1) if self.low >= 0 else self.low

    @property
    def has_name(self) -> bool:
        """Whether the caller named it, and so its bounds."""
        return self.places[0][2] is not None


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
                low, high = what.bounds
                low = -(2**31) if dim is None and what.min is None else low
                found[name] = Symbol(name, low, high, size, [(leaf, dim, None)], what.type is HintType.AUTO)
    return list(found.values())


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


def sizes_of_names(symbols: list[Symbol], at: dict[str, int] | None = None) -> dict[str, int]:
    """What each name was: in the example, or where other sizes of some are given."""
    return {s.name: (at or {}).get(s.name, s.example) for s in symbols}


def rules_of_names(symbols: list[Symbol], inputs: dict[int, int]) -> dict[str, Any]:
    """What each name stands for in a program: a size of an input, by the number that a leaf has there."""
    found: dict[str, Any] = {}
    for symbol in symbols:
        leaf, dim, what = min(symbol.places, key=lambda place: place[2] is not None and place[2].root is not None)
        rule: Any = Size(inputs[leaf], dim)
        if what is not None and what.shift:
            rule = Formula(operator.sub, rule, what.shift)
        if what is not None and what.scale != 1:
            rule = Formula(operator.floordiv, rule, what.scale)
        found[symbol.name] = rule
    return found
