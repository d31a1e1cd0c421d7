"""t[key] and t[key] = value against NumPy."""

import warnings

import numpy as np
import pytest
import torch

A = np.arange(60).reshape(3, 4, 5)
KEYS = [
    1, -1, slice(1, None), slice(None, None, 2), (1, 2), (slice(None), 0), (Ellipsis, 2), (None, 1), (slice(0, 2), None, ..., slice(1, 4)),
    (0, slice(None), 3), [0, 2], ([0, 1], [2, 3]), (slice(None), [0, 3]), ([[0], [2]], slice(None), [1, 4]), (0, [1, 2]), True, False, None,
    (1, 2, 3), (), slice(5, 9), (slice(None), slice(-2, None)),
]  # fmt: skip


def ours(key):
    convert = lambda k: torch.tensor(k) if isinstance(k, list) else k
    return tuple(convert(k) for k in key) if isinstance(key, tuple) else convert(key)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_reading_agrees_with_numpy(key):
    want = A[key]
    got = torch.from_numpy(A.copy())[ours(key)]
    assert got.tolist() == want.tolist() and got.shape == want.shape


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_writing_agrees_with_numpy(key):
    want, got = A.copy(), torch.from_numpy(A.copy())
    want[key] = 7
    got[ours(key)] = 7
    assert got.tolist() == want.tolist()
    values = np.arange(want[key].size).reshape(want[key].shape)
    want[key] = values
    got[ours(key)] = torch.from_numpy(values)
    assert got.tolist() == want.tolist()


def test_masks_select_and_write():
    t, mask = torch.from_numpy(A.copy()), A % 3 == 0
    assert t[torch.from_numpy(mask)].tolist() == A[mask].tolist() == t[mask].tolist()
    t[torch.from_numpy(mask)] = 0
    assert t.tolist() == np.where(mask, 0, A).tolist()
    rows = torch.tensor([True, False, True])
    assert t[rows].shape == (2, 4, 5)


def test_steps_may_be_negative():
    t = torch.from_numpy(A.copy())
    assert t[::-1].tolist() == A[::-1].tolist() and t[:, ::-2].tolist() == A[:, ::-2].tolist()


def test_views_write_through_and_copies_do_not():
    t = torch.zeros(3, 4)
    t[1][2] = 5
    t[torch.tensor([0])][0] = 9
    assert t.sum().item() == 5


def test_a_second_ellipsis_stands_for_no_dims():
    x = torch.arange(6).reshape(2, 3)
    assert torch.equal(x[..., ...], x) and torch.equal(x[..., 0, ...], x[:, 0]) and x[..., 1, ..., 2] == 5


@pytest.mark.parametrize(
    "key, error, text",
    [
        (3, IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
        ((0, -5), IndexError, "index -5 is out of bounds for dimension 1 with size 4"),
        ((0, 0, 0, 0), IndexError, r"too many indices for tensor of dimension 3: 4 were given for shape \(3, 4, 5\)"),
        ((..., 0, ..., 0, 0, 0), IndexError, "too many indices"),
        ((..., 0, ..., 0), IndexError, "Dimension out of range"),
        (1.5, IndexError, "cannot be indexed by float"),
        ((0, 1.0), IndexError, "cannot be indexed by float"),
        (1j, IndexError, "cannot be indexed by complex"),
        ({}, IndexError, "cannot be indexed by dict"),
        (int, IndexError, "cannot be indexed by type"),
        ("x", TypeError, "cannot be indexed by str"),
        (slice(None, None, 0), ValueError, "slice step cannot be zero"),
        (slice("a", None), TypeError, "slice indices must be integers"),
        ([0, 7], IndexError, "index 7 is out of bounds for dimension 0 with size 3"),
        ([0.5], IndexError, "must be long, int, byte or bool tensors"),
        (2**70, IndexError, "does not fit into 64 bits"),
    ],
    ids=str,
)
def test_bad_keys_are_named_and_nothing_is_written(key, error, text):
    t = torch.from_numpy(A.copy())
    with pytest.raises(error, match=text):
        t[ours(key)]
    with pytest.raises(error, match=text):
        t[ours(key)] = 1
    assert t.tolist() == A.tolist()


def test_values_must_broadcast():
    with pytest.raises(
        RuntimeError, match=r"value tensor of shape \(3,\) cannot be broadcast to indexing result of shape \(4,\)"
    ):
        torch.zeros(3, 4)[0] = torch.ones(3)
    with pytest.raises(IndexError, match=r"mask \(2,\) at index 0 does not match .* \(3, 4\) at index 0"):
        torch.zeros(3, 4)[torch.tensor([True, False])]
    with pytest.raises(TypeError, match="deleting items"):
        del torch.zeros(3)[0]


# --- lists that stand for tuples, as in 2018 ---

PLAIN = [[0, 2], [True, False, True], [], [1], range(2), [0] * 40, [[0, 1]] * 40]  # one index
TUPLES = [
    [[0, 1], [2, 3]], [slice(None), [0, 2]], [None, 1], [..., 1], [[0, 2]], [[0, 1], 2], [0, [1, 2]], [slice(0, 2)], [0, 1, None],
    [(0, 1), (1, 2)], [range(2), range(2)], [[0, 1], [0]], [[[0, 1], [1, 2]], [0, 1]], [1, slice(None), [0, 4]],
    [torch.tensor([0, 1]), torch.tensor([1, 2])], [torch.tensor(0), 1], [np.array([0, 1]), np.array([1, 2])], [[True, False, True]],
]  # fmt: skip


@pytest.mark.parametrize("key", TUPLES, ids=str)
def test_a_list_with_lists_slices_or_tensors_is_read_as_a_tuple_with_a_warning(key):
    t = torch.from_numpy(A.copy())
    with pytest.warns(UserWarning, match="Using a non-tuple sequence for multidimensional indexing is deprecated"):
        got = t[key]
    assert torch.equal(got, t[tuple(key)])
    want = t.clone()
    want[tuple(key)] = -1
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        t[key] = -1
    assert torch.equal(t, want)


@pytest.mark.parametrize("key", PLAIN, ids=lambda k: str(k)[:20])
def test_a_list_of_numbers_or_one_too_long_for_a_tuple_is_one_index(key):
    t = torch.from_numpy(A.copy()[:2] if isinstance(key, range) else A.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index = torch.tensor(list(key), dtype=None if len(key) else torch.int64)
        assert torch.equal(t[key], t[index])
        assert torch.equal(t[key,], t[index])


def test_inside_a_tuple_a_list_is_one_index():
    t = torch.from_numpy(A.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert t[[[0, 1], [1, 2]],].shape == (2, 2, 4, 5) and t[:, [[0, 1], [1, 2]]].shape == (3, 2, 2, 5)


def test_a_warning_that_is_an_error_leaves_the_tensor_as_it_was():
    t = torch.from_numpy(A.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            t[[[0], [1]]] = 5
    assert t.tolist() == A.tolist()


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype, reduce", [(torch.complex64, "amax"), (torch.complex128, "amin"), (torch.bool, "mean")])
def test_a_scatter_reduction_that_a_dtype_has_not_is_refused_before_self_is_changed(dtype, reduce, include_self):
    x, index, src = torch.tensor([1, 0, 1, 1]).to(dtype), torch.tensor([0, 1, 1]), torch.ones(3).to(dtype)
    for call in (torch.scatter_reduce, torch.Tensor.scatter_reduce_):
        with pytest.raises(
            RuntimeError, match="scatter_reduce: (complex numbers have no order|there is no mean of bools)"
        ):
            call(x, 0, index, src, reduce, include_self=include_self)
        assert x.tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("name, other", [("max", "amax"), ("min", "amin")])
def test_scatter_reductions_have_their_short_names_too(name, other):
    index, src = torch.tensor([0, 1, 1]), torch.tensor([5, 2, 9])
    for include_self in (True, False):
        wanted = torch.tensor([4, 4]).scatter_reduce(0, index, src, other, include_self=include_self)
        assert torch.equal(torch.tensor([4, 4]).scatter_reduce(0, index, src, name, include_self=include_self), wanted)
    with pytest.raises(
        RuntimeError, match="index_reduce..: Expected reduce to be one of prod, mean, amax or amin but got"
    ):
        torch.tensor([4, 4]).index_reduce(0, index, src, name)


def test_leading_ones_of_a_value_fall_away():
    x = torch.zeros(3, 3)
    i = torch.arange(3)
    x[i, i.flip(0)] = torch.tensor([[1.0, 2.0, 3.0]])
    assert x.tolist() == [[0, 0, 1], [0, 2, 0], [3, 0, 0]]
    x[i] = torch.ones(1, 1, 3, 3)
    assert x.sum().item() == 9
    with pytest.raises(RuntimeError, match=r"value tensor of shape \[2, 3\] cannot be broadcast"):
        x[i, i] = torch.ones(2, 3)


def test_a_number_that_does_not_fit_is_not_assigned():
    x = torch.zeros(3, dtype=torch.uint8)
    for place in (0, slice(0, 2), torch.tensor([1]), x == 0):
        with pytest.raises(RuntimeError, match="setitem: value 300 cannot be converted to type torch.uint8 without"):
            x[place] = 300
    with pytest.raises(RuntimeError, match="setitem: value nan"):
        x[0] = float("nan")
    assert x.tolist() == [0, 0, 0]
    x[0], x[1] = -1, 2.7
    assert x.tolist() == [255, 2, 0]
    for dtype in (torch.float16, torch.bfloat16):  # a mask of -1e9 in models of half precision
        y = torch.zeros(2, dtype=dtype)
        y[0] = -1e39
        assert y.tolist() == [-float("inf"), 0]
        assert torch.scalar_tensor(1e39, dtype=dtype).item() == float("inf")


def test_a_complex_number_is_not_assigned_to_a_real_element():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="cannot be converted to type torch.float32 without overflow"):
        x[0] = 1 + 2j
    x[0] = 3 + 0j
    assert x.tolist() == [3, 1]
    y = torch.ones(2, dtype=torch.complex64)
    y[0] = 1 + 2j
    assert y.tolist() == [1 + 2j, 1]


def test_bytes_as_a_mask_are_deprecated():
    x = torch.arange(3)
    for mask in (torch.tensor([1, 0, 1], dtype=torch.uint8), np.array([1, 0, 1], dtype=np.uint8)):
        with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
            assert x[mask].tolist() == [0, 2]
    with pytest.warns(UserWarning, match="mask.bool"):
        x[torch.tensor([1, 0, 1], dtype=torch.uint8)] = 7
    assert x.tolist() == [7, 1, 7]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x[torch.tensor([True, False, True])].tolist() == [7, 7]
        with pytest.raises(UserWarning, match="uint8"):
            x[torch.tensor([1, 0, 1], dtype=torch.uint8)]


def test_a_tensor_is_filled_with_one_of_its_own_elements():
    x = torch.tensor([3.0, 1.0, 2.0])
    assert x.fill_(x[0]) is x and x.tolist() == [3, 3, 3]
    y = torch.arange(6).view(2, 3)
    y[:, 1:].fill_(y[1, 2])
    assert y.tolist() == [[0, 5, 5], [3, 5, 5]]


def test_floats_of_lists_and_arrays_index_by_what_stands_before_the_point():
    x = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(x[[1.0, 2.9]], x[1:]) and torch.equal(x[[0.0, 1], 1:], x[:2, 1:])
    assert torch.equal(x[np.array([1.0, 2.0]), np.array([1, 2])], torch.tensor([5.0, 10.0]))
    assert torch.equal(x[[np.ones(2), np.zeros(2)], [np.zeros(2), np.ones(2)]], torch.tensor([[4.0, 4.0], [1.0, 1.0]]))
    x[[2.0]] = 0
    assert x[2].sum() == 0
    with pytest.raises(IndexError, match=r"must be long, int, byte or bool tensors, got \(1,\) torch.float32"):
        x[torch.tensor([1.0])]
    with pytest.raises(IndexError, match="cannot be indexed by float"):
        x[1.0]


def test_a_piece_of_a_tensor_is_assigned_to_all_of_it():
    x = torch.arange(6).view(2, 3)
    x[:] = x[1]
    assert x.tolist() == [[3, 4, 5], [3, 4, 5]]
    x[0] = x[0, 2]
    assert x.tolist() == [[5, 5, 5], [3, 4, 5]]
    x[:] = x[:, 1:2]
    assert x.tolist() == [[5, 5, 5], [4, 4, 4]]
    line = torch.arange(4)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        line[1:] = line[:-1]  # of one shape: nothing repeats, and PyTorch asks for a clone as well


def test_an_object_that_knows_its_index_is_one():
    class Second:
        def __index__(self):
            return 2

    x = torch.arange(24.0).reshape(2, 3, 4)
    assert torch.equal(x[0][Second()], x[0, 2]) and torch.equal(x[:, Second(), None], x[:, 2, None])
    x[1, Second()] = 0
    assert torch.equal(x[1, 2], torch.zeros(4))
    with pytest.raises(IndexError):
        x[Second()]
