"""New tensors: dtypes, values against formulas, and sizes that cannot be."""

import math

import numpy as np
import pytest
import torch


def test_default_dtypes_follow_the_values():
    assert torch.zeros(2).dtype == torch.ones(2).dtype == torch.empty(2).dtype == torch.float32
    assert torch.arange(3).dtype == torch.int64 and torch.arange(3.0).dtype == torch.float32
    assert torch.full((2,), 1).dtype == torch.int64 and torch.full((2,), True).dtype == torch.bool
    assert torch.full((2,), 1j).dtype == torch.complex64 and torch.linspace(0, 1, 3).dtype == torch.float32


def test_ranges_are_those_of_numpy():
    for args in [(5,), (2, 9), (2, 9, 3), (9, 2, -2), (0, 1, 0.1), (1, -1, -0.25), (3, 3), (0.0, 2.5)]:
        want = np.arange(*args)
        got = torch.arange(*args, dtype=torch.float64)
        assert got.shape == want.shape and np.allclose(got.numpy(), want, atol=1e-14)
    assert torch.arange(2**62, 2**62 + 3).tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    assert torch.linspace(-3, 5, 7, dtype=torch.float64).tolist() == pytest.approx(
        np.linspace(-3, 5, 7).tolist(), abs=1e-14
    )
    assert torch.linspace(1, 2, 1).tolist() == [1.0] and torch.linspace(0, 1, 0).tolist() == []
    assert torch.logspace(0, 3, 4).tolist() == [1, 10, 100, 1000]


def test_ranges_that_lead_nowhere_are_refused():
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        torch.arange(0, 3, 0)
    with pytest.raises(RuntimeError, match="inconsistent with step sign: 3, 0, 1"):
        torch.arange(3, 0)
    with pytest.raises(RuntimeError, match="unsupported range"):
        torch.arange(0, math.inf)


def test_impossible_sizes_are_errors_and_not_crashes():
    with pytest.raises(RuntimeError, match=r"must not be negative, got \(2, -1\)"):
        torch.zeros(2, -1)
    with pytest.raises(RuntimeError, match="does not fit into 64 bits"):
        torch.empty(2**40, 2**40)
    with pytest.raises(RuntimeError):
        torch.empty(2**60, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="n must be greater or equal to 0"):
        torch.eye(-1)


def test_like_and_new_take_over_dtype_and_shape():
    t = torch.zeros(2, 3, dtype=torch.float64)
    for u in (
        torch.zeros_like(t),
        torch.ones_like(t),
        torch.full_like(t, 2),
        torch.empty_like(t),
        t.new_zeros(2, 3),
        t.new_full((2, 3), 4),
    ):
        assert u.dtype == torch.float64 and u.shape == (2, 3)
    assert torch.zeros_like(t, dtype=torch.int32).dtype == torch.int32
    assert torch.zeros_like(t.t()).stride() == (1, 3)


def test_matrices_from_diagonals():
    x = torch.arange(1, 4)
    assert torch.diag(x, 1).tolist() == np.diag([1, 2, 3], 1).tolist()
    assert torch.diag(torch.arange(9).view(3, 3)).tolist() == [0, 4, 8]
    assert torch.diag_embed(torch.arange(4).view(2, 2)).tolist() == [[[0, 0], [0, 1]], [[2, 0], [0, 3]]]
    assert torch.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    m = np.arange(20).reshape(4, 5)
    for k in (-5, -1, 0, 2, 6):
        assert torch.tril(torch.from_numpy(m), k).tolist() == np.tril(m, k).tolist()
        assert torch.triu(torch.from_numpy(m).t(), k).tolist() == np.triu(m.T, k).tolist()
        assert torch.tril_indices(4, 5, k).tolist() == [list(i) for i in np.tril_indices(4, k, 5)]
        assert torch.triu_indices(4, 5, k).tolist() == [list(i) for i in np.triu_indices(4, k, 5)]
    assert (
        torch.vander(torch.tensor([1, 2, 3]), increasing=True).tolist()
        == np.vander([1, 2, 3], increasing=True).tolist()
    )


def test_windows_are_their_formulas():
    n = np.arange(7)
    for name, want in {
        "hann": 0.5 - 0.5 * np.cos(2 * np.pi * n / 7),
        "hamming": 0.54 - 0.46 * np.cos(2 * np.pi * n / 7),
        "blackman": 0.42 - 0.5 * np.cos(2 * np.pi * n / 7) + 0.08 * np.cos(4 * np.pi * n / 7),
        "bartlett": 1 - np.abs(2 * n / 7 - 1),
    }.items():
        assert np.allclose(getattr(torch, name + "_window")(7, dtype=torch.float64).numpy(), want, atol=1e-15)
    assert np.allclose(
        torch.kaiser_window(6, periodic=False, beta=5.0, dtype=torch.float64).numpy(), np.kaiser(6, 5.0), atol=1e-14
    )
    with pytest.raises(RuntimeError, match="hann_window requires non-negative window_length, got window_length=-1"):
        torch.hann_window(-1)


def test_grids_and_products():
    x, y = torch.arange(2), torch.arange(3)
    a, b = torch.meshgrid(x, y, indexing="xy")
    c, d = np.meshgrid(x.numpy(), y.numpy())
    assert np.array_equal(a.numpy(), c) and np.array_equal(b.numpy(), d)
    assert torch.cartesian_prod(x, y).tolist() == [[i, j] for i in range(2) for j in range(3)]
    assert torch.block_diag(torch.ones(1, 2), torch.tensor(3.0)).tolist() == [[1, 1, 0], [0, 0, 3]]
    assert torch.complex(torch.tensor(1.0), torch.tensor([2.0, 3.0])).tolist() == [1 + 2j, 1 + 3j]
    assert torch.polar(torch.tensor(2.0), torch.tensor(math.pi / 2)).item() == pytest.approx(2j, abs=1e-6)


def test_meta_tensors_have_shapes_and_no_memory():
    m = torch.zeros(1000, 1000, 1000, device="meta")
    assert m.transpose(0, 1).sum(0).shape == (1000, 1000) and m.device.type == "meta"


def test_whole_numbers_count_in_whole_steps():
    assert torch.arange(0, 6, 1.5, dtype=torch.int64).tolist() == [0, 1, 2, 3, 4, 5]
    assert torch.arange(0.5, 6, 1.5, dtype=torch.int64).tolist() == [0, 1, 2, 3, 4, 5]
    assert torch.arange(5.5, dtype=torch.int64).tolist() == [0, 1, 2, 3, 4]
    assert torch.arange(0, 6, 1.5, dtype=torch.uint8).tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="arange: step must be nonzero; 0.5 as torch.int64 is 0"):
        torch.arange(0, 6, 0.5, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="arange: step must be nonzero"):
        torch.arange(0, 6, 0)


def test_linspace_and_logspace_between_0d_tensors():
    assert torch.linspace(torch.tensor(1), torch.tensor(3.0), 3).tolist() == [1, 2, 3]
    assert torch.linspace(torch.tensor(1j), 1, 2).tolist() == [1j, 1]
    assert torch.logspace(0, torch.tensor(2), 3, base=2).tolist() == [1, 2, 4]
    for f in (torch.linspace, torch.logspace):
        with pytest.raises(RuntimeError, match=r"numbers or 0-d tensors, got shapes \(1,\) and \(\)"):
            f(torch.tensor([1.0]), 3, 5)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_a_size_below_zero_is_the_operators_own_error(name):
    with pytest.raises(RuntimeError, match=rf"{name}: sizes must not be negative, got \(2, -1\)"):
        getattr(torch, name)(2, -1)


def test_sizes_below_zero_with_other_arguments_name_the_operator():
    with pytest.raises(RuntimeError, match=r"full: sizes must not be negative, got \(-1,\)"):
        torch.full((-1,), 3)
    with pytest.raises(RuntimeError, match=r"randint: sizes must not be negative, got \(-1,\)"):
        torch.randint(3, (-1,))
