"""Arithmetic of subscripts: their form, their least and greatest value."""

from __future__ import annotations

from collections.abc import Mapping

from torch.tc._syntax import Binary, Call, Choice, Expr, Name, Number, Size, Unary

Interval = tuple[int, int]  #: both ends included
LIMIT = 1 << 31  #: subscripts are 32-bit numbers


class Sizes:
    """What is known of extents: sizes by name, and the shapes of tensors."""

    def __init__(self, names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]):
        self.names, self.shapes = dict(names), dict(shapes)

    def value(self, e: Name | Size) -> int | None:
        if isinstance(e, Size):
            return self.shapes[e.tensor][e.dim]
        return self.names.get(e.id)


def affine(e: Expr, sizes: Sizes) -> tuple[dict[str, int], int] | None:
    """The factors of variables and the constant, or None for another form.

    >>> h, kh = Name("h", 0), Name("kh", 0)
    >>> affine(Binary("+", Binary("*", h, Number(2, 0), 0), kh, 0), Sizes({}, {}))
    ({'h': 2, 'kh': 1}, 0)
    """
    match e:
        case Number(value=int() as value):
            return {}, value
        case Name() | Size():
            value = sizes.value(e)
            if value is not None:
                return {}, value
            return ({e.id: 1}, 0) if isinstance(e, Name) and sizes.shapes.get(e.id) is None else None
        case Unary(op="-", value=below):
            found = affine(below, sizes)
            return found and scaled(found, -1)
        case Binary(op=op, left=left, right=right):
            a, b = affine(left, sizes), affine(right, sizes)
            if a is None or b is None:
                return None
            if op in "+-":
                return added(a, scaled(b, 1 if op == "+" else -1))
            if op == "*" and (not a[0] or not b[0]):
                return scaled(b, a[1]) if not a[0] else scaled(a, b[1])
            if not a[0] and not b[0] and op in "/%" and b[1] > 0:
                return {}, a[1] // b[1] if op == "/" else a[1] % b[1]
    return None


def scaled(a: tuple[dict[str, int], int], by: int) -> tuple[dict[str, int], int]:
    return {v: by * c for v, c in a[0].items() if by * c}, by * a[1]


def added(a: tuple[dict[str, int], int], b: tuple[dict[str, int], int]) -> tuple[dict[str, int], int]:
    factors = {v: a[0].get(v, 0) + b[0].get(v, 0) for v in {**a[0], **b[0]}}
    return {v: c for v, c in factors.items() if c}, a[1] + b[1]


def bounds(form: tuple[dict[str, int], int], ranges: Mapping[str, tuple[int, int]]) -> Interval | None:
    """The least and greatest value of an affine form over half-open ranges; None where a variable has none."""
    low = high = form[1]
    for v, c in form[0].items():
        if v not in ranges:
            return None
        first, last = ranges[v][0], ranges[v][1] - 1
        low, high = low + min(c * first, c * last), high + max(c * first, c * last)
    return low, high


def interval(e: Expr, ranges: Mapping[str, tuple[int, int]], sizes: Sizes) -> Interval | None:
    """The least and greatest value of an integer expression, or None where data decides."""
    form = affine(e, sizes)
    if form is not None:
        return bounds(form, ranges)
    match e:
        case Unary(op="-", value=below):
            a = interval(below, ranges, sizes)
            return a and (-a[1], -a[0])
        case Choice(yes=yes, no=no):
            a, b = interval(yes, ranges, sizes), interval(no, ranges, sizes)
            return (min(a[0], b[0]), max(a[1], b[1])) if a and b else None
        case Binary(op=op, left=left, right=right):
            a, b = interval(left, ranges, sizes), interval(right, ranges, sizes)
            return a and b and combined(op, a, b)
        case Call(name="min" | "max" as name, arguments=(left, right)):
            a, b = interval(left, ranges, sizes), interval(right, ranges, sizes)
            pick = min if name == "min" else max
            return (pick(a[0], b[0]), pick(a[1], b[1])) if a and b else None
    return None


def combined(op: str, a: Interval, b: Interval) -> Interval | None:
    """Two intervals under an operator; division rounds down, as the compiled code's does.

    >>> combined("/", (-3, 5), (2, 2)), combined("%", (-3, 5), (4, 4)), combined("-", (0, 3), (1, 2))
    ((-2, 2), (0, 3), (-2, 2))
    """
    match op:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "*":
            ends = [x * y for x in a for y in b]
            return min(ends), max(ends)
        case "/" if b[0] > 0:
            ends = [x // y for x in a for y in b]
            return min(ends), max(ends)
        case "%" if b[0] > 0:
            return a if a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)
    return None
