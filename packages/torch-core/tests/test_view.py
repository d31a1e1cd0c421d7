"""Views: shapes and strides against NumPy's, memory shared, errors that name both sides."""

import numpy as np
import pytest
import torch


def counting(*shape):
    return torch.arange(int(np.prod(shape))).view(*shape)


def same(t, array):
    return tuple(t.shape) == array.shape and np.array_equal(t.numpy(), array)


@pytest.mark.parametrize(
    "view, numpy_view",
    [
        (lambda t: t.transpose(0, 2), lambda a: a.transpose(2, 1, 0)),
        (lambda t: t.permute(1, 2, 0), lambda a: a.transpose(1, 2, 0)),
        (lambda t: t.movedim((0, 1), (-1, 0)), lambda a: np.moveaxis(a, (0, 1), (-1, 0))),
        (lambda t: t.T, lambda a: a.T),
        (lambda t: t.mT, lambda a: a.swapaxes(-1, -2)),
        (lambda t: t.select(1, -1), lambda a: a[:, -1]),
        (lambda t: t.narrow(2, 1, 2), lambda a: a[:, :, 1:3]),
        (lambda t: t[:, ::-2], lambda a: a[:, ::-2]),
        (lambda t: t.diagonal(1, 1, 2), lambda a: a.diagonal(1, 1, 2)),
        (lambda t: t.unsqueeze(1), lambda a: a[:, None]),
        (lambda t: t[:1].squeeze(), lambda a: a[:1].squeeze()),
        (lambda t: t.flatten(1), lambda a: a.reshape(2, 12)),
        (lambda t: t.unflatten(2, (2, -1)), lambda a: a.reshape(2, 3, 2, 2)),
        (lambda t: t.unfold(2, 3, 1), lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, 2)),
        (lambda t: t[:, :1].expand(-1, 5, 4), lambda a: np.broadcast_to(a[:, :1], (2, 5, 4))),
    ],
)
def test_views_show_what_numpy_shows_and_share_the_memory(view, numpy_view):
    t = counting(2, 3, 4)
    v = view(t)
    assert same(v, numpy_view(t.numpy()))
    assert v.untyped_storage().data_ptr() == t.untyped_storage().data_ptr()


def test_view_follows_strides_and_reshape_copies_where_they_do_not_allow_it():
    t = counting(4, 6)
    half = t[:, :3]
    assert half.view(2, 2, 3).stride() == (12, 6, 1)
    with pytest.raises(RuntimeError, match="view size is not compatible with input tensor's size and stride.*reshape"):
        half.view(12)
    assert half.reshape(12).tolist() == [0, 1, 2, 6, 7, 8, 12, 13, 14, 18, 19, 20]
    assert t.reshape(2, 12).data_ptr() == t.data_ptr()


def test_wrong_shapes_are_named():
    t = counting(2, 3)
    with pytest.raises(RuntimeError, match=r"shape '\[4, -1\]' is invalid for input of size 6"):
        t.view(4, -1)
    with pytest.raises(RuntimeError, match="only one dimension can be inferred"):
        t.view(-1, -1)
    with pytest.raises(RuntimeError, match=r"cannot reshape tensor of 0 elements into shape \[0, -1\]"):
        torch.empty(0).view(0, -1)
    with pytest.raises(
        RuntimeError,
        match=r"expanded size of the tensor \(4\) must match the existing size \(3\) at non-singleton dimension 1",
    ):
        t.expand(2, 4)
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"):
        t.transpose(0, 2)
    with pytest.raises(IndexError, match="select.*index 3 out of range"):
        t.select(1, 3)
    with pytest.raises(RuntimeError, match="length of the desired ordering"):
        t.permute(0)


def test_slices_clamp_as_python_does():
    numbers = list(range(7))
    t = torch.arange(7)
    bounds = [None, -9, -7, -3, 0, 2, 6, 7, 20]
    for start in bounds:
        for stop in bounds:
            for step in (1, 2, 3, -1, -2, 100, -100):
                assert t[start:stop:step].tolist() == numbers[start:stop:step]


def test_splitting_gives_every_element_once():
    t = counting(7, 2)
    for pieces in (
        t.split(3),
        t.split([1, 4, 2]),
        t.chunk(3),
        t.tensor_split(3),
        t.tensor_split((2, 5)),
        t.vsplit([3]),
    ):
        assert torch.equal(torch.cat(pieces), t)
    assert [len(p) for p in t.chunk(3)] == [3, 3, 1] and [len(p) for p in t.tensor_split(3)] == [3, 2, 2]
    assert [u.tolist() for u in t.unbind(1)] == [list(range(0, 14, 2)), list(range(1, 14, 2))]
    with pytest.raises(RuntimeError, match=r"split_sizes to sum exactly to 7.*\[1, 2\]"):
        t.split([1, 2])
    with pytest.raises(RuntimeError, match="chunks.*greater than 0"):
        t.chunk(0)


def test_as_strided_stays_inside_the_storage():
    t = torch.arange(6)
    assert t.as_strided((2, 2), (3, 1), 1).tolist() == [[1, 2], [4, 5]]
    assert t.as_strided((3,), (-2,), 5).tolist() == [5, 3, 1]
    for size, stride, offset in (((4,), (2,), 0), ((2,), (-1,), 0), ((1,), (1,), 6), ((2**40,), (2**40,), 0)):
        with pytest.raises(RuntimeError, match="out of bounds for storage|further than 64 bits"):
            t.as_strided(size, stride, offset)


def test_in_place_views_change_the_tensor_itself():
    t = torch.zeros(1, 3)
    assert t.squeeze_() is t and t.shape == (3,)
    assert t.unsqueeze_(1).t_().shape == (1, 3)


def test_other_dtypes_over_the_same_bytes():
    t = torch.tensor([1.0, -2.0])
    assert t.view(torch.int32).tolist() == [0x3F800000, -0x40000000]
    assert t.view(torch.uint8).shape == (8,) and t.view(torch.float64).shape == (1,)
    with pytest.raises(RuntimeError, match=r"size\(-1\) must be divisible by 2"):
        torch.zeros(3).view(torch.float64)


def test_complex_parts_are_views():
    z = torch.tensor([1 + 2j, 3 - 4j])
    z.real[0] = 7
    z.imag[1] = 0
    assert z.tolist() == [7 + 2j, 3 + 0j]
    assert torch.view_as_complex(torch.view_as_real(z)).tolist() == z.tolist()


def test_resize_keeps_the_elements_that_stay():
    t = torch.arange(6)
    assert t.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert t.resize_(8).tolist()[:6] == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="negative"):
        t.resize_(-1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(12).view(3, 4).t(),
        lambda: torch.arange(12).view(3, 4)[:, ::2],
        lambda: torch.arange(3).expand(2, 3),
        lambda: torch.empty(0).as_strided((0, 2), (0, 5)),
        lambda: torch.tensor(3),
    ],
)
def test_resize_to_the_shape_that_a_tensor_has_moves_nothing(make):
    for resized in (lambda t: t.resize_(t.shape), lambda t: t.resize_as_(torch.zeros(t.shape))):
        t = make()
        strides, values, memory = t.stride(), t.tolist(), t.data_ptr()
        assert resized(t) is t
        assert (t.stride(), t.tolist(), t.data_ptr()) == (strides, values, memory)


def test_set_shares_another_tensors_memory():
    a, b = torch.zeros(4), torch.ones(2)
    a.set_(b)
    b[0] = 5
    assert a.tolist() == [5, 1]
    with pytest.raises(TypeError, match="set_: source must be a tensor or a storage, not int"):
        a.set_(3)


def test_broadcast_tensors_and_atleast():
    a, b = torch.broadcast_tensors(torch.zeros(3, 1), torch.zeros(2))
    assert a.shape == b.shape == (3, 2)
    assert [t.dim() for t in torch.atleast_2d(torch.tensor(1.0), torch.zeros(2, 2, 2))] == [2, 3]
    assert torch.atleast_3d(torch.zeros(4)).shape == (1, 4, 1)


def test_as_strided_scatter_counts_places_in_the_memory_of_its_input():
    memory = torch.zeros(20, dtype=torch.int64)
    x = memory.as_strided((3, 3), (6, 2))
    x.copy_(torch.arange(1, 10).view(3, 3))
    y = torch.as_strided_scatter(x, torch.tensor([[70, 71], [72, 73]]), (2, 2), (1, 2))
    assert y.stride() == (6, 2) and y.tolist() == [[70, 71, 3], [4, 5, 6], [7, 8, 9]]  # 72 and 73 fall between
    assert x[0].tolist() == [1, 2, 3]


def test_copies_keep_the_order_of_dims_and_close_gaps():
    x = torch.arange(400.0).as_strided((6, 5, 3), (2, 12, 60))
    for y in (x.clone(), torch.empty_like(x), x.abs(), x + 1, x.to(torch.float64)):
        assert y.stride() == (1, 6, 30)
    assert x.clone().equal(x) and (x + 0).equal(x)
    assert torch.empty(4, 1).expand(4, 3).clone().stride() == (3, 1)
    assert torch.arange(20.0)[::2].ravel().stride() == (1,)


def test_conversions_take_a_memory_format():
    x = torch.ones(2, 3, 4, 5)
    assert x.double(memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    assert x.float(memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    last = x.contiguous(memory_format=torch.channels_last)
    assert last.half().stride() == (60, 1, 15, 3)
    assert last.int(memory_format=torch.contiguous_format).is_contiguous()


@pytest.mark.parametrize("name", ["mT", "mH", "H", "adjoint"])
def test_a_number_is_transposed_with_a_warning(name):
    def of(x):
        return x.adjoint() if name == "adjoint" else getattr(x, name)

    with pytest.warns(UserWarning, match=rf"{name}.* deprecated on 0-D tensors"):
        assert of(torch.tensor(3)).item() == 3
    with pytest.warns(UserWarning, match="deprecated"):
        z = of(torch.tensor(1 + 2j))
    assert z.item() == (1 + 2j if name == "mT" else 1 - 2j)
    with pytest.raises(RuntimeError, match=rf"tensor\.{name}.* is only supported on matrices.* Got 1-D tensor"):
        of(torch.ones(2))


def test_parts_of_complex_numbers_can_be_assigned():
    x = torch.tensor([1 + 2j, 3 + 4j])
    x.imag = torch.tensor([5.0, 6.0])
    x.real = 0
    assert x.tolist() == [5j, 6j]
    real = torch.ones(2)
    real.real = torch.zeros(2)
    assert real.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-complex dtypes"):
        real.imag = 1.0
