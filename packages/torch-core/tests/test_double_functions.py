"""Functions that float64 computes in registers of its own: how exact they are, and that the bits of a result do not
depend on where its element lies."""

import math
import os
import random
import subprocess
import sys

import mpmath
import pytest
import torch
from mpmath import mpf

# Without a fused multiply-add (level v2) libm computes, whose erf and erfc are further off.
FUSED = torch.backends.cpu.get_cpu_capability() != "DEFAULT"
# References, and bounds in units of the last place.
ONE = {
    "sin": (mpmath.sin, 1),
    "cos": (mpmath.cos, 1),
    "tan": (mpmath.tan, 1),
    "asin": (mpmath.asin, 1),
    "acos": (mpmath.acos, 1),
    "atan": (mpmath.atan, 1),
    "erf": (mpmath.erf, 1 if FUSED else 1.5),
    "erfc": (mpmath.erfc, 1 if FUSED else 3),
    "erfinv": (mpmath.erfinv, 2),
    "lgamma": (lambda x: mpmath.loggamma(x), 1.5 if FUSED else 2.5),  # of positive numbers
    "i0": (lambda x: mpmath.besseli(0, x), 1.5 if FUSED else 12),
}
TWO = {"pow": mpmath.power, "atan2": mpmath.atan2, "hypot": mpmath.hypot}
LARGEST = {"i0": 9, "erf": 3, "erfc": 4, "asin": -1, "acos": -1, "erfinv": -1}  # exponents
SEAMS = [0.41421356237, 0.5, 0.65, 0.84, 1.0, 2.41421356237, 7.5]  # where formulas change
CIRCULAR = ("sin", "cos", "tan")


def any_double(rng, largest=1023, smallest=-1074):
    return math.ldexp(rng.choice((-1, 1)) * (1 + rng.random()), rng.randint(smallest, largest))


def arguments(name, count=400):
    """Numbers of all sizes, between seams and on them, and those next to zeros of circular functions."""
    rng, xs = random.Random(name), []
    for _ in range(count // 4):
        xs += [rng.uniform(-8, 8), rng.uniform(-1, 1), any_double(rng, LARGEST.get(name, 1023))]
        xs.append(rng.choice((-1, 1)) * rng.choice(SEAMS) * (1 + rng.choice((-1, 0, 1)) * 2.0**-52))
        if name in CIRCULAR:
            with mpmath.workprec(200):
                xs.append(float(mpmath.pi / 2 * rng.randint(1, 2 ** rng.randint(1, 39))))
    inside = {"asin": 1, "acos": 1, "erfinv": 1 - 2.0**-53, "i0": 713, "erfc": 27}
    if name == "lgamma":
        xs = [abs(x) for x in xs] + [zero + rng.uniform(-1, 1) * 2.0**-40 for zero in (1, 2) for _ in range(9)]
    return [x for x in xs if abs(x) <= inside.get(name, math.inf)]


def pairs(name, count=400):
    rng, xs = random.Random(name), []
    for _ in range(count // 2):
        xs += [(any_double(rng), any_double(rng)), (rng.uniform(-3, 3), rng.uniform(-3, 3))]
    if name == "pow":  # exponents of which the result is finite
        xs = [(abs(x), 744 * math.sin(y) / abs(math.log(abs(x)))) for x, y in xs]
    return xs


def off_by(got, exact):
    """The error in units of the last place of the exact result."""
    return float(abs(mpf(got) - exact) / mpf(math.ulp(max(abs(float(exact)), sys.float_info.min))))


@pytest.mark.parametrize("name", ONE)
def test_a_function_of_doubles_is_as_exact_as_it_says(name):
    reference, bound = ONE[name]
    xs = arguments(name)
    ys = getattr(torch, name)(torch.tensor(xs, dtype=torch.float64)).tolist()
    with mpmath.workprec(1300 if name in CIRCULAR else 160):
        for x, y in zip(xs, ys):
            assert off_by(y, reference(mpf(x))) <= bound, x


@pytest.mark.parametrize("name", TWO)
def test_a_function_of_two_doubles_is_within_a_last_place(name):
    xs = pairs(name)
    x, y = torch.tensor(xs, dtype=torch.float64).unbind(1)
    with mpmath.workprec(160):
        for (a, b), z in zip(xs, getattr(torch, name)(x, y).tolist()):
            exact = TWO[name](mpf(a), mpf(b))
            if exact < mpf(sys.float_info.max):
                assert off_by(z, exact) <= 1, (a, b)
            else:
                assert z in (math.inf, sys.float_info.max)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 20, 21])
def test_derivatives_of_lgamma_of_positive_doubles(n):
    rng = random.Random(n)
    xs = [rng.uniform(0, 40) for _ in range(100)] + [10 ** rng.uniform(-14, 14) for _ in range(100)]
    xs = [x for x in xs if n or not 1.2 < x < 1.8]  # digamma has its zero there
    ys = torch.polygamma(n, torch.tensor(xs, dtype=torch.float64)).tolist()
    narrow = torch.polygamma(n, torch.tensor(xs, dtype=torch.float32)).tolist()
    with mpmath.workprec(160):
        for x, y, short in zip(xs, ys, narrow):
            exact = mpmath.psi(n, x)
            if abs(exact) < mpf(sys.float_info.max):
                assert off_by(y, exact) <= 4 + n, x
            if 1e-30 < abs(exact) < 1e38:
                rounded = torch.tensor(x, dtype=torch.float32).item()
                assert short == pytest.approx(float(mpmath.psi(n, rounded)), rel=3e-7)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 20, 21])
def test_derivatives_of_lgamma_of_negative_doubles(n):
    rng = random.Random(n)
    near = [-k - sign * 10 ** rng.uniform(-9, -1) for k in range(20) for sign in (1, -1)]
    xs = [-1e-200, -1e-20, -1e-10, -4e15 - 0.5, -3e9 - 0.25, *(rng.uniform(-30, 0) for _ in range(50)), *near]
    xs = [x for x in xs if x < 0 and (n % 2 or abs(x % 1 - 0.5) > 0.1)]  # even derivatives have a zero between poles
    ys = torch.polygamma(n, torch.tensor(xs, dtype=torch.float64)).tolist()
    with mpmath.workprec(400):
        for x, y in zip(xs, ys, strict=True):
            at_pole = mpf(x) - mpmath.nint(x)
            if abs(at_pole) < 1e-9:
                exact = -((-1) ** n) * mpmath.factorial(n) / at_pole ** (n + 1)
            else:  # reflection: d^n (pi cot(pi x)) / dx^n, of x between two poles
                cot = mpmath.diff(lambda t: mpmath.pi * mpmath.cot(mpmath.pi * t), at_pole, n)
                exact = (-1) ** n * mpmath.psi(n, 1 - mpf(x)) - cot
            assert y == pytest.approx(float(exact), rel=1e-13 * (1 + n)), x


def test_second_derivatives_of_lgamma_between_poles():
    for n, x in ((2, -0.5), (20, -0.5), (2, -1.5), (8, -0.5)):
        exact = float(mpmath.psi(n, 1 - mpf(x)))  # as small as on the other side of zero: the cotangent adds nothing
        assert torch.polygamma(n, torch.tensor(x, dtype=torch.float64)).item() == pytest.approx(exact, rel=1e-13)


def bits(x):
    return x.contiguous().view(torch.int64)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_the_bits_of_a_function_of_doubles_do_not_depend_on_where_an_element_lies(name):
    xs = torch.tensor(arguments(name) if name in ONE else pairs(name), dtype=torch.float64)
    operands = [xs] if name in ONE else [x.contiguous() for x in xs.unbind(1)]
    f = getattr(torch, name)
    expected = bits(f(*operands))
    one_by_one = torch.stack([bits(f(*(x[i] for x in operands))) for i in range(len(xs))])
    assert torch.equal(one_by_one, expected)
    for start in range(1, 9):
        assert torch.equal(bits(f(*(x[start:] for x in operands))), expected[start:])
    spread = [torch.full((len(xs), 3), math.nan, dtype=torch.float64) for _ in operands]
    for wide, x in zip(spread, operands):
        wide[:, 1] = x
    assert torch.equal(bits(f(*(wide[:, 1] for wide in spread))), expected)


@pytest.mark.parametrize("name", ["sin", "tan", "asin", "atan", "erf", "erfinv"])
def test_an_odd_function_of_doubles_is_odd_in_every_bit(name):
    x = torch.tensor([0.0, 5e-324, 2.3e-308, *arguments(name)], dtype=torch.float64)
    f = getattr(torch, name)
    assert torch.equal(bits(f(-x)), bits(-f(x)))


PROGRAM = """
import sys, hashlib, torch
sys.path.insert(0, sys.argv[1])
import test_double_functions as t
found = hashlib.sha256()
for name in [*t.ONE, *t.TWO]:
    xs = torch.tensor(t.arguments(name) if name in t.ONE else t.pairs(name), dtype=torch.float64)
    y = getattr(torch, name)(*([xs] if name in t.ONE else xs.unbind(1)))
    found.update(str(y.view(torch.int64).tolist()).encode())
print(found.hexdigest())
"""


def test_doubles_have_the_same_bits_with_registers_of_either_width():
    found = {}
    for level in ("v3", "v4"):
        command = [sys.executable, "-c", PROGRAM, os.path.dirname(__file__)]
        done = subprocess.run(command, env={**os.environ, "TORCH_CPU_LEVEL": level}, capture_output=True, text=True)
        if f"TORCH_CPU_LEVEL={level}: this processor" in done.stderr:
            pytest.skip(f"this processor lacks {level}")
        assert done.returncode == 0, done.stderr
        found[level] = done.stdout
    assert found["v3"] == found["v4"]
