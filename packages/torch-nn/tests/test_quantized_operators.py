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
