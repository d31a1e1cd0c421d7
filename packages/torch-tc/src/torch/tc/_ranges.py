"""Ranges of variables, from what they index.

Every variable takes the largest range for which all elements that are read exist. Ranges after ``where`` stand. Then in rounds:
each subscript in which one variable is open bounds that one, and a round uses only what the rounds before it found, so that the order
of the text does not matter. ``I(h + kh) * W(kh)`` finds ``kh`` from W first, then ``h``. Elements that a condition guards bound
a variable only if nothing else does, those that it indexes by itself first.
"""

from __future__ import annotations

from torch.tc._index import LIMIT, Sizes, added, affine, bounds, interval, scaled
from torch.tc._source import Source
from torch.tc._syntax import Binary, Call, Choice, Expr, Name, Number, Range, Statement, children, walk

Ranges = dict[str, tuple[int, int]]  #: half open


def infer(source: Source, s: Statement, sizes: Sizes) -> Ranges:
    """The range of every variable of a statement."""
    ranges = {r.variable: declared(source, r, sizes) for r in s.ranges}
    guarded: list[tuple[Expr, int]] = []
    subscripts = [one for x in (s.value, *s.exists) for one in accesses(x, sizes, guarded)]
    known = sizes.shapes.get(s.target)
    if known is not None:  # a part or all of what was written before
        subscripts += [(Name(i, at), n) for i, at, n in zip(s.indices, s.places, known, strict=True)]
    open_ = {e.id: e.at for x in (s.value, *s.exists) for e in variables(x, sizes)}
    open_ = {v: at for v, at in {**dict(zip(s.indices, s.places, strict=True)), **open_}.items() if v not in ranges}
    while open_:
        found: Ranges = {}
        for among in (subscripts, [one for one in guarded if isinstance(one[0], Name)], guarded):
            if found:
                break
            for e, extent in among:
                for v, low, high in solve(e, extent, open_, ranges, sizes):
                    before = found.get(v, (low, high))
                    found[v] = max(before[0], low), min(before[1], high)
        if not found:
            v, at = next(iter(open_.items()))
            raise source.error(at, f"the range of {v} follows from nothing; say: where {v} in 0:N")
        for v, (low, high) in found.items():
            ranges[v] = low, max(low, high)
            del open_[v]
    for i, at in zip(s.indices, s.places, strict=True):
        if known is None and ranges[i][0]:
            raise source.error(at, f"{i} runs from {ranges[i][0]}, but {s.target} begins at 0; say: where {i} in 0:N")
    return ranges


def declared(source: Source, r: Range, sizes: Sizes) -> tuple[int, int]:
    ends = []
    for e in (r.low, r.high):
        form = affine(e, sizes)
        value = (form[1], form[1]) if form and not form[0] else interval(e, {}, sizes)
        if value is None or value[0] != value[1]:
            raise source.error(e.at, f"the range of {r.variable} is not made of whole numbers and sizes")
        ends.append(value[0])
    if ends[0] > ends[1]:
        raise source.error(r.at, f"{r.variable} runs from {ends[0]} down to {ends[1]}")
    if max(map(abs, ends)) >= LIMIT:
        raise source.error(r.at, f"the range of {r.variable} exceeds 32 bits")
    return ends[0], ends[1]


def variables(e: Expr, sizes: Sizes) -> list[Name]:
    return [x for x in walk(e) if isinstance(x, Name) and x.id not in sizes.names and x.id not in sizes.shapes]


def accesses(e: Expr, sizes: Sizes, guarded: list[tuple[Expr, int]]) -> list[tuple[Expr, int]]:
    """Every subscript below an expression with the extent that it indexes; those in a branch go to ``guarded``."""
    found = []
    if isinstance(e, Call) and e.name in sizes.shapes:
        found += zip(e.arguments, sizes.shapes[e.name], strict=True)
    branches = (e.yes, e.no) if isinstance(e, Choice) else ()
    if isinstance(e, Binary) and e.op in ("&&", "||"):
        branches = (e.right,)
    for below in children(e):
        if any(below is branch for branch in branches):
            guarded += accesses(below, sizes, guarded)
        else:
            found += accesses(below, sizes, guarded)
    return found


def solve(e: Expr, extent: int, open_, ranges: Ranges, sizes: Sizes) -> list[tuple[str, int, int]]:
    """What ``0 <= e < extent`` says of the one open variable in it."""
    low, high = 0, extent - 1
    while affine(e, sizes) is None:
        match e:  # (x / 2) is within 0..3 where x is within 0..7
            case Binary(op="/", left=left, right=Number(value=int() as by)) if by > 0:
                e, low, high = left, low * by, high * by + by - 1
            case _:
                return []
    factors, constant = affine(e, sizes)
    unknown = [v for v in factors if v in open_]
    if len(unknown) != 1:
        return []
    v = unknown[0]
    rest = bounds(({w: c for w, c in factors.items() if w != v}, constant), ranges)
    if rest is None:
        return []
    by, first, last = factors[v], low - rest[0], high - rest[1]
    if by < 0:
        by, first, last = -by, -last, -first
    return [(v, -(-first // by), last // by + 1)]


def conditions(e: Expr, sizes: Sizes, holds: bool = True) -> list[tuple[dict[str, int], int]]:
    """Affine forms that are not negative where a condition holds (or does not)."""
    match e:
        case Binary(op="&&", left=left, right=right) if holds:
            return conditions(left, sizes) + conditions(right, sizes)
        case Binary(op="||", left=left, right=right) if not holds:
            return conditions(left, sizes, False) + conditions(right, sizes, False)
        case Binary(op="<" | ">" | "<=" | ">=" | "==" as op, left=left, right=right):
            a, b = affine(left, sizes), affine(right, sizes)
            if a is None or b is None:
                return []
            difference = added(b, scaled(a, -1))  # right - left
            if op == "==":
                return [difference, scaled(difference, -1)] if holds else []
            if op in (">", ">="):
                difference = scaled(difference, -1)
            strict = op in ("<", ">")
            if not holds:  # not (0 <= d) is d <= -1
                difference, strict = scaled(difference, -1), not strict
            return [added(difference, ({}, -1))] if strict else [difference]
        case _ if getattr(e, "op", None) == "!" and hasattr(e, "value"):
            return conditions(e.value, sizes, not holds)
    return []


def proven(e: Expr, extent: int, given, ranges: Ranges, sizes: Sizes) -> bool:
    """Whether ``0 <= e < extent`` follows from ranges and from conditions."""
    form = affine(e, sizes)
    whole = interval(e, ranges, sizes)
    below = whole is not None and whole[0] >= 0
    above = whole is not None and whole[1] < extent
    if form is not None:
        for one in given:
            for side in (form, added(({}, extent - 1), scaled(form, -1))):
                rest = bounds(added(side, scaled(one, -1)), ranges)  # side = one + rest
                if rest is not None and rest[0] >= 0:
                    below, above = below or side is form, above or side is not form
    return below and above
