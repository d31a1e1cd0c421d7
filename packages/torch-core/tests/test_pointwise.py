"""Element-wise operators: values at the edges, promotion, and what they refuse. Layouts and forms: test_rows.py."""

import math

import mpmath
import numpy as np
import pytest
import torch
from torch import _C

INF, NAN = math.inf, math.nan


def test_integer_division_by_zero_is_an_error_and_changes_nothing():
    a = torch.tensor([6, 7, 8])
    for call in (
        lambda: a // 0,
        lambda: a % 0,
        lambda: torch.div(a, 0, rounding_mode="trunc"),
        lambda: torch.fmod(a, 0),
    ):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            call()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        a.floor_divide_(torch.tensor([2, 2, 0]))
    assert a.tolist() == [6, 7, 8]


def test_the_smallest_integer_divided_by_minus_one_wraps():
    a = torch.tensor([-(2**63)])
    assert (a // -1).item() == -(2**63)
    assert (a % -1).item() == 0


@pytest.mark.parametrize(
    "x, y", [(7, 3), (-7, 3), (7, -3), (-7, -3), (7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (1e-3, 1e-4)]
)
def test_floor_division_and_remainder_are_those_of_python(x, y):
    a, b = torch.tensor(x, dtype=torch.float64), torch.tensor(y, dtype=torch.float64)
    assert (a // b).item() == x // y
    assert (a % b).item() == pytest.approx(x % y, abs=1e-15)


def test_maximum_keeps_nan_and_fmax_drops_it():
    a, b = torch.tensor([1.0, NAN, 3.0]), torch.tensor([2.0, 2.0, NAN])
    assert np.isnan(torch.maximum(a, b).numpy()).tolist() == [False, True, True]
    assert torch.fmax(a, b).tolist() == [2.0, 2.0, 3.0]


def test_powers_follow_ieee():
    cases = [
        (0.0, 0.0),
        (NAN, 0.0),
        (1.0, NAN),
        (-1.0, INF),
        (-0.0, -1.0),
        (-0.0, 3.0),
        (-8.0, 1 / 3),
        (2.0, -INF),
        (-2.0, 3.0),
    ]
    x, y = (np.array(column, dtype=np.float32) for column in zip(*cases))
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    np.testing.assert_array_equal(torch.pow(torch.from_numpy(x), torch.from_numpy(y)).numpy(), expected)
    for dtype in (torch.float16, torch.float32, torch.float64):
        roots = torch.tensor([-INF, -0.0, 4.0], dtype=dtype)
        for exponent in (torch.tensor(0.5, dtype=dtype), torch.full((3,), 0.5, dtype=dtype)):
            assert str(torch.pow(roots, exponent).tolist()) == "[inf, 0.0, 2.0]"
            assert str(torch.pow(roots, -exponent).tolist()) == "[0.0, inf, 0.5]"


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_whole_powers_of_complex_numbers_are_products(dtype):
    exact = [1 + 2j, -3 + 0.5j, 2j, -1 - 1j, 0j]
    z = torch.tensor(exact, dtype=dtype)
    for n in (0, 1, 2, 3, 4, 7):
        expected = []
        for x in exact:
            power = 1 + 0j
            for _ in range(n):
                power *= x
            expected.append(power)
        for exponent in (n, float(n), torch.tensor(n), torch.full((5,), n), torch.full((5,), n, dtype=dtype)):
            assert torch.pow(z, exponent).tolist() == expected, (n, exponent)
    assert torch.pow(torch.tensor([2j, -0.5 + 0j], dtype=dtype), -2).tolist() == [-0.25, 4]
    assert torch.pow(torch.tensor([-4 + 0j, 2j], dtype=dtype), 0.5).tolist() == [2j, 1 + 1j]
    z = torch.tensor([0.9 + 0.1j], dtype=torch.complex128)
    torch.testing.assert_close(z**99, (99 * z.log()).exp(), rtol=1e-13, atol=0)
    torch.testing.assert_close(z**-99, (-99 * z.log()).exp(), rtol=1e-13, atol=0)


def test_integers_to_negative_powers_are_refused():
    with pytest.raises(RuntimeError, match="Integers to negative integer powers"):
        torch.tensor([2, 3]) ** -1
    assert (torch.tensor([2.0, 4.0]) ** -1).tolist() == [0.5, 0.25]


def test_rounding_goes_to_even():
    assert torch.round(torch.tensor([0.5, 1.5, 2.5, -0.5])).tolist() == [0.0, 2.0, 2.0, -0.0]
    assert torch.round(torch.tensor([1.25, 1.35]), decimals=1).tolist() == pytest.approx([1.2, 1.4])


@pytest.mark.parametrize(
    "other, expected",
    [
        (1, torch.int32),
        (1.5, torch.float32),
        (1j, torch.complex64),
        (True, torch.int32),
        (torch.tensor(1, dtype=torch.int64), torch.int32),
        (torch.tensor(1.5, dtype=torch.float64), torch.float64),
        (torch.ones(2, dtype=torch.int64), torch.int64),
        (torch.ones(2, dtype=torch.float16), torch.float16),
    ],
    ids=str,
)
def test_an_int32_tensor_plus_something_has_the_promoted_dtype(other, expected):
    assert (torch.ones(2, dtype=torch.int32) + other).dtype == expected


def test_unsigned_and_signed_integers_promote_to_the_next_wider_signed_one():
    assert torch.promote_types(torch.uint16, torch.int16) == torch.int32
    assert torch.promote_types(torch.uint8, torch.uint32) == torch.uint32
    with pytest.raises(RuntimeError, match="no integer dtype holds both"):
        torch.promote_types(torch.uint64, torch.int8)


def test_in_place_results_must_fit_the_dtype_and_shape():
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.ones(3, dtype=torch.int64).add_(1.5)
    with pytest.raises(RuntimeError, match=r"output with shape \(3,\) doesn't match the broadcast shape \(2, 3\)"):
        torch.ones(3).add_(torch.ones(2, 3))


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(
        RuntimeError, match=r"mul: The size of tensor a \(3\) must match .* \(4\) at non-singleton dimension 0"
    ):
        torch.ones(3) * torch.ones(4)


def test_overlapping_memory_is_refused_or_copied_first():
    x = torch.arange(6, dtype=torch.float32)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(3).expand(2, 3).add_(1)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        x[1:].add_(x[:-1])
    x[::2].add_(x[1::2])
    assert x.tolist() == [1.0, 1.0, 5.0, 3.0, 9.0, 5.0]


def test_one_number_may_be_written_to_elements_that_share_memory():
    line = torch.arange(40.0)
    wide = line.expand(3, 40)
    assert wide.fill_(2) is wide and line.tolist() == [2.0] * 40
    line.unsqueeze(1).expand(40, 5).zero_()
    assert not line.any()
    wide.index_fill_(1, torch.tensor([0, -1]), 4.0).index_fill_(0, torch.tensor([1]), 5.0)
    assert line.tolist() == [5.0] * 40
    mask = torch.zeros(3, 40, dtype=torch.bool)
    mask[0, 1] = mask[2, 3] = True
    wide.masked_fill_(mask, 7)
    assert line[:5].tolist() == [5.0, 7.0, 5.0, 7.0, 5.0]
    one = torch.zeros(1)
    one.expand(2, 3).masked_fill_(torch.tensor([False, True, False]), torch.tensor(3.0))
    assert one.tolist() == [3.0]


def test_bool_tensors_have_no_difference_and_no_negative():
    b = torch.tensor([True, False])
    with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
        b - b
    with pytest.raises(RuntimeError, match="on a bool tensor is not supported"):
        -b
    assert (b + b).tolist() == [True, False]


def test_alpha_must_suit_the_dtype():
    a = torch.ones(2, dtype=torch.int64)
    assert torch.add(a, a, alpha=3).tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="argument alpha must not be a floating point number"):
        torch.add(a, a, alpha=1.5)


def test_a_mask_is_filled_with_an_element_of_the_tensor_itself():
    x = torch.tensor([1.0, 2.0, 3.0])
    assert x.masked_fill_(torch.tensor([False, True, True]), x[0]).tolist() == [1, 1, 1]
    x[1:].masked_fill_(torch.tensor(True), x[2] * 5)
    assert x.tolist() == [1, 5, 5]


def test_where_and_masked_fill_broadcast():
    mask = torch.tensor([[True], [False]])
    assert torch.where(mask, torch.tensor([1, 2]), 0.5).tolist() == [[1.0, 2.0], [0.5, 0.5]]
    assert torch.zeros(2, 2).masked_fill(mask, 7).tolist() == [[7.0, 7.0], [0.0, 0.0]]
    with pytest.raises(RuntimeError, match="where expected condition to be a boolean tensor"):
        torch.where(torch.ones(2), 1, 2)


def test_clamp_needs_a_bound_and_keeps_nan():
    assert np.isnan(torch.tensor([NAN]).clamp(0, 1).numpy()).all()
    assert torch.tensor([-1, 5]).clamp(max=2).tolist() == [-1, 2]
    with pytest.raises(RuntimeError, match="At least one of 'min' or 'max' must not be None"):
        torch.ones(2).clamp()


@pytest.mark.parametrize("bounds", [(NAN, None), (None, NAN), (0, NAN), (NAN, 1)])
@pytest.mark.parametrize("values", [[1.0, -2.0, NAN], [1, 5]])
def test_a_bound_that_is_nan_makes_nan_of_all(bounds, values):
    x = torch.tensor(values)
    assert np.isnan(torch.clamp(x, *bounds).numpy()).all() and torch.clamp(x, *bounds).dtype == torch.float32
    if x.dtype == torch.float32:
        assert torch.clamp_(x, *bounds) is x and np.isnan(x.numpy()).all()


def test_lerp_is_exact_at_both_ends():
    a, b = torch.tensor([0.1, 1e8]), torch.tensor([0.7, -1.0])
    assert (
        torch.equal(torch.lerp(a, b, 1.0), b)
        if hasattr(torch, "equal")
        else torch.lerp(a, b, 1.0).tolist() == b.tolist()
    )
    assert torch.lerp(a, b, 0.0).tolist() == a.tolist()


def test_aliases_are_the_operator_itself():
    assert torch.absolute is torch.abs and torch.arccos is torch.acos and torch.special.expit is torch.sigmoid
    assert torch.ones(1).multiply_(3).item() == 3


@pytest.mark.parametrize("name", ["gelu", "silu", "mish", "softplus", "log_sigmoid", "hardswish", "elu"])
def test_activations_keep_nan_and_survive_large_arguments(name):
    y = getattr(torch, name)(torch.tensor([NAN, 1e4, -1e4]))
    assert math.isnan(y[0].item()) and math.isfinite(y[1].item()) and math.isfinite(y[2].item())


def test_long_tensors_give_the_same_as_short_ones():
    x = torch.linspace(-5, 5, 100003)
    whole = torch.tanh(x)
    assert whole[77777:77790].tolist() == torch.tanh(x[77777:77790]).tolist()


def test_a_bool_cannot_become_its_square():
    with pytest.raises(RuntimeError, match="square_: result type Long can't be cast to the desired output type Bool"):
        torch.tensor([True]).square_()


def test_squares_of_bools_are_numbers():
    assert torch.equal(torch.square(torch.tensor([True, False])), torch.tensor([1, 0]))


@pytest.mark.parametrize("a", [0.01, 0.3, 1.0, 2.5, 30.0, 700.0])
def test_the_slope_of_igamma_by_its_first_argument(a):
    with mpmath.workdps(50):
        for x in (0.3 * a, 0.9 * a, a + 0.99, a + 1, 1.2 * a + 1):
            h, A, X = mpmath.mpf(10) ** -15, mpmath.mpf(a), mpmath.mpf(x)

            def tail(s):  # the side that is not near 1
                below = X < A + 1
                value = mpmath.gammainc(s, 0, X, regularized=True) if below else mpmath.gammainc(s, X, regularized=True)
                return value if below else -value

            want = float((tail(A + h) - tail(A - h)) / (2 * h))
            both = torch.tensor(a, dtype=torch.float64), torch.tensor(x, dtype=torch.float64)
            assert _C._operator("_igamma_slope")(*both).item() == pytest.approx(want, rel=1e-12)


def test_the_slope_of_igamma_at_its_ends():
    inf, nan = float("inf"), float("nan")
    a, x = torch.tensor([[2.0, 0], [2, inf], [inf, 2], [inf, inf], [0, 1], [-1, 1], [2, -1], [nan, 1]]).t()
    got = _C._operator("_igamma_slope")(a, x).tolist()
    assert got[:3] == [0, 0, 0] and all(v != v for v in got[3:])


def gamma_tails(a, x):
    """P(a, x) and Q(a, x); of large a by quadrature in steps of a deviation, as the series of mpmath end at 1e6 terms."""
    if a < 1000:
        return mpmath.gammainc(a, 0, x, regularized=True), mpmath.gammainc(a, x, regularized=True)
    a = mpmath.mpf(a)
    wide, norm = mpmath.sqrt(a), mpmath.loggamma(a)
    at = (x - a) / wide

    def density(s):
        t = a + s * wide
        return wide * mpmath.exp((a - 1) * mpmath.log(t) - t - norm)

    return tuple(mpmath.quad(density, sorted(at + sign * k for k in range(20))) for sign in (-1, 1))


@pytest.mark.parametrize("a", [0.5, 19.0, 20.0, 300.0, 1e4, 4988429.2, 1e8])
def test_igamma_of_large_arguments_is_that_of_mpmath(a):
    with mpmath.workdps(40):
        for x in (a + k * a**0.5 for k in (-5.5, -3, -0.1, 0, 0.4, 2.5, 6)):
            if x > 0:
                lower, upper = gamma_tails(a, x)
                both = torch.tensor(a, dtype=torch.float64), torch.tensor(x, dtype=torch.float64)
                assert torch.igamma(*both).item() == pytest.approx(float(lower), rel=1e-11), (a, x)
                assert torch.igammac(*both).item() == pytest.approx(float(upper), rel=1e-11), (a, x)


def test_igamma_of_huge_arguments_is_a_step():
    a, x = torch.tensor([[1e20, 1e20], [1e20, 0.9e20], [1e20, 1.1e20], [1e9, 0.5e9], [1e9, 2e9]]).double().t()
    assert torch.igamma(a, x).tolist() == pytest.approx([0.5, 0, 1, 0, 1], abs=1e-10)
    assert torch.igammac(a, x).tolist() == pytest.approx([0.5, 1, 0, 1, 0], abs=1e-10)


def test_polygamma_vanishes_at_infinity():
    x = torch.tensor([INF, -INF, NAN])
    for n in (1, 2, 3):
        assert torch.polygamma(n, x)[0] == 0 and torch.polygamma(n, x)[2].isnan()
    assert torch.polygamma(1, x)[1].isnan()


def test_bools_are_added_with_a_factor_of_nothing():
    a, b = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
    assert torch.add(a, b, alpha=False).tolist() == a.tolist()
    assert torch.add(a, b, alpha=0).tolist() == a.tolist()
    assert torch.add(a, b, alpha=True).tolist() == torch.add(a, b, alpha=2).tolist() == (a | b).tolist()


def test_logarithms_of_the_gamma_function_and_their_slopes_are_those_of_doubles():
    """Of a float, those of the same number in float64, which go to libm and to the plain series."""
    x = torch.cat(
        [
            torch.logspace(-44, 38, 500),
            torch.linspace(0.01, 12, 999),
            1 + torch.linspace(-1e-5, 1e-5, 101),
            2 + torch.linspace(-1e-5, 1e-5, 101),
            torch.linspace(-20.3, -0.1, 333),
            torch.tensor([0.0, -0.0, -1.0, -7.0, math.inf, -math.inf, math.nan]),
        ]
    )
    for f in (torch.lgamma, torch.digamma):
        torch.testing.assert_close(f(x).double(), f(x.double()).float().double(), rtol=3e-7, atol=0, equal_nan=True)


def test_mvlgamma_of_integers_in_place_is_refused():
    x = torch.tensor([5, 6])
    with pytest.raises(RuntimeError, match="mvlgamma: result type torch.float32 can't be cast .* torch.int64"):
        x.mvlgamma_(1)
    assert x.tolist() == [5, 6]


def test_ldexp_has_the_precision_of_its_first_argument():
    assert torch.ldexp(torch.tensor([1.5], dtype=torch.float64), torch.tensor([200])).item() == 1.5 * 2.0**200
    half = torch.tensor([2.0**-14, 3.0], dtype=torch.float16)
    exponents = torch.tensor([20, 4], dtype=torch.int32)
    assert torch.ldexp(half, exponents).dtype == torch.float16
    assert torch.ldexp(half, exponents).tolist() == half.clone().ldexp_(exponents).tolist() == [64, 48]
    assert torch.ldexp(torch.tensor([3]), torch.tensor([2])).dtype == torch.float32


def test_heaviside_in_place_wants_one_dtype_too():
    x = torch.tensor([1.0, 0.0])
    with pytest.raises(RuntimeError, match="heaviside: expected both tensors to have one dtype, got torch.float32"):
        x.heaviside_(torch.tensor([1, 1]))
    assert x.tolist() == [1, 0]


def test_nan_is_not_above_zero_for_heaviside():
    for dtype in (torch.float32, torch.float64, torch.float16):
        x = torch.tensor([math.nan, -1.0, 0.0, 2.0], dtype=dtype)
        assert x.heaviside(torch.tensor(0.5, dtype=dtype)).tolist() == [0.0, 0.0, 0.5, 1.0]


def test_a_least_common_multiple_that_wraps_around_loses_its_sign_as_int_does():
    a = torch.tensor([2**31 - 1, -(2**31 - 1), 6], dtype=torch.int32)
    assert torch.lcm(a, torch.tensor([2, -2, 4], dtype=torch.int32)).tolist() == [2, 2, 12]
    assert torch.lcm(torch.tensor([127], dtype=torch.int8), torch.tensor([4], dtype=torch.int8)).tolist() == [-4]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("toward", [-math.inf, -1.0, -0.0, 0.0, 3.0, math.inf, math.nan])
def test_the_number_after_one_of_a_half_type_is_the_next_of_that_type(dtype, toward):
    """All 65,536 of them; the order of finite numbers is that of their values in float64."""
    every = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(dtype)
    values = every.to(torch.float64).numpy()
    numbers = np.unique(values[~np.isnan(values)])  # one zero, infinities at the ends
    place = np.searchsorted(numbers, values)
    up, down = (numbers[np.clip(place + step, 0, len(numbers) - 1)] for step in (1, -1))
    with np.errstate(invalid="ignore"):
        expected = np.where(values == toward, toward, np.where(values < toward, up, down))
    expected[np.isnan(values) | np.isnan(toward)] = np.nan
    found = torch.nextafter(every, torch.full((), toward, dtype=dtype).expand(every.shape))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.to(torch.float64).numpy(), expected)


def test_the_powers_of_truth_values_are_those_of_truth_values():
    x = torch.tensor([True, False])
    assert x.pow(True).tolist() == [True, False] and x.pow(True).dtype == torch.bool
    assert (x**False).tolist() == [True, True]
    assert x.pow_(False).tolist() == [True, True]
    with pytest.raises(NotImplementedError, match="not implemented for torch.bool"):
        x.pow(torch.tensor(True))


def test_two_numbers_have_a_result_type():
    assert torch.result_type(1, 2.0) == torch.float32
    assert torch.result_type(1, True) == torch.int64
    assert torch.result_type(1, 2j) == torch.complex64
    assert torch.result_type(True, False) == torch.bool


def test_the_result_type_takes_its_arguments_by_name():
    whole, half = torch.tensor(1), torch.ones(2, dtype=torch.float16)
    assert torch.result_type(tensor=whole, other=half) == torch.float16
    assert torch.result_type(whole, other=2.0) == torch.float32
    assert torch.result_type(scalar=2, tensor=half) == torch.float16
    assert torch.result_type(tensor=whole, scalar=2.0) == torch.float32
    assert torch.result_type(scalar1=1, scalar2=2.0) == torch.float32
    with pytest.raises(TypeError, match="multiple values for argument .other"):
        torch.result_type(scalar=1, scalar2=half)
