"""Incomplete gamma functions, Hurwitz' zeta function and polygamma: series that are as long as the largest element asks for."""

from __future__ import annotations

import math
from fractions import Fraction

import torch

from . import operands, rule
from .special import Sum, _digamma, _log_gamma

_DTYPE = torch.float64  # in which the series are computed
_MOST = 4096  # terms


def _doubles(w, *values):
    return [Sum(w, name, _DTYPE) for name in operands(w, _DTYPE, *values)]


def _count(terms):
    """The largest of a number of terms for each element, as the count of a loop."""
    w = terms.w
    plain = terms.where(w.op("IsNaN", terms.name), 0)
    most = w.op("Concat", w.reshape(plain.name, [-1]), w.const([16.0], _DTYPE), axis=0)  # there may be no element
    most = w.op("ReduceMax", most, keepdims=0)
    return w.op("Cast", w.op("Min", most, w.const(float(_MOST), _DTYPE)), to=7)


def _zeros(*values):
    """Zero for each element of values that are broadcast together."""
    total = sum(values[1:], values[0])
    w = total.w
    return w.op("Expand", w.const(0.0, _DTYPE), w.op("Shape", total.name))


def _summed(count, term, first):
    """``first`` and what ``term(k, total)`` makes of it, for k = 0, 1, ... as a float."""
    w = first.w

    def turn(k, total):
        return term(Sum(w, w.cast(k, _DTYPE, torch.int64), _DTYPE), Sum(w, total, _DTYPE)).name

    return Sum(w, w.loop(count, turn, first.name, _DTYPE), _DTYPE)


def _power(base, exponent):
    return base._new("Pow", base.name, exponent.name)


# --- zeta ---


def _hurwitz(x, q):
    """The sum of ``(q + k) ** -x``: terms until q + k is beyond 9, then Euler and Maclaurin's series for the rest."""
    w = x.w
    is_whole = w.op("Equal", q.f("Floor").name, q.name)
    count = _count((9 - q.f("Floor")).where(w.is_inf(q.name, _DTYPE), 0))
    total = _summed(count, lambda k, total: total + _power(q + k, -x), Sum(w, _zeros(x, q), _DTYPE))
    a = q + Sum(w, w.cast(count, _DTYPE, torch.int64), _DTYPE)
    b = _power(a, -x)
    total = total + a * b / (x - 1) + b * 0.5
    bernoulli = [
        Fraction(*each) for each in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510))
    ]
    factors = [each / math.factorial(2 * j) for j, each in enumerate(bernoulli, 1)]
    term = x * b / a * float(factors[0])
    for j, factor in enumerate(factors):
        if j:
            term = term * (x + (2 * j - 1)) * (x + 2 * j) / (a * a) * float(factor / factors[j - 1])
        total = total + term
    total = total.where(w.op("Less", a.name, w.const(1.0, _DTYPE)), math.nan)  # q is too far below 0
    has_power = w.op("Equal", x.f("Floor").name, x.name)
    pole = w.op("Not", w.op("Greater", q.name, w.const(0.0, _DTYPE)))
    total = total.where(w.op("And", pole, w.op("Not", has_power)), math.nan)
    total = total.where(w.op("And", pole, is_whole), math.inf)
    total = total.where(w.is_inf(q.name, _DTYPE, negative=0), 0)
    return total.where(x.less(1), math.nan).where(x.equals(1), math.inf)


@rule("zeta", "special_zeta")
def zeta(w, a, out):
    return w.cast(_hurwitz(*_doubles(w, a.self, a.other)).name, out[0].dtype, _DTYPE)


@rule("polygamma", "special_polygamma")
def polygamma(w, a, out):
    (x,) = _doubles(w, a.self)
    if a.n == 0:
        return w.cast(_digamma(x).name, out[0].dtype, _DTYPE)
    order = Sum(w, w.const(float(a.n + 1), _DTYPE), _DTYPE)
    factorial = float(math.factorial(a.n)) if a.n <= 170 else math.inf
    found = _hurwitz(order, x) * (factorial if a.n % 2 else -factorial)
    return w.cast(found.name, out[0].dtype, _DTYPE)


# --- incomplete gamma functions ---


def _regularized(s, x, upper):
    """P(s, x), or Q(s, x) where ``upper``: the power series of P below s + 1, the continued fraction of Q beyond."""
    w = s.w
    near = w.op("Less", x.name, (s + 1).name)
    count = _count((s.where(w.is_inf(s.name, _DTYPE), 0).f("Abs").f("Sqrt") * 9 + 64).f("Ceil"))
    turns = Sum(w, w.cast(count, _DTYPE, torch.int64), _DTYPE)
    small, large = x.where(w.op("Not", near), 0), x.where(near, 0)
    large = large._new("Max", large.name, (s + 1).name)
    ones = Sum(w, _zeros(s, x), _DTYPE) + 1
    series = _summed(count, lambda k, total: total * small / (s + (turns - k)) + 1, ones)

    def fraction(k, total):
        n = turns - k
        return large + (2 * n - 1) - s - n * (n - s) / total

    below = _summed(count, fraction, large + (2 * turns + 1) - s)
    density = (s * x.f("Log") - x - _log_gamma(s)).f("Exp")
    lower, rest = density * series / s, density / below
    found = rest.where(near, 1 - lower) if upper else (1 - rest).where(near, lower)
    return _at_the_ends(found, s, x, float(upper))


def _at_the_ends(found, s, x, zero):
    """``found``, with what holds at 0 and infinity; ``zero`` is the value for x = 0."""
    w = s.w
    one = 1 - zero
    s_inf, x_inf = (w.is_inf(each.name, _DTYPE) for each in (s, x))
    found = (
        found.where(x.equals(0), zero).where(s.equals(0), one).where(w.op("And", x.equals(0), s.equals(0)), math.nan)
    )
    found = found.where(x_inf, one).where(s_inf, zero).where(w.op("And", s_inf, x_inf), math.nan)
    return found.where(w.op("Or", x.less(0), s.less(0)), math.nan)


@rule("igamma", "igammac", "special_gammainc", "special_gammaincc")
def igamma(w, a, out):
    upper = w.step.name in ("igammac", "special_gammaincc")
    return w.cast(_regularized(*_doubles(w, a.self, a.other), upper).name, out[0].dtype, _DTYPE)
