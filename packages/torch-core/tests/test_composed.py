"""Operators composed in Python, against NumPy and SciPy."""

import itertools
import math

import pytest
import torch

np = pytest.importorskip("numpy")


@pytest.fixture
def x():
    return torch.rand(4, 7, dtype=torch.float64)


def test_cov_and_corrcoef(x):
    frequencies, weights = torch.tensor([1, 2, 3, 1, 1, 2, 4]), torch.rand(7, dtype=torch.float64)
    n, f, w = x.numpy(), frequencies.numpy(), weights.numpy()
    assert np.allclose(torch.cov(x), np.cov(n)) and np.allclose(x[0].cov(), np.cov(n[0]))
    assert np.allclose(torch.corrcoef(x), np.corrcoef(n)) and x[0].corrcoef() == 1
    assert np.allclose(torch.cov(x, fweights=frequencies), np.cov(n, fweights=f))
    assert np.allclose(torch.cov(x, aweights=weights), np.cov(n, aweights=w))
    assert np.allclose(
        torch.cov(x, correction=0, fweights=frequencies, aweights=weights), np.cov(n, ddof=0, fweights=f, aweights=w)
    )
    one_row = x[:1]  # of one variable there is one number, however it is given
    assert torch.cov(one_row).shape == torch.corrcoef(one_row).shape == ()
    assert np.allclose(torch.cov(one_row), np.cov(n[0])) and torch.corrcoef(one_row) == 1
    z = torch.complex(x, x.flip(1))
    assert np.allclose(torch.cov(z), np.cov(z.numpy())) and np.allclose(torch.corrcoef(z), np.corrcoef(z.numpy()))
    with pytest.raises(RuntimeError, match=r"two or fewer dimensions, got shape \(1, 4, 7\)"):
        torch.cov(x[None])
    with pytest.raises(RuntimeError, match="expected fweights to have an integral dtype, got torch.float64"):
        torch.cov(x, fweights=weights)
    with pytest.raises(RuntimeError, match="aweights to have 7 elements.*got 6"):
        torch.cov(x, aweights=weights[1:])


@pytest.mark.parametrize("order", [1, 2])
def test_gradient(x, order):
    places = torch.tensor([0, 1, 3, 4.5, 5, 7, 8], dtype=torch.float64)
    for got, want in zip(torch.gradient(x, edge_order=order), np.gradient(x.numpy(), edge_order=order), strict=True):
        assert np.allclose(got, want)
    got = torch.gradient(x, spacing=(places,), dim=1, edge_order=order)[0]
    assert np.allclose(got, np.gradient(x.numpy(), places.numpy(), axis=1, edge_order=order))
    for got, want in zip(torch.gradient(x, spacing=(2.0, 0.5)), np.gradient(x.numpy(), 2.0, 0.5), strict=True):
        assert np.allclose(got, want)
    with pytest.raises(RuntimeError, match="at least edge_order . 1 = 2 elements, dim 0 has 1"):
        torch.gradient(x[:1])
    with pytest.raises(RuntimeError, match="3 spacings were given for 2 dims"):
        torch.gradient(x, spacing=(1, 2, 3))


def test_gradients_between_equal_steps_take_two_neighbours_only():
    inf = math.inf
    (got,) = torch.gradient(torch.tensor([2, -2, inf, inf, -inf, 3]))
    assert got.tolist() == [-4, inf, inf, -inf, -inf, inf]
    assert torch.gradient(torch.arange(3.0), spacing=0)[0].tolist() == [inf, inf, inf]
    for dtype in (torch.float32, torch.int64):
        (got,) = torch.gradient(torch.arange(3, dtype=dtype), spacing=2j, edge_order=2)
        assert got.dtype == torch.complex64 and got.tolist() == [-0.5j] * 3


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, math.inf])
def test_distances(x, p):
    y = torch.rand(5, 7, dtype=torch.float64)
    want = [[np.linalg.norm(a - b, p) for b in y.numpy()] for a in x.numpy()]
    assert np.allclose(torch.cdist(x, y, p), want) and np.allclose(torch.cdist(x[None], y[None, None], p)[0, 0], want)
    pairs = [np.linalg.norm(a - b, p) for a, b in itertools.combinations(x.numpy(), 2)]
    assert np.allclose(torch.pdist(x, p), pairs)


def test_counts_of_differences_are_nan_where_one_is():
    nan, inf = math.nan, math.inf
    x, y = torch.tensor([[1, nan, 3], [1, 2, 3], [inf, 2, 3]]), torch.tensor([[1.0, 2, 3], [inf, 2, 3], [1e-45, 1, 1]])
    want = [[nan, nan, nan], [0, 1, 3], [1, nan, 3]]
    assert np.array_equal(torch.cdist(x, y, 0).numpy(), want, equal_nan=True)
    assert np.array_equal(torch.pdist(x, 0).numpy(), [nan, nan, 1], equal_nan=True)


def test_distances_refuse_what_has_none(x):
    with pytest.raises(RuntimeError, match="same number of columns. X1: 7 X2: 6"):
        torch.cdist(x, x[:, 1:])
    with pytest.raises(RuntimeError, match="at least 2D tensors, X2 got: 1D"):
        torch.cdist(x, x[0])
    with pytest.raises(RuntimeError, match="floating-point dtypes, X1 got: torch.int64"):
        torch.cdist(x.long(), x)
    with pytest.raises(RuntimeError, match="pdist only supports 2D tensors, got: 1D"):
        torch.pdist(x[0])


def test_renorm_shrinks_what_is_too_long():
    x = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    assert torch.allclose(torch.renorm(x, 2, 0, 1), torch.tensor([[0.6, 0.8], [0.3, 0.4]]))
    long = torch.renorm(torch.full((2, 3), 6e4, dtype=torch.float16), 2, 0, 100)  # of norms that are no float16
    assert long.dtype == torch.float16 and torch.allclose(long.float(), torch.tensor(100 / 3**0.5), rtol=1e-3)
    assert torch.allclose(x.clone().renorm_(1, 1, 1), torch.tensor([[3 / 3.3, 4 / 4.4], [0.3 / 3.3, 0.4 / 4.4]]))
    with pytest.raises(RuntimeError, match="at least 2 dimensions, got 1"):
        torch.renorm(x[0], 2, 0, 1)
    with pytest.raises(IndexError, match="got 2"):
        torch.renorm(x, 2, 2, 1)


@pytest.mark.parametrize("density", [False, True])
def test_histogram(density):
    v, w = torch.randn(1000, dtype=torch.float64), torch.rand(1000, dtype=torch.float64)
    for bins, limits in ((20, None), (7, (-1.0, 0.5))):
        got = torch.histogram(v, bins, range=limits, weight=w, density=density)
        hist, edges = np.histogram(v.numpy(), bins, range=limits, weights=w.numpy(), density=density)
        assert np.allclose(got.hist, hist) and np.allclose(got.bin_edges, edges)
    edges = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64)
    assert np.allclose(
        v.histogram(edges, density=density)[0], np.histogram(v.numpy(), edges.numpy(), density=density)[0]
    )
    with pytest.raises(RuntimeError, match="bins must be > 0, but got 0"):
        torch.histogram(v, 0)


def test_combinations_and_places():
    assert torch.combinations(torch.arange(4), 3).tolist() == [list(c) for c in itertools.combinations(range(4), 3)]
    assert torch.combinations(torch.arange(3), 2, True).shape == (6, 2) and torch.combinations(
        torch.ones(2), 0
    ).shape == (0,)
    places = torch.unravel_index(torch.tensor([5, 23]), (2, 3, 4))
    assert [p.tolist() for p in places] == [a.tolist() for a in np.unravel_index([5, 23], (2, 3, 4))]
    with pytest.raises(ValueError, match=r"outside a tensor of shape \(2, 3\)"):
        torch.unravel_index(torch.tensor(6), (2, 3))
    with pytest.raises(TypeError, match="expected 'indices' to be integer, got torch.float32"):
        torch.unravel_index(torch.tensor(0.5), (2, 3))
    with pytest.raises(TypeError, match="expected 'shape' to be int or sequence of ints, got Tensor"):
        torch.unravel_index(torch.tensor(1), torch.tensor([2, 3]))
    with pytest.raises(TypeError, match="expected 'shape' sequence to only contain ints, got 3.0"):
        torch.unravel_index(torch.tensor(1), (2, 3.0))


def test_fill_diagonal():
    for shape, wrap in (((7, 3), True), ((7, 3), False), ((3, 7), True), ((3, 3, 3), False)):
        want = np.zeros(shape)
        np.fill_diagonal(want, 2, wrap)
        x = torch.zeros(shape)
        assert x.fill_diagonal_(2, wrap) is x and (x.numpy() == want).all()
    with pytest.raises(RuntimeError, match=r"equal length, got shape \(2, 3, 3\)"):
        torch.zeros(2, 3, 3).fill_diagonal_(1)


def test_adjoints():
    z = torch.tensor([[1 + 2j, 3j]])
    assert z.mH.tolist() == z.H.tolist() == torch.adjoint(z).tolist() == [[1 - 2j], [-3j]]
    assert torch.ones(2, 3, 4).mH.shape == (2, 4, 3)
    with pytest.raises(RuntimeError, match="only supported on matrices .2-D tensors.. Got 3-D tensor"):
        torch.ones(1, 1, 1).H


def test_functions_on_elements():
    a = torch.tensor([1.0, 2.0])
    assert a.apply_(lambda v: v * 10) is a and a.tolist() == [10, 20]
    assert a.map_(torch.tensor(1.0), lambda p, q: p + q).tolist() == [11, 21]
    assert a.map2_(a, torch.ones(1), lambda p, q, r: p - q + r).tolist() == [1, 1]
    with pytest.raises(TypeError, match="expected numbers of the function, got 'one'"):
        a.apply_(lambda v: "one")
    with pytest.raises(TypeError, match="expected argument of torch.float32, found torch.int64"):
        a.map_(torch.tensor(1), max)


def test_names_of_older_programs():
    a = torch.tensor([1.0, 4.0])
    with pytest.warns(FutureWarning, match="use reshape"):
        assert a.resize(2, 1).shape == (2, 1) and a.resize_as(torch.ones(1, 2)).shape == (1, 2)
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match=r"\(3,\) \(3 elements in total\)"):
        a.resize(3)
    assert a.masked_copy(a > 2, torch.tensor([9.0])).tolist() == [1, 9] and a.__rdiv__(4).tolist() == [4, 1]
    assert a.__div__(2).tolist() == [0.5, 2] and a[0].__nonzero__() is True and a[1].__long__() == 4
    assert a.where(a > 2, torch.zeros(2)).tolist() == [0, 4] and torch.ByteTensor.all is torch.Tensor.all
    assert (
        torch.size(a) == (2,)
        and torch.stride(a) == (1,)
        and torch.is_signed(a)
        and torch.expand(a, (3, 2)).shape == (3, 2)
    )
    assert not a.is_pinned() and not a.is_conj() and not a.is_inference() and torch.version.cuda is None
    with pytest.raises(RuntimeError, match="torch-core-cuda"):
        a.pin_memory()
    d = a.double()
    assert d.float_power_(2).tolist() == [1, 16]
    with pytest.raises(
        RuntimeError, match="dtype torch.float32 but the operation's result requires dtype torch.float64"
    ):
        a.float_power_(2)


def test_settings_are_remembered_or_refused():
    for get, set_, good, bad in (
        (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "high", "low"),
        (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, 2, "never"),
    ):
        before = get()
        set_(good)
        assert get() == good
        set_(before)
        with pytest.raises(ValueError, match=str(bad)):
            set_(bad)


def test_renorm_histogram_and_places_take_out(x):
    out = torch.empty(0, dtype=torch.float64)
    assert torch.renorm(x, 2, 0, 1, out=out) is out and out.equal(torch.renorm(x, 2, 0, 1))
    hist, edges = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
    want = torch.histogram(x, 3)
    got = torch.histogram(x, 3, out=(hist, edges))
    assert got.hist is hist and hist.equal(want.hist) and edges.equal(want.bin_edges)
    assert torch.histogram(x[:0], 2).bin_edges.tolist() == [0, 0.5, 1]


def test_a_histogram_has_100_bins_unless_told():
    x = torch.arange(5.0)
    for counted in torch.histogram(x), x.histogram():
        assert counted.hist.shape == (100,) and counted.bin_edges.shape == (101,) and counted.hist.sum() == 5


def test_histogramdd_of_points_without_coordinates():
    hist, edges = torch.histogramdd(torch.empty(3, 0), 2)
    assert hist.equal(torch.tensor(0.0)) and edges == ()


@pytest.mark.parametrize("density", [False, True])
def test_histogramdd(density):
    points, w = torch.rand(50, 3, dtype=torch.float64), torch.rand(50, dtype=torch.float64)
    edges = [torch.tensor([0, 0.3, 1], dtype=torch.float64), torch.tensor([0, 0.2, 0.9], dtype=torch.float64)]
    for bins, keywords, numpy_keywords in (
        ([2, 3, 4], {}, {}),
        (3, {"range": [0.0, 1.0, 0.2, 0.8, 0.0, 2.0]}, {"range": [(0, 1), (0.2, 0.8), (0, 2)]}),
        ([*edges, torch.tensor([0.1, 0.5], dtype=torch.float64)], {}, {}),
    ):
        got = torch.histogramdd(points, bins, weight=w, density=density, **keywords)
        numpy_bins = [b.numpy() if isinstance(b, torch.Tensor) else b for b in bins] if isinstance(bins, list) else bins
        hist, want_edges = np.histogramdd(
            points.numpy(), numpy_bins, weights=w.numpy(), density=density, **numpy_keywords
        )
        assert np.allclose(got.hist, hist)
        assert all(np.allclose(a, b) for a, b in zip(got.bin_edges, want_edges, strict=True))
    for call, text in [
        (lambda: torch.histogramdd(points, [2, 2]), "3 coordinates, but bins has 2"),
        (lambda: torch.histogramdd(points, 2, range=[0.0, 1.0]), "6 bounds for 3 coordinates, got 2"),
        (lambda: torch.histogramdd(points[0], 2), r"at least 2 dimensions, got shape \(3,\)"),
        (lambda: torch.histogramdd(points, 2, weight=w[1:]), r"shape \(50,\), one for each point, got \(49,\)"),
        (
            lambda: torch.histogramdd(points, [edges[0].float()] * 3),
            "dtype of the input, torch.float64, got torch.float32",
        ),
    ]:
        with pytest.raises(RuntimeError, match=text):
            call()
    with pytest.raises(NotImplementedError, match="not implemented for torch.int64"):
        torch.histogramdd(points.long(), 2)


def test_nonzero_static_has_as_many_rows_as_asked_for():
    x = torch.tensor([[0, 1], [1, 1]])
    assert torch.nonzero_static(x, size=2).tolist() == [[0, 1], [1, 0]]
    assert x.nonzero_static(size=4, fill_value=9).tolist() == [[0, 1], [1, 0], [1, 1], [9, 9]]
    assert torch.nonzero_static(torch.tensor(1), size=2).shape == (2, 0)
    with pytest.raises(RuntimeError, match="size must be a non-negative integer, got -1"):
        torch.nonzero_static(x, size=-1)


def test_empty_permuted_lies_in_the_order_it_names():
    x = torch.empty_permuted((2, 3, 4), (2, 0, 1), dtype=torch.int8)
    assert x.shape == (2, 3, 4) and x.stride() == (3, 1, 6) and x.dtype == torch.int8
    with pytest.raises(RuntimeError, match=r"\(0,\) must name each of the 2 dims of size \(2, 3\)"):
        torch.empty_permuted((2, 3), (0,))
    with pytest.raises(RuntimeError, match=r"\(0, 0\) is no order of 2 dims"):
        torch.empty_permuted((2, 3), (0, 0))


def test_places_in_a_shape_larger_than_the_dtype_counts():
    rows, columns = torch.unravel_index(torch.tensor([200], dtype=torch.uint8), (100, 30))
    assert (rows.item(), columns.item()) == (6, 20) and rows.dtype == torch.int64


def test_gradient_tells_dims_that_are_not_there(x):
    with pytest.raises(IndexError, match=r"range of \[-2, 1\], but got 3"):
        torch.gradient(x, dim=3)
    with pytest.raises(RuntimeError, match=r"more than once in \(0, -2\)"):
        torch.gradient(x, dim=(0, -2))
    assert torch.gradient(x, spacing=None)[1].equal(torch.gradient(x)[1])


def test_gradients_along_dims_in_half_types_are_rounded_once(x):
    y = (x * 9).to(torch.bfloat16)
    places = torch.tensor([8.0, 6.0, 1.0, 0.5, 0.25, -2.0, -7.0], dtype=torch.bfloat16)
    (got,) = torch.gradient(y, spacing=(places,), dim=1, edge_order=2)
    (want,) = torch.gradient(y.double(), spacing=(places.double(),), dim=1, edge_order=2)
    assert got.dtype == torch.bfloat16 and (got != want.to(torch.bfloat16)).sum() <= 1


def test_a_hash_is_the_exclusive_or_of_the_bits():
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64, np.int8, np.uint8, np.bool_):
        array = (rng.standard_normal((3, 5, 7)) * 50).astype(dtype)
        wide = array.astype(np.float64 if array.dtype.kind == "f" else np.int64).view(np.uint64)
        x = torch.from_numpy(array)
        assert torch.hash_tensor(x).item() == int(np.bitwise_xor.reduce(wide, axis=None))
        assert torch.hash_tensor(x, 1).numpy().tolist() == np.bitwise_xor.reduce(wide, axis=1).tolist()
        kept = torch.hash_tensor(x, (-1, 0), keepdim=True)
        assert (
            kept.dtype == torch.uint64
            and kept.numpy().tolist() == np.bitwise_xor.reduce(wide, axis=(0, 2), keepdims=True).tolist()
        )
    assert torch.hash_tensor(torch.ones(2, 0), 1).tolist() == [0, 0]
    assert torch.hash_tensor(torch.tensor(3), 0).item() == torch.hash_tensor(torch.tensor(3)).item() == 3
    with pytest.raises(IndexError, match=r"range of \[-2, 1\], but got 5"):
        torch.hash_tensor(torch.ones(2, 3), 5)
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times"):
        torch.hash_tensor(torch.ones(2, 3), (0, -2))
    with pytest.raises(RuntimeError, match=r"input.numel\(\) == 0.*shape \(0,\)"):
        torch.hash_tensor(torch.ones(0))
    with pytest.raises(NotImplementedError, match="view_as_real"):
        torch.hash_tensor(torch.tensor([1j]))
    with pytest.raises(RuntimeError, match="mode must be 0"):
        torch.hash_tensor(torch.ones(1), mode=1)


def test_the_order_of_dims_may_be_checked_for_ambiguity():
    x = torch.empty(2, 3, 5, 7)
    assert x.dim_order(ambiguity_check=True) == (0, 1, 2, 3)
    assert x.to(memory_format=torch.channels_last).dim_order(ambiguity_check=True) == (0, 2, 3, 1)
    one = torch.empty(1, 2, 3, 4)
    assert one.dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last]) == (0, 1, 2, 3)
    with pytest.raises(RuntimeError, match=r"unique dim order.*shape is \(1, 2, 3, 4\)"):
        one.dim_order(ambiguity_check=True)
    with pytest.raises(TypeError, match="bool or a list of memory formats, got 'ILLEGAL'"):
        one.dim_order(ambiguity_check="ILLEGAL")


def test_results_of_histograms_have_the_class_of_named_results():
    counted = torch.histogram(torch.tensor([1.0, 2, 1]), bins=2, range=(0.0, 4.0))
    assert type(counted) is torch.return_types.histogram
    assert repr(counted).startswith("torch.return_types.histogram(\nhist=tensor([2., 1.]),\nbin_edges=")
    assert torch.return_types.histogramdd.__module__ == "torch.return_types"


def test_nonzero_as_a_tuple_takes_no_out():
    with pytest.raises(RuntimeError, match="nonzero: out= is one tensor, and as_tuple=True gives one for each dim"):
        torch.nonzero(torch.ones(2), as_tuple=True, out=torch.zeros(0, dtype=torch.int64))


@pytest.mark.parametrize(("count", "r"), [(100, 50), (2000, 5)])
def test_combinations_without_room_are_refused_before_any_is_made(count, r):
    with pytest.raises((RuntimeError, torch.OutOfMemoryError), match="do not fit into memory|not enough memory"):
        torch.combinations(torch.arange(count), r=r)
    with pytest.raises((RuntimeError, torch.OutOfMemoryError), match="do not fit into memory|not enough memory"):
        torch.combinations(torch.arange(count), r=r, with_replacement=True)
    assert torch.combinations(torch.arange(0), r=2, with_replacement=True).shape == (0, 2)
