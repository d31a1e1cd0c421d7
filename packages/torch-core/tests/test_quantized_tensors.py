"""Tensors of small integers with a scale. Values marked so were recorded from PyTorch 2.13."""

import copy
import pickle

import numpy as np
import pytest
import torch


def quantized(values, scale=0.1, zero=10, dtype=torch.quint8):
    return torch.quantize_per_tensor(torch.tensor(values), scale, zero, dtype)


def test_integers_are_the_nearest_and_stay_within_the_dtype():
    q = quantized([[1.0, -2.0, 3.0, 0.25, 99.0]])
    assert q.int_repr().tolist() == [[20, 0, 40, 12, 255]] and q.int_repr().dtype == torch.uint8  # ties to even
    assert torch.allclose(q.dequantize(), torch.tensor([[1.0, -1.0, 3.0, 0.2, 24.5]]))
    assert (q.q_scale(), q.q_zero_point(), q.dtype, q.qscheme()) == (0.1, 10, torch.quint8, torch.per_tensor_affine)
    assert q.is_quantized and not torch.ones(1).is_quantized and not q.is_floating_point() and not q.is_signed()
    assert q.shape == (1, 5) and q.element_size() == 1
    assert torch.equal(torch.dequantize([q, q])[1], q.dequantize()) and torch.equal(
        torch.ones(2).dequantize(), torch.ones(2)
    )
    assert quantized([-20.0], 0.1, 3, torch.qint8).int_repr().tolist() == [-128]
    assert quantized([1e12, -1e12], 1.0, 0, torch.qint32).int_repr().tolist() == [2**31 - 1, -(2**31)]
    assert quantized([float("nan"), float("inf")], 1.0, 3).int_repr().tolist() == [0, 255]


@pytest.mark.parametrize("dtype", [torch.quint8, torch.qint8, torch.qint32])
@pytest.mark.parametrize("zero", [3, 4])
def test_a_tie_is_decided_with_the_zero_point_added(dtype, zero):
    """A half goes to the even integer of the result, not of the number: FBGEMM's rule, and with it PyTorch's."""
    x = torch.arange(0, 40) * 0.25
    expected = np.rint(x.numpy() / 0.5 + zero).astype(int).tolist()
    assert torch.quantize_per_tensor(x, 0.5, zero, dtype).int_repr().tolist() == expected
    steps, zeros = torch.full((2,), 0.5), torch.full((2,), zero)
    each = torch.quantize_per_channel(x.view(2, 20), steps, zeros, 0, dtype)
    assert each.int_repr().flatten().tolist() == expected


def test_each_channel_may_have_its_scale():
    x = torch.tensor([[1.0, 2.0], [1.0, 2.0]])
    q = torch.quantize_per_channel(x, torch.tensor([0.1, 0.5]), torch.tensor([0, 1]), -1, torch.qint8)
    assert q.int_repr().tolist() == [[10, 5], [10, 5]] and torch.allclose(q.dequantize(), x)
    assert q.q_per_channel_axis() == 1 and q.q_per_channel_scales().dtype == torch.float64
    assert q.q_per_channel_zero_points().tolist() == [0, 1] and q.qscheme() == torch.per_channel_affine
    with pytest.raises(RuntimeError, match="got one with a scale for each channel"):
        q.q_scale()
    with pytest.raises(RuntimeError, match="got a tensor quantized as a whole"):
        quantized([1.0]).q_per_channel_scales()
    with pytest.raises(NotImplementedError, match="reshape: not there for tensors with a scale for each channel"):
        q.reshape(4)


def test_dynamic_quantization_uses_the_range_of_the_numbers():
    x = torch.tensor([-1.0, 2.0])
    q = torch.quantize_per_tensor_dynamic(x, torch.quint8, False)
    assert (q.q_scale(), q.q_zero_point()) == (pytest.approx(0.011764705882352941), 85)  # recorded
    q = torch.quantize_per_tensor_dynamic(x, torch.qint8, True)
    assert (q.q_scale(), q.q_zero_point()) == (pytest.approx(0.023622047244094488), -22)  # recorded


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda q: q.reshape(3), [1.0, -1.0, 3.0]),
        (lambda q: torch.cat([q, q], 1), [[1.0, -1.0, 3.0, 1.0, -1.0, 3.0]]),
        (lambda q: q[0, 1:], [-1.0, 3.0]),
        (lambda q: q.t().contiguous().unsqueeze(0), [[[1.0], [-1.0], [3.0]]]),
        (lambda q: torch.stack(q.unbind(1)), [[1.0], [-1.0], [3.0]]),
        (lambda q: torch.flatten(q.expand(2, 3)), [1.0, -1.0, 3.0] * 2),
        (lambda q: q.relu(), [[1.0, 0.0, 3.0]]),
        (lambda q: torch.max_pool1d(q, 2, 1), [[1.0, 3.0]]),
        (lambda q: q.mean(), 1.0),
        (lambda q: q.max(), 3.0),
        (lambda q: torch.clamp(q, 0.0, 2.0), [[1.0, 0.0, 2.0]]),
        (lambda q: q.clone().detach().to("cpu"), [[1.0, -1.0, 3.0]]),
    ],
)
def test_functions_that_keep_the_scale(call, expected):
    found = call(quantized([[1.0, -2.0, 3.0]]))
    assert found.is_quantized and found.q_scale() == 0.1 and found.q_zero_point() == 10
    assert torch.allclose(found.dequantize(), torch.tensor(expected))


@pytest.mark.parametrize(
    "order", [lambda x: x.max(1), lambda x: x.min(0), lambda x: x.sort(1), lambda x: torch.topk(x, 2, 1)]
)
def test_elements_are_ordered_with_their_places(order):
    x = torch.tensor([[1.0, 3.0, 2.0], [0.0, -1.0, 4.0]])
    found, wanted = order(torch.quantize_per_tensor(x, 0.5, 20, torch.quint8)), order(x)
    assert (found[0].q_scale(), found[0].q_zero_point(), type(found)) == (0.5, 20, type(wanted))
    assert torch.equal(found[0].dequantize(), wanted[0]) and torch.equal(found[1], wanted[1])


@pytest.mark.parametrize(
    "dtype, integer", [(torch.qint8, torch.int8), (torch.quint8, torch.uint8), (torch.qint32, torch.int32)]
)
def test_limits_of_quantized_dtypes_are_those_of_their_integers(dtype, integer):
    found, wanted = torch.iinfo(dtype), torch.iinfo(integer)
    assert (found.min, found.max, found.bits) == (wanted.min, wanted.max, wanted.bits)
    assert found.dtype == str(dtype).removeprefix("torch.")


def test_other_functions_compare_or_are_refused():
    q = quantized([[1.0, -2.0, 3.0]])
    assert (q == q).all() and torch.equal(q, q.clone()) and (q > 0).tolist() == [[True, False, True]]
    s = torch.sigmoid(q)
    assert s.q_scale() == 1 / 256 and s.int_repr().tolist() == [[187, 69, 244]]  # recorded: 0.7305, 0.2695, 0.9531
    assert q[0, 0].item() == 1 and q.tolist() == q.float().tolist() and [len(row) for row in q] == [3]
    for refused in (lambda: q + 1, lambda: q.sum(), lambda: q @ q.t(), lambda: q.to(torch.float64), lambda: q.abs()):
        with pytest.raises(NotImplementedError, match=r"not there for quantized tensors; call dequantize\(\) first"):
            refused()
    with pytest.raises(TypeError, match="NumPy has no quantized numbers"):
        q.numpy()
    for join in (torch.cat, torch.stack):  # the others take the scale of the first
        joined = join([q, quantized([[1.0, 2.0, 3.0]], 0.2)])
        assert joined.q_scale() == 0.1 and joined.int_repr().flatten().tolist() == [20, 0, 40, 20, 30, 40]


@pytest.mark.parametrize("dtype", [torch.quint8, torch.qint8, torch.qint32])
def test_results_from_0_to_1_use_all_integers_of_their_dtype(dtype):
    """Scales and zero points as recorded: those of signed integers begin at their least one."""
    q = torch.quantize_per_tensor(torch.tensor([-40.0, 0.0, 40.0]), 0.5, 0, dtype)
    bits, least = torch.iinfo(dtype).bits, torch.iinfo(dtype).min
    for function in (torch.sigmoid, torch.nn.functional.hardsigmoid) if hasattr(torch, "nn") else (torch.sigmoid,):
        found = function(q)
        assert (found.q_scale(), found.q_zero_point()) == (2.0**-bits, least)
        assert np.allclose(found.dequantize(), [0.5 if dtype is torch.quint8 else 0.0, 0.5, 1.0], atol=2.0**-bits)
    found = torch.tanh(q)
    assert (found.q_scale(), found.q_zero_point()) == (2.0 ** (1 - bits), 128 if dtype is torch.quint8 else 0)


def test_zero_points_of_channels_may_be_floats():
    x, steps, zeros = torch.tensor([[1.0, 2.0], [1.0, 2.0]]), torch.tensor([0.1, 0.3]), torch.tensor([0.4, 2.75])
    q = torch.quantize_per_channel(x, steps, zeros, 0, torch.quint8)
    assert q.qscheme() == torch.per_channel_affine_float_qparams
    assert torch.equal(q.q_per_channel_zero_points(), zeros) and torch.equal(q.q_per_channel_scales(), steps)
    assert q.int_repr().tolist() == [[10, 20], [6, 9]]
    assert torch.equal(q.dequantize(), (q.int_repr() - zeros[:, None]) * steps[:, None])


@pytest.mark.parametrize("dtype, per", [(torch.quint4x2, 2), (torch.quint2x4, 4)])
def test_integers_of_less_than_a_byte_are_packed_where_they_are_shown(dtype, per):
    q = torch.quantize_per_tensor(torch.tensor([[1.0, 2.0, 3.0, 99.0, 1.0]]), 1.0, 0, dtype)
    most = 4 ** (4 // per) - 1
    each = [1, 2, 3, most, 1]
    expected = [sum(v << (8 // per * i) for i, v in enumerate(each[k : k + per])) for k in range(0, 5, per)]
    assert q.int_repr().tolist() == expected and q.dtype == dtype and q.dequantize().tolist() == [each]
    assert q[0, 1:3].dequantize().tolist() == [2.0, 3.0]


def test_quantized_tensors_are_made_of_integers_and_empty():
    integers = torch.tensor([[3, 5], [7, 9]], dtype=torch.int8)
    q = torch._make_per_tensor_quantized_tensor(integers, 0.5, 1)
    assert q.dtype is torch.qint8 and q.dequantize().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    integers.zero_()
    assert q.int_repr().tolist() == [[3, 5], [7, 9]]  # a copy
    steps, zeros = torch.tensor([0.5, 1.0]), torch.tensor([1, 2])
    c = torch._make_per_channel_quantized_tensor(q.int_repr(), steps, zeros, -1)
    assert c.q_per_channel_axis() == 1 and c.dequantize().tolist() == [[1.0, 3.0], [3.0, 7.0]]
    for made in (
        torch._empty_affine_quantized([2, 3], scale=0.5, zero_point=1, dtype=torch.qint8), torch.empty_quantized([2, 3], q),
    ):  # fmt: skip
        assert made.shape == (2, 3) and made.q_scale() == 0.5 and made.q_zero_point() == 1 and made.dtype is torch.qint8
    made = torch._empty_per_channel_affine_quantized(
        [3, 2], scales=steps, zero_points=zeros, axis=1, dtype=torch.quint8
    )
    assert made.q_per_channel_scales().tolist() == steps.tolist() and made.dtype is torch.quint8
    like = torch.empty_like(q)
    assert like.q_scale() == 0.5 and like.shape == q.shape and like.data_ptr() != q.data_ptr()
    with pytest.raises(RuntimeError, match="expected integers of int8, uint8 or int32, got torch.int64"):
        torch._make_per_tensor_quantized_tensor(torch.ones(2, dtype=torch.int64), 0.5, 1)
    with pytest.raises(RuntimeError, match="expected 3 scales and zero points"):
        torch._empty_per_channel_affine_quantized([2, 3], scales=steps, zero_points=zeros, axis=1, dtype=torch.quint8)
    with pytest.raises(RuntimeError, match="expected a quantized dtype such as torch.quint8, got None"):
        torch._empty_affine_quantized([2], scale=1.0, zero_point=0)


def test_what_is_written_is_rounded_to_the_scale():
    q = quantized([[1.0, -2.0, 3.0], [0.0, 0.5, 9.0]])
    row, address = q[1], q.data_ptr()
    q[0, 1], q[1] = 0.26, torch.tensor([0.1, 99.0, -99.0])
    assert q.int_repr().tolist() == [[20, 13, 40], [11, 255, 0]] and row.int_repr().tolist() == [11, 255, 0]
    q[0] = quantized([[0.4, 0.8, 1.2]], 0.4, 0)[0]  # of another scale
    assert q.int_repr()[0].tolist() == [14, 18, 22]
    q[torch.tensor([0, 1]), torch.tensor([0, 1])] = torch.tensor([1.0, 2.0])
    assert q.int_repr().tolist() == [[20, 18, 22], [11, 30, 0]]
    q[q > 1.1] = -0.5
    assert q.int_repr().tolist() == [[20, 18, 5], [11, 5, 0]] and q.data_ptr() == address
    filled = q.masked_fill(q < 0, 0.7)
    assert filled.int_repr().tolist() == [[20, 18, 17], [11, 17, 17]] and q.int_repr()[0, 2] == 5
    assert q.masked_fill_(q < 0, 0.0) is q and q.int_repr().tolist() == [[20, 18, 10], [11, 10, 10]]
    assert q.index_put((torch.tensor([1]),), torch.tensor(1.0)).int_repr().tolist() == [[20, 18, 10], [20, 20, 20]]
    assert q.fill_(2.0).int_repr().unique().tolist() == [30] and q.zero_().int_repr().unique().tolist() == [10]
    assert q.copy_(torch.tensor([1.0, 2.0, 3.0])) is q and q.int_repr().tolist() == [[20, 30, 40]] * 2
    other = quantized([[1.0, 2.0, 3.0]], 0.5, 2)
    q.copy_(other.expand(2, 3))
    assert q.q_scale() == 0.5 and q.q_zero_point() == 2 and q.int_repr().tolist() == [[4, 6, 8]] * 2
    with pytest.raises(RuntimeError, match="please use dequantize"):
        torch.ones(2, 3).copy_(q)
    with pytest.raises(RuntimeError, match="got torch.qint8"):
        q.copy_(torch.quantize_per_tensor(torch.ones(2, 3), 1.0, 0, torch.qint8))
    with pytest.raises(NotImplementedError, match="accumulate=True"):
        q.index_put_((torch.tensor([1]),), torch.tensor(1.0), accumulate=True)
    with pytest.raises(TypeError, match="expected a number or a tensor, got str"):
        q[0] = "1"
    assert q.int_repr().tolist() == [[4, 6, 8]] * 2


def test_channels_are_taken_and_written_with_their_scales():
    steps, zeros = torch.tensor([0.5, 1.0, 2.0]), torch.tensor([1, 2, 3])
    x = torch.arange(12.0).reshape(2, 3, 2)
    q = torch.quantize_per_channel(x, steps, zeros, 1, torch.qint32)
    for index in (
        0,
        -1,
        slice(1),
        (..., 1),
        (slice(None), slice(1, 3)),
        (0, slice(None, None, 2), 1),
        (0, 2),
        (slice(None), -1),
    ):
        assert torch.equal(q[index].dequantize(), q.dequantize()[index]), index
    assert q[0].q_per_channel_axis() == 0 and q[:, 1].q_scale() == 1.0 and q[:, 1].q_zero_point() == 2
    assert torch.equal(q.select(1, 2).dequantize(), q.dequantize()[:, 2])
    assert torch.equal(q.narrow(1, 1, 2).dequantize(), q.dequantize()[:, 1:])
    assert q.unsqueeze(0).q_per_channel_axis() == 2 and q.unsqueeze(-1).q_per_channel_axis() == 1
    assert torch.equal(q.unsqueeze(0).squeeze(0).dequantize(), q.dequantize())
    q[1, 2] = torch.tensor([4.0, 6.0])
    q[:, :1] = 0.5
    assert q.dequantize().tolist() == [[[0.5, 0.5], [2, 3], [4, 6]], [[0.5, 0.5], [8, 9], [4, 6]]]
    assert q.fill_(2.0).int_repr()[0, :, 0].tolist() == [5, 4, 4]
    with pytest.raises(NotImplementedError, match="take whole numbers and slices"):
        q[torch.tensor([0])]
    with pytest.raises(NotImplementedError, match="masked_fill_: not there for tensors with a scale for each channel"):
        q.masked_fill_(torch.tensor(True), 1.0)
    with pytest.raises(IndexError):
        q.select(1, 3)


def test_places_of_channels_are_counted_from_the_end_as_well():
    x = torch.arange(6.0).reshape(2, 3)
    q = torch.quantize_per_channel(x, torch.tensor([0.5, 0.25, 1.0]), torch.tensor([1, 2, 3]), 1, torch.quint8)
    last = q.narrow(1, -1, 1)
    assert torch.equal(last.dequantize(), x[:, -1:]) and last.q_per_channel_scales().tolist() == [1]
    with pytest.raises(NotImplementedError, match="whole numbers and slices"):
        q[True]
    for name in ("mean", "max", "relu"):
        with pytest.raises(NotImplementedError, match=f"^{name}: not there"):
            getattr(torch, name)(q)
    with pytest.raises(RuntimeError, match=r"^copy_: expected channels of shape \(2, 3\), got \(1, 3\)$"):
        q.copy_(q[:1])
    assert torch.equal(q.dequantize(), x)


def test_dims_of_one_move_the_channels():
    x = torch.arange(3.0).reshape(1, 3, 1)
    q = torch.quantize_per_channel(x, torch.ones(3), torch.arange(3), 1, torch.quint8)
    assert [q.unsqueeze(dim).q_per_channel_axis() for dim in (0, 1, 2, -1)] == [2, 2, 1, 1]
    assert [q.squeeze(dim).q_per_channel_axis() for dim in (0, 1, 2)] == [0, 1, 1]
    one = torch.quantize_per_channel(x[:, :1], torch.ones(1), torch.zeros(1, dtype=torch.long), 1, torch.quint8)
    with pytest.raises(NotImplementedError, match="^squeeze: not there"):
        one.squeeze(1)


def test_bounds_are_those_of_integers_and_may_be_kept_in_place():
    q = quantized([[1.0, -2.0, 3.0, 0.2]])
    assert q.clamp(-0.26, 1.5).int_repr().tolist() == [[20, 7, 25, 12]] and q.int_repr()[0, 2] == 40
    assert q.clamp(max=0.0).int_repr().tolist() == [[10, 0, 10, 10]] and q.clip(min=0.5).int_repr()[0].tolist() == [
        20,
        15,
        40,
        15,
    ]
    wide = quantized([2e9, -2e9], 1.0, 0, torch.qint32)
    assert wide.clamp(-(2**31), 1.5e9).int_repr().tolist() == [1_500_000_000, -2_000_000_000]
    address = q.data_ptr()
    assert q.clamp_(0.0, 2.0) is q and q.int_repr().tolist() == [[20, 10, 30, 12]] and q.data_ptr() == address
    with pytest.raises(NotImplementedError, match="clamp: not there for tensors with a scale for each channel"):
        torch.quantize_per_channel(
            torch.ones(1, 1), torch.ones(1), torch.zeros(1, dtype=torch.long), 0, torch.qint8
        ).clamp(0)


def test_negative_numbers_are_cut_off_in_place():
    q = quantized([-1.0, 2.0])
    assert torch.relu(q).tolist() == [0, 2] and q.tolist() == [-1, 2]
    assert q.relu_() is q and q.tolist() == [0, 2]


def test_data_is_quantized_as_well():
    q, other = quantized([1.0, 2.0]), quantized([1.0, 2.0], 0.5, 3, torch.qint8)
    assert q.data.q_scale() == 0.1 and q.data.fill_(3.0).tolist() == q.tolist() == [3, 3]
    q.data = other
    assert (q.q_scale(), q.q_zero_point(), q.dtype, q.tolist()) == (0.5, 3, torch.qint8, [1, 2])
    with pytest.raises(TypeError, match="^data: expected a quantized tensor, got torch.float32$"):
        q.data = torch.ones(2)


def test_tensors_are_joined_at_the_scale_of_out():
    q = quantized([1.0, 2.0], 0.5, 3)
    out = quantized([0.0] * 4, 0.25, 7)
    assert torch.cat([q, quantized([3.3, 4.0])], out=out) is out
    assert out.q_scale() == 0.25 and out.int_repr().tolist() == [11, 15, 20, 23]
    with pytest.raises(RuntimeError, match=r"^cat: expected out of shape \(4,\) and torch.quint8, got \(2,\) and"):
        torch.cat([q, q], out=quantized([0.0, 0.0]))
    by_channel = torch.quantize_per_channel(torch.ones(2), torch.tensor([0.25, 0.5]), torch.zeros(2), 0, torch.quint8)
    assert torch.cat(dim=0, tensors=[q, by_channel]).tolist() == [1, 2, 1, 1]
    for call in (lambda: torch.cat([q, q], out=torch.empty(4)), lambda: torch.mean(q, 0, out=torch.empty(()))):
        with pytest.raises(TypeError, match="expected out to be a quantized tensor, got torch.float32$"):
            call()
    for call in (lambda: torch.tanh(q, out=q), lambda: torch.mean(q, 0, out=q[0])):
        with pytest.raises(NotImplementedError, match="out= is not there for quantized tensors"):
            call()
    assert q.tolist() == [1, 2]


@pytest.mark.parametrize("other", [torch.ones(2), quantized([1.0], 0.1, 10, torch.qint8)])
def test_quantized_tensors_are_joined_with_their_like_alone(other):
    with pytest.raises(RuntimeError, match="^cat: expected tensors of torch.quint8, got torch.quint8, torch"):
        torch.cat([quantized([1.0]), other])


def test_what_no_quantized_tensor_can_be_is_refused():
    q = quantized([1.0, 2.0])
    for call in (lambda: q.view(torch.int8), lambda: torch.empty_like(q, dtype=torch.float32)):
        with pytest.raises(NotImplementedError, match="not seen as another dtype"):
            call()
    with pytest.raises(NotImplementedError, match="^__getitem__: a quantized tensor is no index$"):
        q[q]
    with pytest.raises(RuntimeError, match="^__getitem__: expected tensors of torch.quint8, got torch.float32$"):
        torch.ones(2)[q]
    with pytest.raises(NotImplementedError, match="^to: not there"):
        q.to(torch.ones(2))
    assert torch.ones(1, 2).view_as(q).tolist() == [1, 1] and not torch.ones(1).expand_as(q).is_quantized


def test_gaps_are_filled_with_the_integer_of_a_number():
    q = quantized([[1.0, -2.0, 3.0]])
    assert torch.constant_pad_nd(q, (1, 2)).int_repr().tolist() == [[10, 20, 0, 40, 10, 10]]
    assert torch.constant_pad_nd(q, (0, -1), 0.5).int_repr().tolist() == [[20, 0]]
    assert torch.constant_pad_nd(q, (0, 1), 0.5).int_repr().tolist() == [[20, 0, 40, 15]]
    assert np.allclose(q.std(1).dequantize(), q.dequantize().std(1), atol=0.06) and q.std(1).q_scale() == 0.1


def test_copies_and_pickles_keep_what_the_integers_mean():
    q = quantized([[1.0, -2.0, 3.0]])
    c = torch.quantize_per_channel(torch.ones(2, 2), torch.tensor([0.1, 0.5]), torch.tensor([0, 1]), 0, torch.qint8)
    for one in (q, c):
        for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert torch.equal(again.int_repr(), one.int_repr()) and again.dtype == one.dtype
            assert torch.equal(again.dequantize(), one.dequantize()) and repr(again) == repr(one)
    assert repr(q).endswith("quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)")


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: torch.quantize_per_tensor(x, 0.1, 300, torch.quint8), RuntimeError, "expected zero_point from 0 to 255, got 300"),
        (lambda x: torch.quantize_per_tensor(x, 0.0, 3, torch.quint8), RuntimeError, "expected a positive scale, got 0.0"),
        (lambda x: torch._empty_affine_quantized([2], scale=1.0, zero_point=300, dtype=torch.quint8), RuntimeError, "^_empty_affine_quantized: expected zero_point"),
        (lambda x: torch._make_per_tensor_quantized_tensor(x.to(torch.int8), -1.0, 0), RuntimeError, "^_make_per_tensor_quantized_tensor: expected a positive"),
        (lambda x: quantized([1.0, 2.0]).fill_(torch.tensor(1j)), RuntimeError, "^copy_: expected real numbers, got torch.complex64$"),
        (lambda x: quantized([1.0, 2.0]).__setitem__(0, torch.tensor(1j)), RuntimeError, "^__setitem__: expected real numbers, got torch.complex64$"),
        (lambda x: torch.quantize_per_tensor(x, 1.0, 3, torch.int8), RuntimeError, "expected one of torch.qint8, torch.quint8, torch.qint32"),
        (lambda x: torch.quantize_per_tensor(x.int(), 1.0, 3, torch.qint8), RuntimeError, "expected a tensor of float32, got torch.int32"),
        (lambda x: torch.quantize_per_channel(x, x, x, 2, torch.qint8), IndexError, "axis 2 of a tensor with 1 dims"),
        (lambda x: torch.quantize_per_channel(x, x[:1], x, 0, torch.qint8), RuntimeError, r"expected 2 scales and zero points, got \(1,\)"),
        (lambda x: torch.quantize_per_channel(x, x, torch.tensor([0, 300]), 0, torch.quint8), RuntimeError, "quantize_per_channel: expected zero_points from 0 to 255, got 300"),
        (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 5, 3), RuntimeError, "expected quant_min up to quant_max, got 5 and 3"),
        (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 9, 0, 3), RuntimeError, "expected zero_point from 0 to 3, got 9"),
        (lambda x: torch.fake_quantize_per_channel_affine(x, x, x.int(), 1, 0, 3), IndexError, "axis 1 of a tensor with 1 dims"),
        (lambda x: torch.fake_quantize_per_channel_affine(x, x[:1], x[:1].int(), 0, 0, 3), RuntimeError, r"expected 2 scales and zero points, got \(1,\)"),
        (lambda x: torch.fake_quantize_per_tensor_affine(x.int(), 0.1, 0, 0, 3), RuntimeError, "expected a tensor of floats"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.ones(2))


def test_fake_quantization_rounds_as_quantization_does():
    x = torch.randn(1000) * 3
    faked = torch.fake_quantize_per_tensor_affine(x, 0.05, 100, 0, 255)
    assert torch.allclose(faked, torch.quantize_per_tensor(x, 0.05, 100, torch.quint8).dequantize())
    y, s, z = torch.randn(3, 50), torch.tensor([0.01, 0.02, 0.05]), torch.tensor([1, 0, -3])
    faked = torch.fake_quantize_per_channel_affine(y, s, z, 0, -128, 127)
    assert torch.allclose(faked, torch.quantize_per_channel(y, s, z, 0, torch.qint8).dequantize())


def test_gradients_pass_within_the_range():
    pytest.importorskip("torch.autograd")
    x = torch.tensor([-1.0, 0.24, 0.26, 9.0], requires_grad=True)
    faked = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 15)
    faked.sum().backward()
    assert torch.allclose(faked, torch.tensor([0.0, 0.2, 0.3, 1.5])) and x.grad.tolist() == [0, 1, 1, 0]


def test_numbers_in_training_are_exactly_those_that_are_rounded():
    """Neither a sum with the number itself nor an infinity beyond the range may reach the result or the gradient."""
    pytest.importorskip("torch.autograd")
    x = torch.cat([torch.randn(1000) * 3, torch.tensor([float("inf"), -float("inf")])])
    plain = torch.fake_quantize_per_tensor_affine(x, 0.0317, 100, 0, 255)
    faked = torch.fake_quantize_per_tensor_affine(x.requires_grad_(), 0.0317, 100, 0, 255)
    faked.sum().backward()
    assert torch.equal(faked, plain) and x.grad[-2:].tolist() == [0, 0]
    steps = (x.detach() * torch.tensor(1 / 0.0317)).round() + 100
    assert torch.equal(x.grad, ((steps >= 0) & (steps <= 255)).float())


def test_zero_points_of_training_may_be_floats():
    y, s, z = torch.tensor([[0.26, 1.0], [0.26, 9.0]]), torch.tensor([0.1, 0.2]), torch.tensor([0.5, 1.25])
    faked = torch.fake_quantize_per_channel_affine(y, s, z, 0, 0, 15)
    steps = np.clip(np.rint(y.numpy() / s.numpy()[:, None] + z.numpy()[:, None]), 0, 15)
    assert np.allclose(faked, (steps - z.numpy()[:, None]) * s.numpy()[:, None])
    half = torch.fake_quantize_per_tensor_affine(torch.tensor([0.3], dtype=torch.bfloat16), 0.1, 0, 0, 15)
    assert half.dtype is torch.bfloat16 and half.item() == pytest.approx(0.3, abs=1e-3)


def test_a_batch_without_examples_leaves_ranges_alone():
    on, least, most, scale, zero = torch.ones(1), *(torch.full((1,), v) for v in (-1.0, 1.0, 0.5, 2.0))
    found = torch.fused_moving_avg_obs_fake_quant(torch.ones(0, 5), on, on, least, most, scale, zero, 0.1, 0, 255, 0)
    assert found.shape == (0, 5) and (least.item(), most.item(), scale.item(), zero.item()) == (-1.0, 1.0, 0.5, 2.0)


def test_a_scale_is_chosen_as_for_dynamic_quantization():
    x = torch.tensor([-1.0, 2.0])
    for reduce in (False, True):
        q = torch.quantize_per_tensor_dynamic(x, torch.quint8, reduce)
        assert torch._choose_qparams_per_tensor(x, reduce) == (q.q_scale(), q.q_zero_point())


@pytest.mark.parametrize("name", ["int_repr", "q_scale", "q_zero_point", "qscheme", "q_per_channel_scales"])
def test_a_tensor_that_is_not_quantized_says_so(name):
    with pytest.raises(NotImplementedError, match=f"{name}: expected a quantized tensor, got torch.float32"):
        getattr(torch.ones(2), name)()


def test_what_a_quantized_tensor_holds_is_there_as_functions():
    q = torch.quantize_per_tensor(torch.tensor([0.5]), 0.5, 3, torch.qint8)
    assert (torch.int_repr(q).item(), torch.q_scale(q), torch.q_zero_point(q)) == (4, 0.5, 3)
    channels = torch.quantize_per_channel(
        torch.ones(1, 2), torch.tensor([0.5, 1.0]), torch.tensor([0, 1]), 1, torch.qint8
    )
    assert torch.q_per_channel_scales(channels).tolist() == [0.5, 1.0] and torch.q_per_channel_axis(channels) == 1
    assert torch.q_per_channel_zero_points(channels).tolist() == [0, 1]


#: The numbers, the bounds, whether symmetric; the scale as a fraction of floats, and the zero point. Scales by FBGEMM's rule; a
#: symmetric one is that of integers from -(half + 1) to half.
CHOSEN = [
    ([-2.0, 2.0], (0, 255), False, 4 / 255, 127),
    ([-2.0, 2.0], (-128, 127), True, 2 / 127, 0),
    ([-2.0, 0.5], (-128, 127), True, 2 / 128, 0),
    ([-2.0, 2.0], (0, 127), True, 2 / 63, 64),
    ([-1.0, 2.0], (-127, 127), True, 2 / 127 * 255 / 254, 0),
    ([-1.0, 2.0], (-128, 127), False, 3 / 255, -43),
    ([-2.0, 0.5], (-128, 127), False, 2.5 / 255, 76),
    ([0.1, 2.0], (-128, 127), True, 2 / 255, -128),
    ([-2.0, -0.1], (0, 127), True, 2 / 127, 127),
    ([0.0, 0.0], (-128, 127), True, 0.1, 127),
    ([1e-9, 2e-9], (0, 255), False, 6.1e-5, 0),
]


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("values, bounds, symmetric, scale, zero", CHOSEN)
def test_scales_of_running_averages_are_chosen_so_that_zero_has_an_integer(
    values, bounds, symmetric, scale, zero, rows
):
    on, held = torch.tensor([1]), [torch.tensor([v]) for v in (torch.inf, -torch.inf, 1.0)]
    held.append(torch.tensor([0], dtype=torch.int32))
    x = torch.tensor([values, values])
    faked = torch.fused_moving_avg_obs_fake_quant(x, on, on, *held, 0.01, *bounds, 0, rows, symmetric)
    least, most, scales, zeros = held
    n = 2 if rows else 1
    assert least.tolist() == [x.min().item()] * n and most.tolist() == [x.max().item()] * n
    assert torch.allclose(scales, torch.full((n,), scale), rtol=2e-7, atol=0) and zeros.tolist() == [zero] * n
    assert torch.equal(faked, torch.fake_quantize_per_tensor_affine(x, scales[:1], zeros[:1], *bounds))


def test_running_averages_move_and_stay_as_they_are_when_off():
    on, off, zero = torch.tensor([1]), torch.tensor([0]), torch.tensor([0], dtype=torch.int32)
    least, most, scale = torch.tensor([-3.0]), torch.tensor([5.0]), torch.tensor([1.0])
    x = torch.tensor([-1.0, 0.3, 2.0])
    averages = least, most, scale, zero, 0.1, 0, 255, 0
    torch.fused_moving_avg_obs_fake_quant(x, off, on, *averages)
    assert (least.item(), most.item(), scale.item()) == (-3, 5, 1)
    assert torch.fused_moving_avg_obs_fake_quant(x, on, off, *averages) is x
    assert torch.allclose(torch.cat([least, most, scale]), torch.tensor([-2.8, 4.7, 7.5 / 255]))


def test_small_ranges_keep_the_place_of_zero():
    """FBGEMM's rule widens a range to its smallest scale, and zero stays where it was in the range."""
    scale, zero = torch._choose_qparams_per_tensor(torch.tensor([-0.001, 0.002]))
    assert (scale, zero) == (pytest.approx(6.1e-5), 85)  # of 255 / 3


def test_scales_of_dynamic_quantization_are_doubles_of_the_same_rule():
    for values, scale, zero in (([-2.0, 2.0], 4 / 255, 128), ([-1.0, 3.0], 4 / 255, 64), ([0.0, 0.0], 0.1, 0)):
        q = torch.quantize_per_tensor_dynamic(torch.tensor(values), torch.quint8, False)
        assert (q.q_scale(), q.q_zero_point()) == (scale, zero)
    q = torch.quantize_per_tensor_dynamic(torch.tensor([-2.0, 2.0]), torch.qint8, True)
    assert (q.q_scale(), q.q_zero_point()) == (4 / 127, 0)


@pytest.mark.parametrize("name", ["q_per_channel_axis", "q_per_channel_zero_points", "q_scale", "q_zero_point"])
def test_what_the_other_kind_of_quantized_tensor_has_is_refused_by_name(name):
    if name.startswith("q_per_channel"):
        q, why = torch.quantize_per_tensor(torch.ones(2), 0.5, 3, torch.qint8), "a scale for each channel, got a tensor"
    else:
        scales = torch.tensor([0.5, 1.0])
        q, why = (
            torch.quantize_per_channel(torch.ones(1, 2), scales, torch.tensor([0, 1]), 1, torch.qint8),
            "as a whole, got",
        )
    with pytest.raises(RuntimeError, match=f"^{name}: expected .*{why}"):
        getattr(torch, name)(q)


def test_elements_that_are_repeated_keep_their_scale():
    q = quantized([[1.0, 2.0], [3.0, 4.0]])
    again = torch.repeat_interleave(q, 2, 1)
    assert (
        again.q_scale() == q.q_scale()
        and again.dequantize().tolist() == q.dequantize().repeat_interleave(2, 1).tolist()
    )
