"""Special functions, by series and fractions whose coefficients are written as what they are."""

from __future__ import annotations

import math
from fractions import Fraction

from . import operands, rule


class Sum:
    """Arithmetic on names of one dtype, so that a formula reads like one."""

    def __init__(self, w, name, dtype):
        self.w, self.name, self.dtype = w, name, dtype

    def _of(self, other):
        return other.name if isinstance(other, Sum) else self.w.const(float(other), self.dtype)

    def _new(self, kind, *names):
        return Sum(self.w, self.w.op(kind, *names), self.dtype)

    def __add__(self, other):
        return self._new("Add", self.name, self._of(other))

    def __sub__(self, other):
        return self._new("Sub", self.name, self._of(other))

    def __mul__(self, other):
        return self._new("Mul", self.name, self._of(other))

    def __truediv__(self, other):
        return self._new("Div", self.name, self._of(other))

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __rsub__(self, other):
        return self._new("Sub", self._of(other), self.name)

    def __rtruediv__(self, other):
        return self._new("Div", self._of(other), self.name)

    def __neg__(self):
        return self._new("Neg", self.name)

    def f(self, kind):
        """A function of ONNX of it."""
        return self._new(kind, self.name)

    def less(self, other):
        return self.w.op("Less", self.name, self._of(other))

    def equals(self, other):
        return self.w.op("Equal", self.name, self._of(other))

    def where(self, condition, yes):
        """``yes`` where the condition holds, and this elsewhere."""
        return self._new("Where", condition, self._of(yes), self.name)


def _special(function):
    """A rule of a formula ``function(x, row)`` of one tensor."""

    def write(w, a, out):
        dtype = out[0].dtype
        return function(Sum(w, w.cast(a.self, dtype), dtype)).name

    return write


def _polynomial(x, coefficients):
    """By Horner, the constant first."""
    *rest, total = coefficients
    for c in reversed(rest):
        total = total * x + c
    return total


def _error(x):
    return (x * math.sqrt(0.5)).f("Erf")


@rule("ndtr")
@_special
def ndtr(x):
    return (_error(x) + 1) * 0.5


@rule("log_ndtr")
@_special
def log_ndtr(x):
    """Below -2.5 by Laplace's continued fraction of the upper tail, where 1 + erf has few digits left."""
    low = x.less(-2.5)
    z = -x.where(x.w.op("Not", low), -2.5)
    tail = z
    for k in range(24, 0, -1):
        tail = z + k / tail
    far = -(z * z * 0.5) - tail.f("Log") - math.log(2 * math.pi) / 2
    near = ((_error(x) + 1) * 0.5).f("Log")
    return near.where(low, far)


@rule("entr")
@_special
def entr(x):
    found = -(x * x.f("Log"))
    return found.where(x.equals(0), 0).where(x.less(0), -math.inf)


@rule("xlog1py")
def xlog1py(w, a, out):
    dtype = out[0].dtype
    x, y = (Sum(w, name, dtype) for name in operands(w, dtype, a.self, a.other))
    product = x * (y + 1).f("Log")
    nan = w.op("IsNaN", y.name)
    return product.where(w.op("And", x.equals(0), w.op("Not", nan)), 0).name


def _stirling(y):
    """What Stirling's series adds to ``(y - 1/2) log y - y + log(2 pi) / 2``: B(2k) / (2k (2k - 1) y**(2k - 1))."""
    bernoulli = [Fraction(1, 6), Fraction(-1, 30), Fraction(1, 42), Fraction(-1, 30), Fraction(5, 66)]
    terms = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(bernoulli, 1)]
    return _polynomial(1 / (y * y), terms) / y


def _raised(x):
    """Where ``x`` is below 1/2 its mirror 1 - x; that plus 8 where it is below 8; the eight factors on the way."""
    mirrored = x.less(0.5)
    y = x.where(mirrored, 1 - x)
    small = y.less(8)
    steps = [(y + k).where(x.w.op("Not", small), 1) for k in range(8)]
    return mirrored, y.where(small, y + 8), steps, small


def _log_gamma(x):
    mirrored, y, steps, _ = _raised(x)
    product = steps[0]
    for step in steps[1:]:
        product = product * step
    found = (y - 0.5) * y.f("Log") - y + math.log(2 * math.pi) / 2 + _stirling(y) - product.f("Log")
    fraction = x - x.f("Floor")
    reflected = math.log(math.pi) - (fraction * math.pi).f("Sin").f("Abs").f("Log") - found
    return found.where(mirrored, reflected).where(x.w.is_inf(x.name, x.dtype), math.inf)


rule("lgamma")(_special(_log_gamma))


def _digamma(x):
    mirrored, y, steps, small = _raised(x)
    bernoulli = [Fraction(1, 6), Fraction(-1, 30), Fraction(1, 42), Fraction(-1, 30), Fraction(5, 66)]
    square = 1 / (y * y)
    found = y.f("Log") - 0.5 / y - square * _polynomial(square, [b / (2 * k) for k, b in enumerate(bernoulli, 1)])
    lost = 1 / steps[0]
    for step in steps[1:]:
        lost = lost + 1 / step
    found = found - (lost * 0).where(small, lost)
    fraction = x - x.f("Floor")
    angle = fraction * math.pi
    reflected = found - math.pi * angle.f("Cos") / angle.f("Sin")
    found = found.where(mirrored, reflected)
    pole = x.w.op("And", fraction.equals(0), x.less(0))
    return found.where(pole, math.nan).where(x.equals(0), -math.inf)


rule("digamma")(_special(_digamma))


def _bessel(x, order, scaled):
    """I(order) for 0 and 1: its power series up to 12, Hankel's expansion beyond."""
    size = x.f("Abs")
    far = x.w.op("Not", size.less(12))
    half = size.where(far, 1) * 0.5
    series = _polynomial(half * half, [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(28)])
    near = series * half if order else series
    z = size.where(size.less(12), 12)
    if not scaled:  # where exp has long been infinite, so that infinity is no 0 * inf
        z = z._new("Min", z.name, x.w.const(1400.0, x.dtype))
    terms, term = [], Fraction(1)
    for k in range(9):
        terms.append(term)
        term *= -Fraction(4 * order * order - (2 * k + 1) ** 2, 8 * (k + 1))
    beyond = _polynomial(1 / z, terms) / (z * (2 * math.pi)).f("Sqrt")
    if scaled:
        near = near * (-size).f("Exp")
    else:
        beyond = beyond * (z * 0.5).f("Exp") * (z * 0.5).f("Exp")
    found = near.where(far, beyond)
    return found * x.f("Sign") if order else found


for _name in ("i0", "i0e", "i1", "i1e"):
    rule(_name)(_special(lambda x, order=int(_name[1]), scaled=_name.endswith("e"): _bessel(x, order, scaled)))
rule("modified_bessel_i0")(_special(lambda x: _bessel(x, 0, False)))
rule("modified_bessel_i1")(_special(lambda x: _bessel(x, 1, False)))
