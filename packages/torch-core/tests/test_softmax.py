"""Softmax against its definition in float64."""

import numpy as np
import pytest
import torch


def reference(x, dim, log):
    x = x.astype(np.float64)
    shifted = x - x.max(dim, keepdims=True)
    total = np.exp(shifted).sum(dim, keepdims=True)
    return shifted - np.log(total) if log else np.exp(shifted) / total


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "shape, dim",
    [((5,), 0), ((3, 100), 1), ((3, 100), 0), ((2, 7, 33), 1), ((4, 1), 1), ((2, 3, 4, 5), -2), ((2, 9, 203), 1)],
)
@pytest.mark.parametrize(
    "dtype, tolerance", [(torch.float32, 2e-6), (torch.float64, 1e-14), (torch.float16, 2e-3), (torch.bfloat16, 2e-2)]
)
def test_softmax_is_its_definition(log, shape, dim, dtype, tolerance):
    x = np.random.default_rng(0).normal(size=shape) * 5
    t = torch.tensor(x.tolist(), dtype=dtype)
    got = (torch.log_softmax if log else torch.softmax)(t, dim)
    want = reference(np.asarray(t.double()), dim, log)
    assert got.dtype == dtype and np.allclose(
        np.asarray(got.double()), want, rtol=tolerance * 4, atol=tolerance * (20 if log else 1)
    )


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("shape, dim", [((3, 50), 1), ((3, 50), 0), ((2, 3, 20), 1), ((2, 9, 203), 1)])
def test_gradient_is_that_of_the_definition(log, shape, dim):
    noise = np.random.default_rng(1)
    x, g = noise.normal(size=shape), noise.normal(size=shape)
    y = reference(x, dim, log)
    p = np.exp(y) if log else y
    want = g - p * g.sum(dim, keepdims=True) if log else p * (g - (g * p).sum(dim, keepdims=True))
    name = "log_softmax_backward" if log else "softmax_backward"
    got = torch._C._operator(name)(torch.from_numpy(g), torch.from_numpy(y), dim)
    assert np.allclose(got.numpy(), want, atol=1e-13)


def test_large_values_neither_overflow_nor_vanish():
    assert torch.softmax(torch.tensor([1e4, 1e4]), 0).tolist() == [0.5, 0.5]
    assert torch.log_softmax(torch.tensor([1e4, 0.0]), 0).tolist() == [0.0, -1e4]


def test_minus_infinity_has_no_share_and_nan_spreads():
    assert torch.softmax(torch.tensor([0.0, -torch.inf]), 0).tolist() == [1.0, 0.0]
    assert all(v != v for v in torch.softmax(torch.tensor([0.0, torch.nan]), 0).tolist())


@pytest.mark.parametrize("shape, dim", [((6, 40), 1), ((40, 6), 0), ((3, 5, 35), 1), ((2, 9, 203), 1), ((2, 3), -1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_line_of_minus_infinity_has_no_shares_where_softmax_is_safe(shape, dim, dtype):
    safe = torch._C._operator("_safe_softmax")
    x = torch.from_numpy(np.random.default_rng(2).normal(size=shape)).to(dtype)
    assert torch.equal(safe(x, dim), torch.softmax(x, dim))
    lines = x.movedim(dim, -1)
    first, last = (0,) * (x.dim() - 1), (-1,) * (x.dim() - 1)
    lines[first] = -torch.inf
    lines[last] = -torch.inf  # all but a number that is none, which is not hidden
    lines[last][-1] = torch.nan
    got, plain = safe(x, dim).movedim(dim, -1), torch.softmax(x, dim).movedim(dim, -1)
    assert got[first].eq(0).all() and plain[first].isnan().all() and got[last].isnan().all()
    got[first] = plain[first] = got[last] = plain[last] = 0
    assert torch.equal(got, plain)


def test_all_of_a_safe_softmax_may_be_hidden():
    safe = torch._C._operator("_safe_softmax")
    hidden = torch.full((7,), -torch.inf)
    assert safe(hidden, 0).tolist() == [0] * 7 and safe(hidden[0], 0).item() == 0
    assert safe(torch.tensor([1, 2]), 0, dtype=torch.float64).dtype == torch.float64


def test_integers_and_wrong_dims_are_refused():
    with pytest.raises(NotImplementedError, match="softmax: expects a floating point dtype, got torch.int64"):
        torch.softmax(torch.arange(3), 0)
    with pytest.raises(IndexError, match=r"expected to be in range of \[-1, 0\], but got 1"):
        torch.softmax(torch.ones(3), 1)
    assert torch.softmax(torch.arange(3), 0, dtype=torch.float64).dtype == torch.float64


def test_empty_zero_dimensional_and_strided_inputs():
    assert torch.softmax(torch.ones(0, 3), 1).shape == (0, 3) and torch.softmax(torch.ones(3, 0), 1).shape == (3, 0)
    assert torch.softmax(torch.tensor(2.0), 0).item() == 1.0
    a = torch.arange(12.0).reshape(3, 4)
    assert torch.softmax(a.t(), 1).tolist() == torch.softmax(a, 0).t().tolist()


def test_softmax_takes_the_dtype_by_position_too():
    x = torch.tensor([0.0, 1.0])
    assert torch.softmax(x, 0, torch.float64).dtype == torch.float64
    assert x.log_softmax(0, torch.float64).dtype == torch.float64
    assert torch.log_softmax(x, 0, dtype=None).dtype == torch.float32


def test_the_operators_below_softmax_have_their_names():
    x = torch.randn(2, 3)
    assert torch.ops.aten._softmax(x, 1, False).equal(x.softmax(1))
    assert torch.ops.aten._log_softmax.default(x, 0, False).equal(x.log_softmax(0))
    assert torch.ops.aten._softmax(x.half(), 1, True).dtype == torch.float32
