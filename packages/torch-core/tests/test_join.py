"""Joining, repeating, turning and padding, against NumPy."""

import numpy as np
import pytest
import torch


def counting(*shape, dtype=np.float32):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat_and_stack_put_tensors_side_by_side(dim):
    a, b = counting(2, 3, 4), -counting(2, 3, 4)
    s, t = torch.from_numpy(a), torch.from_numpy(b)
    for u, v in ((s, t), (s.transpose(1, 2).contiguous().transpose(1, 2), t)):
        assert np.array_equal(torch.cat((u, v), dim).numpy(), np.concatenate((a, b), dim))
        assert np.array_equal(torch.stack([u, v], dim).numpy(), np.stack((a, b), dim))


@pytest.mark.parametrize("widths", [(70_000, 1, 0, 300_000, 5), (3000,) * 60, (7,) * 30_000, (200_000,)])
def test_pieces_of_any_size_are_shared_out_and_lie_side_by_side(widths):
    pieces = [counting(w) + i for i, w in enumerate(widths)]
    line = [torch.from_numpy(p) for p in pieces]
    assert np.array_equal(torch.cat(line).numpy(), np.concatenate(pieces))
    if len(widths) < 100:
        rows = [np.stack((p, -p, p + 1)) for p in pieces]
        assert np.array_equal(torch.cat([torch.from_numpy(r) for r in rows], 1).numpy(), np.concatenate(rows, 1))
    if len(set(widths)) == 1:
        assert np.array_equal(torch.stack(line).numpy(), np.stack(pieces))


def test_cat_promotes_and_skips_the_empty_tensor_of_old():
    assert torch.cat([torch.ones(2, dtype=torch.int32), torch.zeros(1)]).dtype == torch.float32
    assert torch.cat([torch.empty(0), torch.ones(2, 2)], 1).shape == (2, 2)
    assert torch.cat([torch.ones(1, 2)] * 40).shape == (40, 2)
    for dim in (0, 1, -2, 5):  # of nothing but such tensors dim may be any
        assert torch.cat([torch.empty(0), torch.empty(0)], dim).shape == (0,)


def test_cat_names_what_does_not_fit():
    with pytest.raises(
        RuntimeError, match="match except in dimension 1. Expected size 2 but got size 3 for tensor number 1"
    ):
        torch.cat([torch.ones(2, 2), torch.ones(3, 2)], 1)
    with pytest.raises(ValueError, match="cat.*non-empty list"):
        torch.cat([])
    with pytest.raises(RuntimeError, match="stack: expected a non-empty list"):
        torch.stack([])
    with pytest.raises(RuntimeError, match="zero-dimensional tensor"):
        torch.cat([torch.tensor(1.0)])
    with pytest.raises(RuntimeError, match=r"equal size, but got \[2\] at entry 0 and \[3\] at entry 1"):
        torch.stack([torch.ones(2), torch.ones(3)])
    with pytest.raises(TypeError):
        torch.cat([torch.ones(2), None])


def test_functions_of_tensors_one_by_one_take_none():
    assert torch.block_diag().shape == (1, 0) and torch.block_diag(torch.ones(2), torch.ones(1)).shape == (2, 3)
    assert len(torch.broadcast_tensors()) == len(torch.atleast_1d([])) == 0
    with pytest.raises(RuntimeError, match="meshgrid.*non-empty"):
        torch.meshgrid(indexing="ij")


def test_stacks_of_numpys_names():
    a, b = torch.arange(3), torch.arange(3, 6)
    for name in ("hstack", "vstack", "dstack", "column_stack"):
        assert np.array_equal(getattr(torch, name)((a, b)).numpy(), getattr(np, name)((a.numpy(), b.numpy())))


def test_copies_side_by_side():
    a = counting(2, 3)
    t = torch.from_numpy(a)
    assert np.array_equal(t.repeat(2, 1, 3).numpy(), np.tile(a, (2, 1, 3)))
    assert np.array_equal(t.tile(2).numpy(), np.tile(a, 2))
    assert np.array_equal(t.repeat_interleave(2, 1).numpy(), np.repeat(a, 2, 1))
    assert np.array_equal(t.repeat_interleave(torch.tensor([2, 0]), 0).numpy(), np.repeat(a, [2, 0], 0))
    with pytest.raises(RuntimeError, match="can not be smaller than number of dimensions"):
        t.repeat(2)
    with pytest.raises(RuntimeError, match="can not be negative, got -1"):
        t.repeat_interleave(torch.tensor([1, -1]), 0)


def test_elements_in_another_order():
    a = counting(3, 4)
    t = torch.from_numpy(a)
    assert np.array_equal(t.flip(0, 1).numpy(), a[::-1, ::-1])
    assert np.array_equal(t.roll(2).numpy(), np.roll(a, 2))
    assert np.array_equal(t.roll((1, -1), (0, 1)).numpy(), np.roll(a, (1, -1), (0, 1)))
    for k in range(-1, 4):
        assert np.array_equal(t.rot90(k).numpy(), np.rot90(a, k))


@pytest.mark.parametrize(
    "mode, numpy_mode", [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
def test_padding_is_that_of_numpy(mode, numpy_mode):
    a = counting(1, 2, 4, 5)
    got = torch._C._operator("pad")(torch.from_numpy(a), [1, 2, 3, 0], mode)
    assert np.array_equal(got.numpy(), np.pad(a, ((0, 0), (0, 0), (3, 0), (1, 2)), mode=numpy_mode))


def test_padding_cuts_with_negative_widths_and_refuses_too_much():
    t = torch.arange(5.0)
    pad = torch._C._operator("pad")
    assert pad(t, [-1, 2], value=9).tolist() == [1, 2, 3, 4, 9, 9]
    with pytest.raises(RuntimeError, match="negative output size"):
        pad(t, [-3, -3])
    with pytest.raises(RuntimeError, match=r"less than the corresponding input dimension.*padding \(5, 0\)"):
        pad(t.view(1, 5), [5, 0], "reflect")


@pytest.mark.parametrize("widths", [(-1, 2), (2, -1), (5, -3), (-4, 3), (-1, -2), (-2, 0, 3, -1), (1, 2, -3, 1)])
def test_circular_padding_repeats_nothing_of_what_it_cuts_off(widths):
    a = counting(1, 4, 5)
    kept, more = a, [(0, 0)] * 3
    for d, (left, right) in enumerate(zip(widths[::2], widths[1::2], strict=True)):
        last = a.shape[-1 - d] + min(right, 0)
        kept = np.take(kept, range(max(-left, 0), last), -1 - d)
        more[-1 - d] = max(left, 0), max(right, 0)
    got = torch._C._operator("pad")(torch.from_numpy(a), list(widths), "circular")
    assert np.array_equal(got.numpy(), np.pad(kept, more, mode="wrap"))


@pytest.mark.parametrize("widths", [(-3, 1), (1, -3)])
def test_circular_padding_needs_something_to_repeat(widths):
    with pytest.raises(RuntimeError, match=r"cuts off all that it would repeat of input \[1, 1, 3\]"):
        torch._C._operator("pad")(torch.ones(1, 1, 3), list(widths), "circular")


def test_rolling_a_number_needs_no_dims():
    x = torch.tensor(5)
    assert torch.roll(x, 3).item() == 5
    with pytest.raises(IndexError, match="roll: dims are given as .* but a 0-d tensor has none"):
        torch.roll(x, 1, 0)


def test_cat_does_not_write_over_what_it_reads():
    x = torch.arange(6.0).view(2, 3)
    with pytest.raises(RuntimeError, match="cat.*input tensor 'tensors' and of out refer to a single memory location"):
        torch.cat([torch.empty(0), x], 0, out=x)
    assert x.view(-1).tolist() == [0, 1, 2, 3, 4, 5]
    both = torch.empty(4, 3)
    assert torch.cat([x, x], out=both) is both and both[2:].equal(x)
