"""Writes coefficients.h: Chebyshev series of the functions of torch.special, computed with 50 digits.

    python chebyshev.py > coefficients.h        (needs mpmath)

Each entry is a function of t on [-1, 1] that is smooth there: a special function with its growth, its logarithm or its
oscillation taken out, on an interval that t stands for. Where the interval ends at infinity, t is linear in a power of
1 / x, as in the asymptotic series. The comments name the relation of A&S (Abramowitz & Stegun) that is used.
"""

from mpmath import airyai, airybi, besseli, besselj, besselk, bessely, cos, erfc, exp, log, mp, mpf, pi, sin, sqrt

mp.dps = 50


def series(f):
    """The coefficients of f until they fall below half an ulp of the largest one."""
    n = 80
    nodes = [cos(pi * (k + mpf(1) / 2) / n) for k in range(n)]
    values = [f(t) for t in nodes]
    c = [2 * sum(v * cos(pi * j * (k + mpf(1) / 2) / n) for k, v in enumerate(values)) / n for j in range(n)]
    c[0] /= 2
    limit = max(map(abs, c)) * mpf(2) ** -56
    while abs(c[-1]) < limit:
        c.pop()
    assert len(c) < 60, len(c)
    return c


def from_zero(end):
    """x on [0, end] by t = 2 x / end - 1."""
    return lambda t: end * (1 + t) / 2


def from_zero_squared(end):
    """x on [0, end] by t = 2 x^2 / end^2 - 1."""
    return lambda t: end * sqrt((1 + t) / 2)


def to_infinity(begin, power=1):
    """x on [begin, inf) by t = 2 (begin / x)^power - 1."""
    return lambda t: begin / ((1 + t) / 2) ** (mpf(1) / power)


def erfcx_scaled(t):  # M. Shepherd and J. Laframboise, Math. Comp. 36 (1981) 249: t = (x - 3.75) / (x + 3.75)
    x = mpf("3.75") * (1 + t) / (1 - t)
    return (1 + 2 * x) * exp(x * x) * erfc(x)


def modulus(order, part):  # A&S 9.2.5 and 9.2.6: P and x Q
    def f(t):
        x = to_infinity(8, 2)(t)
        phase = x - order * pi / 2 - pi / 4
        j, y = besselj(order, x), bessely(order, x)
        p, q = j * cos(phase) + y * sin(phase), y * cos(phase) - j * sin(phase)
        return sqrt(pi * x / 2) * (p if part == "p" else x * q)

    return f


def zeta_of(x):
    return 2 * x ** (mpf(3) / 2) / 3


def x_of(zeta):
    return (3 * zeta / 2) ** (mpf(2) / 3)


def airy_wave(part):  # A&S 10.4.60 and 10.4.64 from x = -6 on: P and zeta Q
    def f(t):
        zeta = to_infinity(zeta_of(mpf(6)), 2)(t)
        z, phase = x_of(zeta), zeta + pi / 4
        a, b = airyai(-z), airybi(-z)
        p, q = a * sin(phase) + b * cos(phase), b * sin(phase) - a * cos(phase)
        return sqrt(pi) * z ** (mpf(1) / 4) * (p if part == "p" else zeta * q)

    return f


def airy_decay(t):  # A&S 10.4.59 from x = 1 on
    zeta = to_infinity(zeta_of(mpf(1)))(t)
    x = x_of(zeta)
    return 2 * sqrt(pi) * x ** (mpf(1) / 4) * exp(zeta) * airyai(x)


def at(place, f):
    return lambda t: f(place(t))


SERIES = {
    "kErfcx": erfcx_scaled,
    "kI0Small": at(from_zero(8), lambda x: exp(-x) * besseli(0, x)),
    "kI0Large": at(to_infinity(8), lambda x: sqrt(x) * exp(-x) * besseli(0, x)),
    "kI1Small": at(from_zero(8), lambda x: exp(-x) * besseli(1, x) / x),
    "kI1Large": at(to_infinity(8), lambda x: sqrt(x) * exp(-x) * besseli(1, x)),
    "kK0Small": at(from_zero_squared(2), lambda x: besselk(0, x) + log(x / 2) * besseli(0, x)),  # A&S 9.6.13
    "kK0Large": at(to_infinity(2), lambda x: sqrt(x) * exp(x) * besselk(0, x)),
    "kK1Small": at(from_zero_squared(2), lambda x: x * (besselk(1, x) - log(x / 2) * besseli(1, x))),  # A&S 9.6.11
    "kK1Large": at(to_infinity(2), lambda x: sqrt(x) * exp(x) * besselk(1, x)),
    "kJ0Small": at(from_zero_squared(8), lambda x: besselj(0, x)),
    "kJ1Small": at(from_zero_squared(8), lambda x: besselj(1, x) / x),
    "kY0Small": at(from_zero_squared(8), lambda x: bessely(0, x) - 2 / pi * log(x) * besselj(0, x)),  # A&S 9.1.13
    "kY1Small": at(
        from_zero_squared(8), lambda x: (bessely(1, x) - 2 / pi * (log(x) * besselj(1, x) - 1 / x)) / x
    ),  # A&S 9.1.11
    "kP0": modulus(0, "p"),
    "kQ0": modulus(0, "q"),
    "kP1": modulus(1, "p"),
    "kQ1": modulus(1, "q"),
    "kAiryMiddle": at(lambda t: (7 * t - 5) / 2, airyai),  # x on [-6, 1]
    "kAiryDecay": airy_decay,
    "kAiryP": airy_wave("p"),
    "kAiryQ": airy_wave("q"),
}

if __name__ == "__main__":
    print("// Written by chebyshev.py, which says what each series is; changes here are lost.")
    print("#pragma once\n\nnamespace torch::special {\n\n// clang-format off")
    for name, f in SERIES.items():
        numbers = ", ".join(repr(float(c)) for c in series(f))
        print(f"constexpr double {name}[] = {{{numbers}}};")
    print("// clang-format on\n\n}  // namespace torch::special")
