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


@pytest.mark.parametrize("form", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_gradients_of_many_small_pixels_are_summed_with_more_digits(mode, form):
    image = torch.ones(1, 2, 2, 2, dtype=torch.bfloat16).contiguous(memory_format=form).requires_grad_()
    resized = torch.nn.functional.interpolate(image, (1200, 2), mode=mode)
    resized.backward(torch.ones_like(resized))
    assert resized.dtype == torch.bfloat16 and (image.grad == 600).all()


@pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.complex64])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_weighted_sums_are_for_floating_point_numbers(mode, dtype):
    with pytest.raises(
        NotImplementedError, match=f"mode '{mode}' is for floating point numbers and uint8, got {dtype}"
    ):
        torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2, dtype=dtype), 4, mode=mode)
    assert torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2, dtype=dtype), 4).dtype == dtype


@pytest.mark.parametrize("mode, n", [("linear", 1), ("bilinear", 2), ("bicubic", 2), ("area", 2), ("trilinear", 3)])
def test_a_second_backward_pass_needs_nothing_retained(mode, n):
    image = torch.rand(1, 2, *[4] * n, requires_grad=True)
    total = torch.nn.functional.interpolate(image, [7] * n, mode=mode).sum()
    total.backward()
    once = image.grad.clone()
    total.backward()
    torch.testing.assert_close(image.grad, 2 * once)
