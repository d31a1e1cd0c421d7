"""Matrix products against NumPy in float64, over dtypes, layouts and shapes, and the errors that they give."""

import itertools

import numpy as np
import pytest
import torch

linear = torch._C._functions()["nn.functional"]["linear"]
FLOATS = ["float32", "float64", "complex64", "complex128", "float16", "bfloat16"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
TOLERANCE = {
    "float32": 1e-5,
    "complex64": 1e-5,
    "float64": 1e-13,
    "complex128": 1e-13,
    "float16": 1e-2,
    "bfloat16": 1e-1,
}


def array(shape, dtype="float32", seed=0, layout="rows"):
    """A tensor with the given layout and its exact values as a NumPy array."""
    noise = np.random.default_rng([seed, *shape])
    if dtype in INTEGERS:
        values = noise.integers(0, 5, shape)
    else:
        values = noise.standard_normal(shape)
        if dtype.startswith("complex"):
            values = values + 1j * noise.standard_normal(shape)
    if layout == "columns" and len(shape) > 1:
        values = np.ascontiguousarray(np.swapaxes(values, -1, -2)).swapaxes(-1, -2)
    stored = values.astype("float32" if dtype == "bfloat16" else dtype)
    if layout == "gaps":
        every_other = tuple(slice(None, None, 2) for _ in shape)
        wide = np.zeros([2 * n for n in shape], stored.dtype)
        wide[every_other] = stored
        stored = wide[every_other]
    tensor = torch.from_numpy(stored)
    if dtype == "bfloat16":
        tensor = torch.tensor(stored.tolist(), dtype=torch.bfloat16)
    exact = np.asarray(tensor.tolist(), "complex128" if dtype.startswith("complex") else "float64").reshape(shape)
    return tensor, exact


def check(result, expected, dtype="float32"):
    assert tuple(result.shape) == np.shape(expected)
    assert result.dtype == getattr(torch, dtype)
    got = np.asarray(result.tolist()).reshape(np.shape(expected))
    if dtype in INTEGERS:
        assert (got == expected).all()
    else:
        scale = 1 + np.abs(expected).max(initial=0)
        assert np.abs(got - expected).max(initial=0) <= TOLERANCE[dtype] * scale


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_mm_agrees_with_numpy_for_every_dtype(dtype):
    for m, k, n in [(3, 4, 5), (1, 7, 1), (20, 70, 33)]:
        a, x = array((m, k), dtype, 1)
        b, y = array((k, n), dtype, 2)
        wrapped = x @ y if dtype not in INTEGERS else (x @ y) % 2.0 ** (8 * a.element_size())
        if dtype.startswith("int"):
            assert wrapped.max() < 128 or dtype != "int8" or (m, k, n) == (20, 70, 33)
            if dtype == "int8":
                wrapped = np.where(wrapped >= 128, wrapped - 256, wrapped)
        check(torch.mm(a, b), wrapped, dtype)


@pytest.mark.parametrize("left, right", list(itertools.product(["rows", "columns", "gaps"], repeat=2)))
def test_mm_reads_operands_through_their_strides(left, right):
    for m, k, n in [(6, 9, 4), (70, 300, 40), (1, 50, 60), (60, 50, 1)]:
        a, x = array((m, k), layout=left, seed=1)
        b, y = array((k, n), layout=right, seed=2)
        check(torch.mm(a, b), x @ y)


@pytest.mark.parametrize(
    "left, right",
    [
        ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((1, 2, 3), (5, 3, 4)),
        ((6, 5, 2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((2, 1, 4, 2, 3), (3, 1, 3, 2)), ((0, 3), (3, 4)), ((2, 0), (0, 4)),
        ((5, 0, 3), (3, 4)), ((0, 2, 3), (0, 3, 4)),
    ],
)  # fmt: skip
def test_matmul_broadcasts_as_numpy_does(left, right):
    for layout in ("rows", "columns", "gaps"):
        a, x = array(left, "float64", 1, layout)
        b, y = array(right, "float64", 2, layout)
        check(torch.matmul(a, b), np.matmul(x, y), "float64")
        check(a @ b, np.matmul(x, y), "float64")


def test_bmm_multiplies_each_pair_of_matrices():
    a, x = array((7, 20, 30), seed=1)
    b, y = array((7, 30, 10), seed=2)
    check(torch.bmm(a, b), x @ y)
    check(a.bmm(b), x @ y)


def test_products_with_vectors():
    a, x = array((40, 30), seed=1)
    v, y = array((30,), seed=2)
    w, z = array((30,), seed=3, layout="gaps")
    check(torch.mv(a, v), x @ y)
    check(torch.mv(a, w), x @ z)
    check(torch.dot(v, w), np.dot(y, z))
    c, u = array((30,), "complex128", 4)
    d, t = array((30,), "complex128", 5)
    check(torch.dot(c, d), np.dot(u, t), "complex128")
    check(torch.vdot(c, d), np.vdot(u, t), "complex128")


def test_linear_is_a_product_with_the_transposed_weight_plus_the_bias():
    w, y = array((6, 5), seed=2)
    b, z = array((6,), seed=3)
    for shape in [(5,), (4, 5), (2, 3, 5), (0, 5)]:
        for layout in ("rows", "columns", "gaps"):
            a, x = array(shape, seed=1, layout=layout)
            check(linear(a, w, b), x @ y.T + z)
            check(linear(a, w), x @ y.T)


@pytest.mark.parametrize("shape", [(1, 6), (4, 6), (4, 1), (3, 1, 6), (3, 4, 6), (1, 1)])
def test_the_bias_of_linear_is_added_to_the_result_whatever_its_shape(shape):
    a, x = array((3, 4, 5), seed=1)
    w, y = array((6, 5), seed=2)
    b, z = array(shape, seed=3)
    check(linear(a, w, b), x @ y.T + z)


@pytest.mark.parametrize("shape", [(5,), (2, 6), (2, 4, 6), (1, 3, 4, 6)])
def test_the_bias_of_linear_does_not_widen_the_result(shape):
    with pytest.raises(RuntimeError, match=r"linear: bias \(.*\) must have the length of the output, 6, for weight"):
        linear(torch.ones(3, 4, 5), torch.ones(6, 5), torch.ones(shape))


SUMS = {
    "addmm": ((4, 6), (4, 5), (5, 6), lambda a, b: a @ b),
    "addmv": ((4,), (4, 5), (5,), lambda a, b: a @ b),
    "addr": ((4, 6), (4,), (6,), np.outer),
    "baddbmm": ((3, 4, 6), (3, 4, 5), (3, 5, 6), lambda a, b: a @ b),
    "addbmm": ((4, 6), (3, 4, 5), (3, 5, 6), lambda a, b: (a @ b).sum(0)),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_with_a_product_scale_and_broadcast(name):
    shape, left, right, product = SUMS[name]
    a, x = array(left, seed=1)
    b, y = array(right, seed=2)
    function = getattr(torch, name)
    for own in {shape, shape[-1:], (1,), ()}:
        c, z = array(own, seed=3)
        check(function(c, a, b), z + product(x, y))
        check(function(c, a, b, beta=0.5, alpha=-2), 0.5 * z - 2 * product(x, y))
    c, z = array(shape, seed=4, layout="gaps")
    assert getattr(c, name + "_")(a, b, beta=2) is c
    check(c, 2 * z + product(x, y))


def test_beta_zero_does_not_read_self():
    a, x = array((4, 5))
    b, y = array((5, 6))
    check(torch.addmm(torch.tensor(float("nan")), a, b, beta=0), x @ y)


def test_in_place_products_may_use_the_tensor_itself():
    a, x = array((5, 5))
    a.addmm_(a, a)
    check(a, x + x @ x)


def test_nan_and_infinity_propagate():
    a = torch.tensor([[float("inf"), 1.0], [0.0, float("nan")]])
    one = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    got = torch.mm(a, one).tolist()
    assert got[0][0] == float("inf") and np.isnan(got[0][1]) and np.isnan(got[1][0]) and np.isnan(got[1][1])


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda t: torch.matmul(t(3, 4), t(5, 6)), "matmul: last dim of self (3, 4) must equal first dim of other (5, 6)"),
        (lambda t: torch.mm(t(3, 4), t(5, 6)), "mm: last dim of self (3, 4) must equal first dim of mat2 (5, 6)"),
        (lambda t: torch.mm(t(3), t(3, 6)), "mm: self must be a matrix (2-d), got shape (3,)"),
        (lambda t: torch.bmm(t(2, 3, 4), t(3, 4, 5)), "bmm: self (2, 3, 4) and mat2 (3, 4, 5) must have as many batches"),
        (lambda t: torch.matmul(t(), t(3)), "matmul: both operands need at least one dimension"),
        (lambda t: torch.matmul(t(2, 3, 4), t(3, 4, 5)), "matmul"),
        (lambda t: torch.mv(t(3, 4), t(3)), "mv: last dim of self (3, 4) must equal the length of vec (3,)"),
        (lambda t: torch.dot(t(3), t(4)), "dot: self (3,) and tensor (4,) must have the same length"),
        (lambda t: torch.dot(t(3, 3), t(4)), "dot: self must be a vector (1-d), got shape (3, 3)"),
        (lambda t: torch.addmm(t(7), t(3, 4), t(4, 5)), "addmm: self (7,) cannot be broadcast to the product's shape (3, 5)"),
        (lambda t: t(5).addmm_(t(3, 4), t(4, 5)), "addmm_: self (5,) must have the product's shape (3, 5)"),
    ],
)  # fmt: skip
def test_errors_name_the_operands(call, text):
    with pytest.raises(RuntimeError) as error:
        call(lambda *shape: array(shape)[0])
    assert text in str(error.value)


def test_mixed_dtypes_are_refused_by_name():
    with pytest.raises(
        RuntimeError, match="mm: self and mat2 must have the same dtype, got torch.float32 and torch.float64"
    ):
        torch.mm(array((2, 2))[0], array((2, 2), "float64")[0])
    with pytest.raises(RuntimeError, match="addmm: beta and alpha must be real"):
        torch.addmm(*(array((2, 2), "int64")[0],) * 3, beta=0.5j)


def test_bool_products_are_not_implemented():
    with pytest.raises(NotImplementedError, match="mm: not implemented for torch.bool"):
        torch.mm(torch.tensor([[True]]), torch.tensor([[True]]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_same_bits_for_any_number_of_threads(dtype):
    before = torch.get_num_threads()
    a, b = array((200, 400))[0].to(dtype), array((400, 300), layout="columns")[0].to(dtype)
    try:
        results = []
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            results.append(torch.mm(a, b))
        assert all(torch.equal(results[0], each) for each in results)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_summed_over_the_batch_are_rounded_once(dtype):
    noise = np.random.default_rng(3)
    a, b, c = (torch.tensor(noise.normal(size=s).tolist(), dtype=dtype) for s in ((6, 4, 9), (6, 9, 5), (4, 5)))
    exact = torch.addbmm(c.double(), a.double(), b.double(), beta=0.5, alpha=2)
    assert torch.equal(torch.addbmm(c, a, b, beta=0.5, alpha=2), exact.to(dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_factors_are_not_rounded_to_16_bits(dtype):
    noise = np.random.default_rng(4)
    a, b, c, v = (torch.tensor(noise.normal(size=s).tolist(), dtype=dtype) for s in ((6, 9), (9, 5), (6, 5), (9,)))
    factors = {"beta": -4.775, "alpha": 2.0315}
    for f, arguments in (
        (torch.addmm, (c, a, b)),
        (torch.addmv, (c[:, 0], a, v)),
        (torch.baddbmm, (c[None], a[None], b[None])),
        (torch.baddbmm, (c[None].repeat(2, 1, 1), a.repeat(2, 1, 1), b.repeat(2, 1, 1))),
    ):
        exact = f(*(each.double() for each in arguments), **factors)
        assert torch.equal(f(*arguments, **factors), exact.to(dtype))
    assert torch.addmm(c, a[:, :0], b[:0], beta=2.0315).equal((2.0315 * c.double()).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "m, n, k",
    [
        *((1, 70, 65), (3, 5, 2), (20, 33, 401), (200, 64, 1), (40, 90, 128)),
        *(
            (16, 16, 32),
            (31, 50, 2049),
            (100, 2100, 40),
            (8200, 40, 33),
            (64, 40, 1100),
        ),  # where there are tiles: parts of them, and several rounds
    ],
)
def test_products_of_16_bits_are_summed_in_float_and_rounded_once(m, n, k, dtype):
    noise = np.random.default_rng(5)

    def operand(rows, columns, turned):
        whole = torch.from_numpy(noise.normal(size=(columns, rows + 1) if turned else (rows, columns + 1))).to(dtype)
        return whole[:, 1:].t() if turned else whole[:, 1:]  # not where a pair could begin

    ulp = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}[dtype]
    for turn_a, turn_b in ((False, False), (False, True), (True, False), (True, True)):
        a, b = operand(m, k, turn_a), operand(k, n, turn_b)
        exact, sizes = a.double() @ b.double(), a.double().abs() @ b.double().abs()
        assert ((a @ b).double() - exact).abs().sub(ulp * exact.abs() + k * 2.0**-24 * sizes).max() <= 2.0**-25
        assert torch.equal(a.contiguous() @ b.contiguous(), a @ b)
        if dtype == torch.bfloat16:  # doubling is exact there
            assert torch.equal(torch.addmm(a.new_zeros(n), a, b, beta=0, alpha=2), 2 * (a @ b))


@pytest.mark.parametrize("m, n", [(4, 3), (40, 35)])
def test_infinities_and_nan_go_through_products_of_bfloat16(m, n):
    a = torch.ones(m, 33, dtype=torch.bfloat16)
    a[1, 32], a[2, 5] = float("inf"), float("nan")
    got = a @ torch.ones(33, n, dtype=torch.bfloat16)
    assert got[:2].tolist() == [[33.0] * n, [float("inf")] * n]
    assert got[2].isnan().all()
    assert got[3:].eq(33.0).all()


def test_a_product_over_an_empty_batch_is_the_addend():
    c = torch.arange(6.0).view(2, 3)
    assert torch.equal(torch.addbmm(c, torch.ones(0, 2, 4), torch.ones(0, 4, 3), beta=2), 2 * c)
    with pytest.raises(RuntimeError, match=r"addbmm: .*must have as many batches"):
        torch.addbmm(c, torch.ones(1, 2, 4), torch.ones(2, 4, 3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize("n", [2, 40])
def test_a_product_times_zero_is_not_looked_at(dtype, n):
    nan, ones = torch.full((n, n), float("nan")).to(dtype), torch.ones(n, n, dtype=dtype)
    assert torch.addmm(ones, nan, ones, alpha=0).equal(ones)
    assert torch.addmv(ones[0], nan, ones[0], alpha=0).equal(ones[0])
    assert torch.baddbmm(ones[None], nan[None], ones[None], alpha=0, beta=2).equal(2 * ones[None])
