"""torch.special against mpmath with 30 digits."""

import math

import numpy as np
import pytest
import torch

mp = pytest.importorskip("mpmath")
special = torch.special

EVERYWHERE = [
    -700,
    -50.5,
    -20,
    -8.25,
    -7.9,
    -3.7,
    -1,
    -0.3,
    -1e-8,
    0,
    1e-8,
    0.2,
    0.9,
    1,
    1.1,
    2,
    2.1,
    3.9,
    5.5,
    7.9,
    8.1,
    12,
    19,
    45,
    690,
]
POSITIVE = [x for x in EVERYWHERE if x > 0]
#: name: the function in mpmath, the places, the bound on the error relative to the size that only rounding x can change
FUNCTIONS = {
    "airy_ai": (mp.airyai, [x for x in EVERYWHERE if x < 100]),
    "bessel_j0": (lambda x: mp.besselj(0, x), EVERYWHERE),
    "bessel_j1": (lambda x: mp.besselj(1, x), EVERYWHERE),
    "bessel_y0": (lambda x: mp.bessely(0, x), POSITIVE),
    "bessel_y1": (lambda x: mp.bessely(1, x), POSITIVE),
    "entr": (lambda x: -x * mp.log(x), POSITIVE),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [x for x in EVERYWHERE if x > -26]),
    "i0e": (lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), EVERYWHERE),
    "i1": (lambda x: mp.besseli(1, x), EVERYWHERE),
    "i1e": (lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), EVERYWHERE),
    "log_ndtr": (lambda x: mp.log(mp.ncdf(x)) if x < 0 else mp.log1p(-mp.ncdf(-x)), [x for x in EVERYWHERE if x < 30]),
    "modified_bessel_i0": (lambda x: mp.besseli(0, x), EVERYWHERE),
    "modified_bessel_i1": (lambda x: mp.besseli(1, x), EVERYWHERE),
    "modified_bessel_k0": (lambda x: mp.besselk(0, x), POSITIVE),
    "modified_bessel_k1": (lambda x: mp.besselk(1, x), POSITIVE),
    "ndtr": (lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, [x for x in EVERYWHERE if x > -30]),
    "scaled_modified_bessel_k0": (lambda x: mp.exp(x) * mp.besselk(0, x), POSITIVE),
    "scaled_modified_bessel_k1": (lambda x: mp.exp(x) * mp.besselk(1, x), POSITIVE),
    "spherical_bessel_j0": (lambda x: mp.sin(x) / x if x else mp.mpf(1), EVERYWHERE),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_agrees_with_mpmath(name):
    """To 8 units in the last place, and as much as a change of x by half a unit makes: that is what x stands for."""
    exact, places = FUNCTIONS[name]
    with mp.workdps(40):
        got = getattr(special, name)(torch.tensor(places, dtype=torch.float64)).tolist()
        single = getattr(special, name)(torch.tensor(places)).tolist()
        for x, y, z in zip(places, got, single, strict=True):
            want = exact(mp.mpf(x))
            change = abs(exact(mp.mpf(x) * (1 + mp.mpf(2) ** -53)) - want) + abs(
                exact(mp.mpf(x) * (1 - mp.mpf(2) ** -53)) - want
            )
            # Near zeros of waves, the size of the wave.
            size = mp.sqrt(2 / (mp.pi * max(abs(x), 1))) if name.startswith(("bessel", "airy")) and abs(want) < 1 else 0
            bound = 2.0**-50 * max(abs(want), size if name != "airy_ai" or x < 0 else 0) + 8 * change
            assert abs(y - want) <= bound, (x, y, float(want))
            rounded = float(torch.tensor(x))
            near = exact(mp.mpf(rounded))
            if abs(near) < 3e38:
                assert abs(z - near) <= 1e-7 * max(abs(near), size) + 1e-44, (x, z, float(near))


def test_ndtri_inverts_ndtr_from_the_lowest_number_to_the_one_below_one():
    p = torch.tensor([5e-324, 1e-300, 1e-20, 0.001, 0.1, 0.4999, 0.5, 0.7, 0.999, 1 - 2**-53], dtype=torch.float64)
    with mp.workdps(30):
        for q, x in zip(p.tolist(), special.ndtri(p).tolist(), strict=True):
            back = mp.ncdf(mp.mpf(x))
            assert abs(back - q) <= 4e-16 * max(1, x * x) * min(q, 1) + 5e-324, (q, x)
    assert special.ndtri(torch.tensor([0.0, 1.0, -0.5, 1.5])).tolist()[:2] == [-math.inf, math.inf]
    assert special.ndtri(torch.tensor([-0.5, 1.5])).isnan().all()


@pytest.mark.parametrize(
    "name, at, value",
    [
        ("airy_ai", math.inf, 0), ("bessel_j0", -math.inf, 0), ("bessel_y0", 0, -math.inf), ("bessel_y0", -1, math.nan),
        ("bessel_y1", 0, -math.inf), ("bessel_y1", math.inf, 0), ("entr", 0, 0), ("entr", -1, -math.inf), ("erfcx", -30, math.inf), ("erfcx", math.inf, 0),
        ("i0e", math.inf, 0), ("i1e", -math.inf, 0), ("i1", -math.inf, -math.inf), ("log_ndtr", -math.inf, -math.inf),
        ("modified_bessel_k0", 0, math.inf), ("modified_bessel_k0", math.inf, 0), ("modified_bessel_k1", -1, math.nan),
        ("ndtr", -math.inf, 0), ("ndtr", math.inf, 1), ("spherical_bessel_j0", math.inf, 0), ("spherical_bessel_j0", 0, 1),
    ],
)  # fmt: skip
def test_edges(name, at, value):
    got = getattr(special, name)(torch.tensor(float(at))).item()
    assert got == value or (got != got and value != value)
    assert math.isnan(getattr(special, name)(torch.tensor(math.nan)).item())


POLYNOMIALS = {
    "chebyshev_polynomial_t": mp.chebyt,
    "chebyshev_polynomial_u": mp.chebyu,
    "chebyshev_polynomial_v": lambda n, x: mp.chebyu(n, x) - mp.chebyu(n - 1, x),
    "chebyshev_polynomial_w": lambda n, x: mp.chebyu(n, x) + mp.chebyu(n - 1, x),
    "hermite_polynomial_h": mp.hermite,
    "hermite_polynomial_he": lambda n, x: 2 ** (mp.mpf(-n) / 2) * mp.hermite(n, x / mp.sqrt(2)),
    "laguerre_polynomial_l": lambda n, x: mp.fsum(
        (-x) ** k * mp.binomial(n, k) / mp.factorial(k) for k in range(n + 1)
    ),
    "legendre_polynomial_p": mp.legendre,
}


@pytest.mark.parametrize("name", [*POLYNOMIALS, *(f"shifted_chebyshev_polynomial_{k}" for k in "tuvw")])
def test_polynomials(name):
    function, x = getattr(special, name), [-2.5, -1, -0.7, 0, 0.3, 1, 1.7]
    exact = POLYNOMIALS[name.removeprefix("shifted_")]
    with mp.workdps(60):
        for n in (0, 1, 2, 5, 12, 60):
            got = function(torch.tensor(x, dtype=torch.float64), n).tolist()
            for a, y in zip(x, got, strict=True):
                a = mp.mpf(a) * 2 - 1 if name.startswith("shifted") else mp.mpf(a)
                want = mp.re(exact(n, a)) if n else 1
                assert abs(y - want) <= 1e-13 * (n + 1) * max(1, abs(want)), (n, a, y)
    degrees = torch.tensor([-1.0, 2.0, 2.9])
    below, two, fraction = function(0.5, degrees).tolist()  # a number for x, and a fraction that is dropped
    assert below == 0 and two == fraction == pytest.approx(function(torch.tensor(0.5), 2).item())
    with pytest.raises(TypeError, match=f"{name}.*at least one argument must be a Tensor"):
        function(0.5, 2)


def test_xlog1py_is_zero_where_its_factor_is():
    x, y = torch.tensor([0.0, 0.0, 2.0, 0.0]), torch.tensor([-1.0, math.inf, 1.0, math.nan])
    assert special.xlog1py(x, y).tolist()[:3] == [0, 0, pytest.approx(2 * math.log(2))]
    assert special.xlog1py(x, y)[3].isnan()


def test_zeta_of_hurwitz():
    s, q = (
        torch.tensor([1.5, 2, 2, 3, 30, 2], dtype=torch.float64),
        torch.tensor([1, 1, 0.25, -0.5, 4, 1e6], dtype=torch.float64),
    )
    for a, b, got in zip(s.tolist(), q.tolist(), special.zeta(s, q).tolist(), strict=True):
        assert got == pytest.approx(float(mp.re(mp.zeta(a, b))), rel=1e-14)
    assert special.zeta(2, torch.tensor([0.0, -3.0])).tolist() == [math.inf, math.inf]
    assert special.zeta(torch.tensor([1.0, 0.5]), 1.0)[0] == math.inf and special.zeta(torch.tensor(0.5), 1.0).isnan()


def test_softmax_and_its_kin_stand_in_special_too():
    x = torch.tensor([[0.0, 1.0]])
    assert special.softmax(x, 1).equal(torch.softmax(x, 1)) and special.log_softmax(x, 1).equal(torch.log_softmax(x, 1))
    assert special.logsumexp(x, 1).equal(torch.logsumexp(x, 1))


@pytest.mark.parametrize("kind", "tuvw")
def test_chebyshev_polynomials_of_any_degree_take_no_longer(kind):
    name = f"chebyshev_polynomial_{kind}"
    x = torch.tensor([-0.999, -0.3, 0.0, 0.2, 0.95], dtype=torch.float64)
    wanted = [float(POLYNOMIALS[name](1000, mp.mpf(v))) for v in x.tolist()]
    assert getattr(special, name)(x, torch.tensor(1000)).tolist() == pytest.approx(wanted, rel=1e-9, abs=1e-10)
    n = 4294967295
    ends = {"t": [1, -1], "u": [n + 1, -(n + 1)], "v": [1, -(2 * n + 1)], "w": [2 * n + 1, -1]}[kind]
    got = getattr(special, name)(torch.tensor([1.0, -1.0], dtype=torch.float64), torch.tensor(n))
    assert got.tolist() == ends
    assert getattr(special, f"shifted_{name}")(torch.tensor([1.0, 0.0], dtype=torch.float64), n).tolist() == ends
    assert abs(getattr(special, name)(torch.tensor(0.5), torch.tensor(n)).item()) <= 2


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"])
def test_waves_far_out_are_as_exact_as_near(name):
    order, exact = int(name[-1]), mp.besselj if "j" in name[6:] else mp.bessely
    places = [1e3, 12345.678, 1e6, 1e10, 1.2345e12, 1e15, 3e18]
    with mp.workdps(45):
        for x, y in zip(
            places, getattr(special, name)(torch.tensor(places, dtype=torch.float64)).tolist(), strict=True
        ):
            assert abs(y - exact(order, mp.mpf(x))) <= 2.0**-50 * mp.sqrt(2 / (mp.pi * x)), x


def long_recurrence(step, first, x, degree):
    below, p = np.ones_like(x), first
    for k in range(1, degree):
        below, p = p, step(k, p, below)
    return p


@pytest.mark.parametrize("degree", [1001, 12000, 20001])
def test_legendre_polynomials_of_high_degree(degree):
    angles = np.concatenate([np.logspace(-7, 0, 40), np.linspace(5, 40, 40) / degree, np.linspace(0.1, 3.1, 40)])
    x = np.concatenate([np.cos(angles), [1.0, -1.0, 0.0, -0.3, 1 + 1e-9, -1 - 1e-8]]).astype(np.longdouble)
    want = long_recurrence(lambda k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1), x, x, degree)
    got = special.legendre_polynomial_p(torch.tensor(x.astype(float)), float(degree)).numpy()
    size = np.minimum(1, np.sqrt(2 / (np.pi * degree * np.sqrt(np.abs(1 - x * x)) + 1e-30)))
    assert np.max(np.abs(got - want) / np.maximum(np.abs(want), size)) < 1e-10


@pytest.mark.parametrize("degree", [10001, 30000])
def test_laguerre_polynomials_of_high_degree(degree):
    places = [1e-6, 1e-4, 0.003, 0.008, 0.0081, 0.0082, 0.3, 2, 17, 60, 99.5, 150, 200, 0, -1e-4, -0.2, -3]
    x = np.array(places, np.longdouble)
    want = long_recurrence(lambda k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1), 1 - x, x, degree)
    got = special.laguerre_polynomial_l(torch.tensor(x.astype(float)), float(degree)).numpy()
    wave = np.exp(x / 2) / np.sqrt(np.pi) / (np.abs(x) * degree + 1) ** 0.25
    assert np.max(np.abs(got - want) / np.maximum(np.abs(want), np.where(x > 0, wave, 0))) < 1e-9


def test_degrees_without_end_take_no_time():
    x = torch.linspace(-1, 1, 1001, dtype=torch.float64)
    for degree in (1e9, 1e15, 8e18):
        assert bool((special.legendre_polynomial_p(x, degree).abs() <= 1).all())
        waves = special.laguerre_polynomial_l(x.abs() * 300, degree)
        assert bool((waves.abs() <= torch.exp(x.abs() * 150)).all())
        assert special.legendre_polynomial_p(x[-1] + 1e-9, 1e13).item() == math.inf


def test_i0_of_the_largest_numbers_is_infinite():
    x = torch.tensor([800.0, 1.7e308, -1.7e308, math.inf, math.nan], dtype=torch.float64)
    assert torch.special.i0(x)[:4].eq(math.inf).all() and torch.special.i0(x)[4].isnan()
