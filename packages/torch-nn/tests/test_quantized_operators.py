"""torch.ops.quantized_decomposed: quantization as arithmetic, against NumPy."""

import numpy as np
import pytest
import torch

ops = torch.ops.quantized_decomposed


def test_tensors_are_rounded_to_the_grid_and_back():
    x = np.linspace(-3, 3, 25, dtype=np.float32)
    expected = np.clip(np.round(x * np.float32(1 / 0.25)) + 3, -8, 7).astype(np.int8)
    found = ops.quantize_per_tensor(torch.from_numpy(x), 0.25, 3, -8, 7, torch.int8)
    assert found.dtype == torch.int8 and (found.numpy() == expected).all()
    back = ops.dequantize_per_tensor(found, 0.25, 3, -8, 7, torch.int8)
    assert (back.numpy() == (expected.astype(np.float32) - 3) * np.float32(0.25)).all()
    scale, zero = torch.tensor(0.25), torch.tensor(3)
    assert ops.quantize_per_tensor.tensor(torch.from_numpy(x), scale, zero, -8, 7, torch.int8).equal(found)
    assert ops.dequantize_per_tensor.tensor(found, scale, zero, -8, 7, torch.int8).equal(back)


def test_channels_have_scales_of_their_own():
    x, scales, zeros = torch.tensor([[1.0, -2.0], [3.0, 0.5]]), torch.tensor([0.5, 0.25]), torch.tensor([0, 10])
    found = ops.quantize_per_channel.default(x, scales, zeros, 0, 0, 15, torch.uint8)
    assert found.tolist() == [[2, 0], [15, 12]]
    back = ops.dequantize_per_channel(found, scales, zeros, 0, 0, 15, torch.uint8)
    assert back.tolist() == [[1.0, 0.0], [1.25, 0.5]]
    assert ops.dequantize_per_channel(found, scales, None, -1, 0, 15, torch.uint8).tolist() == [[1.0, 0.0], [7.5, 3.0]]


def test_grids_that_make_no_sense_are_refused():
    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match="quantize_per_tensor: quant_min 9 is above quant_max 8"):
        ops.quantize_per_tensor(x, 0.25, 3, 9, 8, torch.int8)
    with pytest.raises(IndexError, match="quantize_per_channel: axis 2 is out of range"):
        ops.quantize_per_channel(x, torch.ones(2), torch.zeros(2), 2, 0, 8, torch.int8)
    with pytest.raises(
        ValueError, match=r"quantize_per_channel: expected a scale for each of the 3 places of axis 1, got \(2,\)"
    ):
        ops.quantize_per_channel(x, torch.ones(2), torch.zeros(2), 1, 0, 8, torch.int8)


def test_each_token_has_a_scale_and_a_zero_point():
    from torch.ao.quantization.fx._decomposed import _per_token_quant_qparam_dim_check, quantized_decomposed_lib

    x = torch.ones(2, 4, 3)
    _per_token_quant_qparam_dim_check(x, torch.ones(2, 4, 1), torch.zeros(8))
    with pytest.raises(AssertionError, match=r"num_tokens: 8 scales: torch.Size\(\[3\]\)"):
        _per_token_quant_qparam_dim_check(x, torch.ones(3), torch.zeros(8))
    with pytest.raises(AssertionError, match="zero_points"):
        _per_token_quant_qparam_dim_check(x, torch.ones(8), torch.zeros(1))
    assert quantized_decomposed_lib.ns == "quantized_decomposed"


X = torch.tensor([[-1.0, 0.5, 2.0, 3.0], [0.25, 0.125, -4.0, 1.0]])


def test_scales_are_chosen_for_a_tensor():  # -4 to 3
    scale, zero = ops.choose_qparams.tensor(X, -128, 127, 1e-7, torch.int8)
    assert scale.tolist() == [pytest.approx(7 / 255)] and zero.tolist() == [18] and scale.dtype is torch.float64
    scale, zero = ops.choose_qparams_symmetric.tensor(X, 0, 255, 1e-7, torch.uint8)
    assert scale.tolist() == [pytest.approx(8 / 255)] and zero.tolist() == [128]
    assert ops.choose_qparams.tensor(torch.zeros(2), -128, 127, 0.5, torch.int8)[0].tolist() == [0.5]
    with pytest.raises(ValueError, match="quant_min 5 is not below quant_max 5"):
        ops.choose_qparams.tensor(X, 5, 5, 1e-7, torch.int8)
    with pytest.raises(ValueError, match="expected numbers, got torch.float32 of shape"):
        ops.choose_qparams.tensor(torch.ones(0), 0, 5, 1e-7, torch.int8)


def test_scales_are_chosen_for_each_token():  # the integers are those of PyTorch 2.13
    scales, zeros = ops.choose_qparams_per_token(X, torch.int8)
    assert (scales * 127).tolist() == [[3], [4]] and zeros.tolist() == [[0], [0]]
    q = ops.quantize_per_token(X, scales, zeros, -127, 127, torch.int8)
    assert q.tolist() == [[-42, 21, 85, 127], [8, 4, -127, 32]]
    back = ops.dequantize_per_token(q, scales, zeros, -127, 127, torch.int8, torch.float32)
    np.testing.assert_allclose(back.numpy(), X.numpy(), atol=2 / 127)
    scales, zeros = ops.choose_qparams_per_token_asymmetric(X, torch.int8)
    q = ops.quantize_per_token(X, scales, zeros, -128, 127, torch.int8)
    assert zeros.tolist() == [[-64], [76]] and q.tolist() == [[-128, -32, 63, 127], [89, 82, -128, 127]]
    with pytest.raises(NotImplementedError, match="unsupported dtype torch.uint8"):
        ops.choose_qparams_per_token(X, torch.uint8)
    with pytest.raises(AssertionError, match="num_tokens: 2 scales"):
        ops.quantize_per_token(X, torch.ones(3), torch.zeros(3), -128, 127, torch.int8)


def test_groups_of_a_row_have_scales_of_their_own():
    scales, zeros = torch.tensor([[0.5, 0.25], [0.125, 1.0]]), torch.tensor([[0, 1], [2, 3]])
    q = ops.quantize_per_channel_group(X, scales, zeros, -8, 7, torch.int8, 2)
    assert q.tolist() == [[-2, 1, 7, 7], [4, 3, -1, 4]]
    back = ops.dequantize_per_channel_group(q, scales, zeros, -8, 7, torch.int8, 2, torch.float32)
    assert back.tolist() == [[-1, 0.5, 1.5, 1.5], [0.25, 0.125, -4, 1]]
    plain = ops.dequantize_per_channel_group(q, scales, None, -8, 7, torch.int8, 2, torch.float16)
    assert plain.dtype is torch.float16 and plain[0].tolist() == [-1, 0.5, 1.75, 1.75]
    with pytest.raises(AssertionError, match="a multiple of group_size 3"):
        ops.quantize_per_channel_group(X, scales, zeros, -8, 7, torch.int8, 3)
    with pytest.raises(AssertionError, match="expected 2 scales for groups of 4"):
        ops.quantize_per_channel_group(X, scales, zeros, -8, 7, torch.int8, 4)


def test_fake_quantization_of_channels_has_gradients_within_the_range():
    x = X.clone().requires_grad_()
    y = ops.fake_quant_per_channel(x, torch.tensor([0.5, 0.125]), torch.tensor([0, 2]), 0, -8, 7)
    y.sum().backward()
    assert y.tolist() == [[-1, 0.5, 2, 3], [0.25, 0.125, -1.25, 0.625]]
    assert x.grad.tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert ops.convert_element_type.no_fuse(X, torch.float16).dtype is torch.float16
