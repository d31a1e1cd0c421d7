"""Resizing of what is no plain tensor."""

import pytest
import torch


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_quantized_images_are_resized_and_keep_their_scale(mode):
    x = torch.arange(12.0).reshape(1, 1, 3, 4)
    q = torch.quantize_per_tensor(x, 0.5, 3, torch.quint8)
    found = torch.nn.functional.interpolate(q, scale_factor=2, mode=mode)
    assert (found.q_scale(), found.q_zero_point(), found.dtype) == (0.5, 3, torch.quint8)
    wanted = torch.nn.functional.interpolate(x, scale_factor=2, mode=mode)
    assert torch.allclose(found.dequantize(), wanted, atol=0.25)
