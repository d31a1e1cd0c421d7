"""Elements by position and by mask: NumPy is the reference, nothing is written before all indices are checked."""

import numpy as np
import pytest
import torch

noise = np.random.default_rng(0)


def both(*shape, dtype=np.float32):
    a = noise.integers(-50, 50, shape).astype(dtype)
    return torch.from_numpy(a.copy()), a


@pytest.mark.parametrize(
    "index",
    [
        (np.array([0, 2, -1]),),
        (slice(None), np.array([[0, 1], [3, -4]])),
        (np.array([0, 2]), np.array([1, 3])),
        (np.array([[0], [2]]), slice(1, 3), np.array([1, 3, 4])),
        (slice(None), np.array([1, 1]), np.array([0, 4])),
        (Ellipsis, np.array([0, 4])),
        (np.array([0, 1]), None, 2),
        (noise.random((3, 4)) > 0.5,),
        (slice(None), noise.random((4, 5)) > 0.5),
        (noise.random((3, 4, 5)) > 0.5,),
        (np.zeros((3, 4, 5), bool),),
        (1, noise.random(4) > 0.3, slice(None, None, 2)),
    ],
    ids=str,
)
def test_reading_and_writing_with_index_tensors(index):
    t, a = both(3, 4, 5)
    ours = tuple(torch.from_numpy(i) if isinstance(i, np.ndarray) else i for i in index)
    want = a[index]
    assert np.array_equal(t[ours].numpy(), want)
    # strides of the indexed tensor make no difference
    assert np.array_equal(t.permute(2, 0, 1).contiguous().permute(1, 2, 0)[ours].numpy(), want)
    t[ours], a[index] = 7, 7
    assert np.array_equal(t.numpy(), a)
    values = noise.integers(0, 9, want.shape).astype(np.float32)
    if want.size:
        t[ours], a[index] = torch.from_numpy(values), values
        assert np.array_equal(t.numpy(), a)


def test_indices_out_of_range_are_named_before_anything_is_written():
    t = torch.zeros(3, 4)
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        t[torch.tensor([0, 3])] = 1
    with pytest.raises(IndexError, match="index -5 is out of bounds for dimension 1 with size 4"):
        t[:, torch.tensor([0, -5])] = 1
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 0 with size 3"):
        t[4]
    with pytest.raises(RuntimeError, match="index 9 is out of bounds for dimension 1 with size 4"):
        t.scatter_(1, torch.tensor([[0, 9]]), 1.0)
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        t.index_add_(0, torch.tensor([0, 3]), torch.ones(2, 4))
    with pytest.raises(IndexError, match="index 12 is out of bounds"):
        t.put_(torch.tensor([0, 12]), torch.ones(2))
    assert not t.any()
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 2"):
        t[0, 0, torch.tensor([0])]
    with pytest.raises(
        IndexError, match=r"shape of the mask .4,?. at index 0 does not match the shape of the indexed tensor .3, 4."
    ):
        t[torch.ones(4, dtype=torch.bool)]
    with pytest.raises(IndexError, match=r"could not be broadcast together with shapes \[2\], \[3\]"):
        t[torch.zeros(2, dtype=torch.long), torch.zeros(3, dtype=torch.long)]
    with pytest.raises(IndexError, match="must be long, int, byte or bool tensors"):
        t[torch.tensor([0.0])]


def test_index_put_counts_repeats_when_accumulating():
    t = torch.zeros(4)
    t.index_put_((torch.tensor([1, 1, -1]),), torch.tensor([2.0, 3.0, 4.0]), accumulate=True)
    assert t.tolist() == [0, 5, 0, 4]
    assert t.index_put((torch.tensor([0]),), torch.tensor(9.0)).tolist() == [9, 5, 0, 4] and t[0] == 0


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8, np.complex64])
def test_slices_by_a_vector_of_indices(dim, dtype):
    t, a = both(4, 3, 5, dtype=dtype)
    index = np.array([2, 0, 2])
    at = torch.from_numpy(index)
    assert np.array_equal(t.index_select(dim, at).numpy(), np.take(a, index, dim))
    shape = list(a.shape)
    shape[dim] = 3
    source = noise.integers(0, 9, shape).astype(dtype)
    want = a.copy()
    np.add.at(want, (slice(None),) * dim + (index,), 2 * source)
    assert np.array_equal(t.index_add(dim, at, torch.from_numpy(source), alpha=2).numpy(), want)
    z = torch.zeros(1, dtype=torch.complex128)
    assert z.index_add(0, torch.tensor([0]), z + 1, alpha=0.1 + 0.2j).tolist() == [0.1 + 0.2j]
    once = torch.tensor([2, 0])
    want = a.copy()
    want[(slice(None),) * dim + (np.array([2, 0]),)] = np.take(source, [0, 1], dim)
    assert np.array_equal(t.index_copy(dim, once, torch.from_numpy(np.take(source, [0, 1], dim))).numpy(), want)
    assert (t.index_fill(dim, once, 5).index_select(dim, once) == 5).all()


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather_and_scatter_are_each_others_inverse(dim):
    t, a = both(4, 5, 6)
    order = np.argsort(noise.random(a.shape), dim)
    at = torch.from_numpy(order)
    got = t.gather(dim, at)
    assert np.array_equal(got.numpy(), np.take_along_axis(a, order, dim))
    assert torch.equal(torch.zeros_like(t).scatter_(dim, at, got), t)
    assert torch.equal(t.transpose(0, 2).contiguous().transpose(0, 2).gather(dim, at), got)


@pytest.mark.parametrize(
    "reduce, ufunc, start",
    [("sum", np.add, 0), ("prod", np.multiply, 1), ("amax", np.maximum, -np.inf), ("amin", np.minimum, np.inf)],
)
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dim", [0, 1])
def test_scatter_reduce_joins_what_meets(reduce, ufunc, start, include_self, dim):
    t, a = both(4, 5)
    index, source = noise.integers(0, 4, (3, 5)), noise.integers(1, 5, (3, 5)).astype(np.float32)
    want = a.copy()
    place = (
        (index, np.broadcast_to(np.arange(5), (3, 5)))
        if dim == 0
        else (np.broadcast_to(np.arange(3)[:, None], (3, 5)), index)
    )
    if not include_self:
        want[place] = start
    ufunc.at(want, place, source)
    got = t.scatter_reduce(dim, torch.from_numpy(index), torch.from_numpy(source), reduce, include_self=include_self)
    assert np.array_equal(got.numpy(), want)
    if reduce == "sum" and include_self:
        assert np.array_equal(t.scatter_add(dim, torch.from_numpy(index), torch.from_numpy(source)).numpy(), want)


@pytest.mark.parametrize("shape", [(7,), (1000,), (70001,), (33, 17), (5, 4, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int16, np.complex128])
def test_masks_keep_elements_in_order(shape, dtype):
    t, a = both(*shape, dtype=dtype)
    for density in (0.0, 0.03, 0.5, 1.0):
        keep = noise.random(shape) < density
        mask = torch.from_numpy(keep)
        assert np.array_equal(t.masked_select(mask).numpy(), a[keep])
        assert np.array_equal(mask.nonzero().numpy(), np.argwhere(keep))
        assert all(np.array_equal(x.numpy(), y) for x, y in zip(torch.where(mask), np.nonzero(keep), strict=True))
        source = np.arange(a.size).astype(dtype)
        want = a.copy()
        want[keep] = source[: keep.sum()]
        assert np.array_equal(t.masked_scatter(mask, torch.from_numpy(source)).numpy(), want)


def test_nonzero_of_numbers_and_as_a_tuple():
    t = torch.tensor([[0.0, -0.0, 2.0], [float("nan"), 0.0, 1.0]])
    assert t.nonzero().tolist() == [[0, 2], [1, 0], [1, 2]]
    rows, columns = torch.nonzero(t, as_tuple=True)
    assert rows.tolist() == [0, 1, 1] and columns.tolist() == [2, 0, 2]


def test_take_and_put_see_a_flat_tensor():
    t, a = both(3, 4)
    assert t.t().take(torch.tensor([[0, -1]])).tolist() == [[a[0, 0], a[2, 3]]]
    assert t.clone().t().put_(torch.tensor([1, 1]), torch.tensor([1.0, 2.0]), accumulate=True)[0, 1] == a[1, 0] + 3


def test_searching_and_counting():
    edges = np.sort(noise.integers(0, 20, 9))
    values = noise.integers(-2, 22, (4, 5))
    for right in (False, True):
        want = np.searchsorted(edges, values, "right" if right else "left")
        assert np.array_equal(
            torch.searchsorted(torch.from_numpy(edges), torch.from_numpy(values), right=right).numpy(), want
        )
        assert np.array_equal(
            torch.bucketize(torch.from_numpy(values), torch.from_numpy(edges), right=right).numpy(), want
        )
    assert torch.bincount(torch.tensor([1, 3, 1]), minlength=6).tolist() == [0, 2, 0, 1, 0, 0]
    assert torch.bincount(torch.zeros(0, dtype=torch.int64), torch.zeros(0), 2).dtype == torch.int64
    assert torch.bincount(torch.tensor([1, 1]), weights=torch.tensor([0.5, 2.0])).tolist() == [0, 2.5]
    with pytest.raises(RuntimeError, match="non-negative integral inputs, got -1"):
        torch.bincount(torch.tensor([-1]))


def test_overlap_between_source_and_target_is_seen():
    t = torch.arange(6.0)
    t[torch.tensor([1, 2, 3])] = t[:3]
    assert t.tolist() == [0, 0, 1, 2, 4, 5]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1).expand(3).index_copy_(0, torch.tensor([0, 1]), torch.ones(2))


def test_large_index_work_is_the_same_for_any_number_of_threads():
    t, index = torch.zeros(5000, 300), torch.from_numpy(noise.integers(0, 5000, 9000))
    source = torch.from_numpy(noise.normal(size=(9000, 300)).astype(np.float32))
    before = torch.get_num_threads()
    results = []
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        results.append(t.index_add(0, index, source))
    torch.set_num_threads(before)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


def test_index_fill_takes_the_value_of_a_number_that_is_a_tensor():
    pytest.importorskip("torch.autograd", reason="its gradient is looked at")
    x, places = torch.zeros(3, 4), torch.tensor([0, -1])
    value = torch.tensor(2.5, dtype=torch.float64, requires_grad=True)
    y = torch.index_fill(x, 1, places, value)
    assert y[:, [0, 3]].eq(2.5).all() and not y[:, 1:3].any() and y.dtype == torch.float32
    (slope,) = torch.autograd.grad((y * torch.arange(12.0).view(3, 4)).sum(), value)
    assert slope.item() == sum(row * 4 + column for row in range(3) for column in (0, 3))
    assert x.clone().index_fill_(1, places, value.detach()).equal(y)
    assert torch.fill(x, value).requires_grad and torch.fill(x, torch.tensor(7)).eq(7).all()
    assert torch.index_fill(torch.tensor(1.0), 0, torch.tensor([0]), value).item() == 2.5
    with pytest.raises(RuntimeError, match="index_fill.*complex value.*does not fit into self"):
        torch.index_fill(x, 1, places, torch.tensor(1 + 2j))
    with pytest.raises(RuntimeError, match="only supports a 0-dimensional value tensor, but got tensor with 1"):
        torch.index_fill(x, 1, places, value.reshape(1))
    with pytest.raises(IndexError, match="index"):
        torch.index_fill(x, 1, torch.tensor([4]), value)


LONG = 200_000  # looked through in pieces


def test_the_first_of_many_bad_indices_is_named_and_nothing_is_written():
    index = noise.integers(0, 100, LONG)
    for place, bad in ((190_000, 777), (150_001, 888), (40_000, 999)):
        index[place] = bad
        i, a = torch.from_numpy(index), torch.zeros(100)
        with pytest.raises((IndexError, RuntimeError), match=f"index {bad} is out of bounds"):
            a.gather(0, i)
        with pytest.raises((IndexError, RuntimeError), match=f"index {bad} is out of bounds"):
            a.scatter_add_(0, i, torch.ones(LONG))
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
            a[i] = 1.0
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
            a[i.int()]
        assert a.count_nonzero() == 0


def test_long_indices_find_what_numpy_finds():
    a, index = noise.standard_normal(5000), noise.integers(-5000, 5000, LONG)
    x, i = torch.from_numpy(a), torch.from_numpy(index)
    assert np.array_equal(x[i].numpy(), a[index])
    sums = a.copy()
    np.add.at(sums, index % 5000, np.ones(LONG))
    assert np.allclose(x.clone().scatter_add_(0, i % 5000, torch.ones(LONG, dtype=torch.float64)).numpy(), sums)


@pytest.mark.parametrize("columns", [127, 128, 200, 515, 1000])
def test_rows_of_many_columns_are_added_where_they_belong(columns):
    index = noise.integers(0, 300, 900)
    a, rows = np.zeros((300, columns)), noise.integers(-9, 9, (900, columns)).astype(np.float64)
    np.add.at(a, index, rows)
    got = torch.zeros(300, columns, dtype=torch.float64).index_add_(0, torch.from_numpy(index), torch.from_numpy(rows))
    assert np.array_equal(got.numpy(), a)


@pytest.mark.parametrize("most", [1, 3, 10_000, 300_000])
def test_counts_of_many_numbers_are_numpys(most):
    for n in (65_537, 500_003):
        values = noise.integers(0, most, n)
        assert np.array_equal(torch.bincount(torch.from_numpy(values)).numpy(), np.bincount(values))
    values[-1] = -3
    with pytest.raises(RuntimeError, match="non-negative integral inputs, got -3"):
        torch.bincount(torch.from_numpy(values))
