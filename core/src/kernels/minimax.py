"""Prints the polynomials of math.h: minimax fits by Remez exchange, with interval and error, in need of mpmath.

    python core/src/kernels/minimax.py            # all
    python core/src/kernels/minimax.py exp_f32    # one

A fit p of g with weight w minimises max |p(x) - g(x)| * w(x) over the interval; its coefficients are then rounded to the
type. The fits leave the leading terms of each function to the formula, so this rounding is far below the result's.
"""

import struct
import sys

import mpmath as mp
from mpmath import mpf

mp.mp.prec = 200


def to_f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def to_f64(x):
    return mpf(float(x))


def remez(g, weight, a, b, powers):
    """Coefficients of x**p, p in powers, and the error level."""
    n = len(powers)
    # Shifted a little: a node where the weight or every power vanishes would make the system singular.
    nodes = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (i + mpf("0.503")) / (n + 1)) for i in range(n + 1)]
    for _ in range(30):
        rows = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for i, x in enumerate(nodes):
            for j, p in enumerate(powers):
                rows[i, j] = x**p * weight(x)
            rows[i, n] = (-1) ** i
            right[i] = g(x) * weight(x)
        solution = mp.lu_solve(rows, right)
        coefficients = [solution[j] for j in range(n)]

        def error(x):
            return (sum(c * x**p for c, p in zip(coefficients, powers)) - g(x)) * weight(x)

        grid = sorted({a + (b - a) * mpf(i) / (24 * n) for i in range(24 * n + 1)} | set(nodes))
        values = [error(x) for x in grid]
        peaks = []  # the largest |error| of each run of one sign
        for x, e in zip(grid, values):
            if peaks and (e > 0) == (peaks[-1][1] > 0):
                if abs(e) > abs(peaks[-1][1]):
                    peaks[-1] = (x, e)
            else:
                peaks.append((x, e))
        while len(peaks) > n + 1:
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        if len(peaks) < n + 1:
            break
        new = [x for x, _ in peaks]
        low, high = min(abs(e) for _, e in peaks), max(abs(e) for _, e in peaks)
        nodes = new
        if high - low < mpf("1e-3") * high:
            break
    return coefficients, max(abs(v) for v in values)


def fit(g, weight, a, b, powers, rounding):
    """Rounded coefficients and the largest weighted error that remains."""
    a, b = mpf(a), mpf(b)
    rounded = [rounding(c) for c in remez(g, weight, a, b, list(powers))[0]]
    grid = [a + (b - a) * mpf(i) / 2000 for i in range(2001)]
    error = max(abs((sum(c * x**p for c, p in zip(rounded, powers)) - g(x)) * weight(x)) for x in grid)
    return rounded, error


LN2 = mp.log(2)


def exp_tail(r):  # (exp(r) - 1 - r) / r^2
    return mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 12]) if abs(r) < mpf("1e-3") else (mp.expm1(r) - r) / r**2


def log_tail(z):  # log((1 + s) / (1 - s)) = 2 s + s z R(z), z = s^2
    if z < mpf("1e-8"):
        return mpf(2) / 3 + 2 * z / 5 + 2 * z**2 / 7
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


def log_tail_from_second(z):  # log((1 + s) / (1 - s)) = 2 s + s z (2/3 + z Q(z))
    if z < mpf("1e-8"):
        return mpf(2) / 5 + 2 * z / 7 + 2 * z**2 / 9
    return (log_tail(z) - mpf(2) / 3) / z


def sin_tail(z):  # sin(r) = r + r z S(z), z = r^2
    if z < mpf("1e-8"):
        return -mpf(1) / 6 + z / 120 - z**2 / 5040
    r = mp.sqrt(z)
    return (mp.sin(r) / r - 1) / z


def cos_tail(z):  # cos(r) = 1 - z / 2 + z^2 C(z)
    if z < mpf("1e-6"):
        return mpf(1) / 24 - z / 720 + z**2 / 40320 - z**3 / 3628800
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def atan_tail(z):  # atan(t) = t + t z A(z), z = t^2
    if z < mpf("1e-8"):
        return -mpf(1) / 3 + z / 5 - z**2 / 7
    t = mp.sqrt(z)
    return (mp.atan(t) / t - 1) / z


def asin_tail(z):  # asin(t) = t + t z A(z), z = t^2
    if z < mpf("1e-8"):
        return mpf(1) / 6 + 3 * z / 40 + 15 * z**2 / 336
    t = mp.sqrt(z)
    return (mp.asin(t) / t - 1) / z


def erf_exponent(x):  # -log(erfc(x)) / x - 1
    if x < mpf("1e-12"):
        return 2 / mp.sqrt(mp.pi) * (1 + x / mp.sqrt(mp.pi)) - 1
    return -mp.log(mp.erfc(x)) / x - 1


def erfinv_of_w(w):  # erfinv(x) / x with w = -log(1 - x^2)
    if w < mpf("1e-10"):
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    y = mp.erfinv(x) if w < 60 else None
    return y / x


def erf_tail(z):  # erf(x) = x + x E(z), z = x^2
    if z < mpf("1e-20"):
        return 2 / mp.sqrt(mp.pi) * (1 - z / 3) - 1
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def erfc_scaled(t):  # t = (x - 4) / (x + 4): (1 + 2 x) exp(x^2) erfc(x)
    x = 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def i0_rest(z):  # I0(x) = 1 + z + z^2 / 4 + z^3 / 36 + z^4 R(z), z = x^2 / 4
    if z < mpf("1e-8"):
        return mpf(1) / 576 + z / 14400
    return (mp.besseli(0, 2 * mp.sqrt(z)) - 1 - z - z**2 / 4 - z**3 / 36) / z**4


def i0_scaled(t):  # t = 15 / x - 1: sqrt(x) exp(-x) I0(x), by the asymptotic series (DLMF 10.40.1) far out
    u = (t + 1) / 15
    if u < mpf("1e-3"):
        return mp.hyp2f0(0.5, 0.5, u / 2) / mp.sqrt(2 * mp.pi)
    return mp.exp(-1 / u) * mp.besseli(0, 1 / u) / mp.sqrt(u)


def lgamma_middle(t):  # t = x - 3/2: lgamma(x) / ((x - 1) (x - 2))
    x = t + mpf(3) / 2
    if abs(x - 1) < mpf("1e-25") or abs(x - 2) < mpf("1e-25"):
        return mp.euler if x < 1.5 else 1 - mp.euler
    return mp.loggamma(x) / ((x - 1) * (x - 2))


Q = mp.pi / 4
FITS = {
    "exp_f32": (exp_tail, lambda r: LN2**2 / 4 / mp.exp(r), -LN2 / 2, LN2 / 2, range(6), to_f32),
    "exp_f64": (exp_tail, lambda r: LN2**2 / 4 / mp.exp(r), -LN2 / 2, LN2 / 2, range(11), to_f64),
    "log_f32": (log_tail, lambda z: z / 2, 0, (mp.sqrt(2) - 1) ** 4, range(3), to_f32),
    "log_f64": (log_tail, lambda z: z / 2, 0, (mp.sqrt(2) - 1) ** 4, range(7), to_f64),
    # Enough for float results, evaluated in double.
    "sin_f64": (sin_tail, lambda z: z, 0, Q**2, range(4), to_f64),
    "cos_f64": (cos_tail, lambda z: z * z, 0, Q**2, range(4), to_f64),
    "atan_f64": (atan_tail, lambda z: z, 0, 1, range(11), to_f64),
    "asin_f64": (asin_tail, lambda z: z, 0, mpf(1) / 4, range(8), to_f64),
    "erfc_f64": (
        erfc_scaled,
        lambda t: 1 / erfc_scaled(t),
        -1,
        (mpf("10.1") - 4) / (mpf("10.1") + 4),
        range(12),
        to_f64,
    ),
    # For results in double: reduced angles reach a little beyond pi/4, arcs tan(pi/8), see math/trigonometric.h.
    "sin_full": (sin_tail, lambda z: z, 0, mpf("0.786") ** 2, range(7), to_f64),
    "cos_full": (cos_tail, lambda z: z * z, 0, mpf("0.786") ** 2, range(6), to_f64),
    "atan_full": (atan_tail, lambda z: z, 0, mpf("0.4143") ** 2, range(12), to_f64),
    "asin_full": (asin_tail, lambda z: z, 0, mpf(1) / 4, range(13), to_f64),
    "erf_full": (erf_tail, lambda z: mpf(1), 0, mpf("0.845") ** 2, range(12), to_f64),
    "erfc_full": (
        lambda t: erfc_scaled(t) - 1,
        lambda t: 1 / erfc_scaled(t),
        -mpf("3.4") / mpf("4.6"),
        mpf(3) / 4,
        range(24),
        to_f64,
    ),
    "log_full": (log_tail_from_second, lambda z: z * z / 2, 0, (mp.sqrt(2) - 1) ** 4, range(7), to_f64),
    "i0_rest_full": (
        i0_rest,
        lambda z: z**4 / mp.besseli(0, 2 * mp.sqrt(z)),
        0,
        mpf(225) / 16,
        range(12),
        to_f64,
    ),
    "i0_scaled_full": (
        lambda t: i0_scaled(t) - to_f64(0.4),
        lambda t: 1 / i0_scaled(t),
        -1,
        1,
        range(25),
        to_f64,
    ),
    "lgamma_full": (
        lambda t: lgamma_middle(t) - mpf(1) / 2,
        lambda t: 1 / lgamma_middle(t),
        -mpf("0.6"),
        mpf("0.6"),
        range(26),
        to_f64,
    ),
    # The start of an iteration in double.
    "erfinv_tail_full": (
        lambda s: erfinv_of_w((s + 3) ** 2),
        lambda s: 1 / erfinv_of_w((s + 3) ** 2),
        mp.sqrt(5) - 3,
        mpf("3.02"),
        range(12),
        to_f64,
    ),
    # erf(x) = -expm1(-(x + x L(x))).
    "erf_f32": (erf_exponent, lambda x: x * mp.erfc(x) / mp.erf(x) if x > 0 else mpf(1), 0, 4, range(11), to_f32),
    "erfinv_center_f64": (
        lambda w: erfinv_of_w(w + mpf("2.5")),
        lambda w: 1 / erfinv_of_w(w + mpf("2.5")),
        -2.5,
        2.5,
        range(11),
        to_f64,
    ),
    "erfinv_tail_f64": (
        lambda s: erfinv_of_w((s + 3) ** 2),
        lambda s: 1 / erfinv_of_w((s + 3) ** 2),
        mp.sqrt(5) - 3,
        mpf("4.1") - 3,
        range(10),
        to_f64,
    ),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or FITS:
        g, weight, a, b, powers, rounding = FITS[name]
        coefficients, error = fit(g, weight, a, b, powers, rounding)
        digits = 9 if rounding is to_f32 else 17
        print(f"{name}: [{mp.nstr(mpf(a), 6)}, {mp.nstr(mpf(b), 6)}], error 2^{mp.nstr(mp.log(error, 2), 4)}")
        print("  " + ", ".join(mp.nstr(c, digits) for c in coefficients), flush=True)
