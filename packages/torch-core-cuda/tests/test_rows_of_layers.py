"""Softmax and layer normalisation: lines of any length along any dim, and their derivatives."""

import pytest
import torch
from test_elementwise import numbers

operator = torch._C._operator


def close(there, here):
    assert there.is_cuda and there.dtype == here.dtype and there.shape == here.shape
    tolerance = {2: 1e-2, 4: 1e-5, 8: 1e-12}[here.dtype.itemsize]
    assert torch.allclose(there.cpu(), here, rtol=tolerance, atol=tolerance, equal_nan=True), (there, here)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize(
    "shape, dim", [((3, 5), 1), ((3, 1000), 1), ((40, 6), 0), ((2, 33, 7), 1), ((2, 0), 1), ((), 0)]
)
def test_softmax(shape, dim, dtype):
    x = numbers(shape, dtype)
    for name in ("softmax", "log_softmax"):
        y = operator(name)(x, dim)
        close(operator(name)(x.cuda(), dim), y)
        grad = numbers(shape, dtype, 1)
        backward = operator(f"{name}_backward")
        close(backward(grad.cuda(), y.cuda(), dim), backward(grad, y, dim))
    close(operator("softmax")(x.cuda(), dim).sum(dim), operator("softmax")(x, dim).sum(dim))


def test_softmax_beside_minus_infinity_and_large_numbers():
    x = torch.tensor([[1e4, 0, -float("inf")], [1.0, 2.0, 3.0]])
    close(operator("softmax")(x.cuda(), 1), operator("softmax")(x, 1))
    close(operator("log_softmax")(x.cuda(), 1), operator("log_softmax")(x, 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("n, c", [(1, 1), (7, 5), (4, 700)])
@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm(n, c, affine, dtype):
    x, grad = numbers((n, c), dtype), numbers((n, c), dtype, 1)
    weight, bias = (numbers((c,), dtype, 2), numbers((c,), dtype, 3)) if affine else (None, None)
    there = [t if t is None else t.cuda() for t in (weight, bias)]
    here = operator("native_layer_norm")(x, [c], weight, bias, 1e-5)
    for a, b in zip(operator("native_layer_norm")(x.cuda(), [c], *there, 1e-5), here, strict=True):
        close(a, b)
    mean, rstd = here[1:]
    backward = operator("native_layer_norm_backward")
    for a, b in zip(
        backward(grad.cuda(), x.cuda(), [c], mean.cuda(), rstd.cuda(), *there),
        backward(grad, x, [c], mean, rstd, weight, bias),
        strict=True,
    ):
        if c > 1:  # else the parts cancel
            close(a, b)


def test_on_another_device():
    from test_devices import run

    said = run(
        "import torch; print(torch._C._operator('softmax')(torch.zeros(2, 2, device='cuda:1'), 1))",
        "devices=2,guard,lazy",
    )
    assert said.split() == ["tensor([[0.5000,", "0.5000],", "[0.5000,", "0.5000]],", "device='cuda:1')"]
