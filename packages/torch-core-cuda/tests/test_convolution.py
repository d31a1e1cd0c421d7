"""Convolution and pooling: values and derivatives of one to three dims, strides, padding, dilation, groups."""

import pytest
import torch
from test_elementwise import numbers
from test_products import close

operator = torch._C._operator

#: input, weight, stride, padding, dilation, groups
SHAPES = [
    ((2, 3, 9), (4, 3, 3), [1], [0], [1], 1),
    ((2, 4, 7, 8), (6, 2, 3, 2), [2, 1], [1, 0], [1, 2], 2),
    ((1, 1, 12, 12), (70, 1, 5, 5), [1, 1], [0, 0], [1, 1], 1),
    ((3, 4, 6, 5), (4, 1, 3, 3), [3, 2], [1, 1], [1, 1], 4),
    ((2, 2, 4, 5, 6), (3, 2, 2, 3, 2), [1, 2, 1], [1, 0, 1], [2, 1, 1], 1),
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("transposed", [False, True])
def test_convolution_and_its_derivatives(shape, transposed, dtype):
    of_input, of_weight, *rest, groups = shape
    if transposed:  # the weight's first dim is that of input channels
        of_input = (of_input[0], of_weight[0], *of_input[2:])
    x, w = numbers(of_input, dtype), numbers(of_weight, dtype, 1)
    rest = (*rest, transposed, [0] * (len(of_input) - 2), groups)
    bias = numbers((of_weight[1] * groups if transposed else of_weight[0],), dtype, 2)
    y = operator("convolution")(x, w, bias, *rest)
    close(operator("convolution")(x.cuda(), w.cuda(), bias.cuda(), *rest), y)
    grad, backward = numbers(tuple(y.shape), dtype, 3), operator("convolution_backward")
    here = backward(grad, x, w, *rest, True, True, True)
    there = backward(grad.cuda(), x.cuda(), w.cuda(), *rest, True, True, True)
    for a, b in zip(there, here, strict=True):
        close(a, b)


def test_gradients_of_weights_have_the_same_bits_every_time():
    from torch._cuda import _native

    x, grad = numbers((8, 2, 20, 20), torch.float32).cuda(), numbers((8, 3, 18, 18), torch.float32, 1).cuda()
    w = torch.zeros(3, 2, 3, 3, device="cuda")
    rest = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, True, False)
    first = operator("convolution_backward")(grad, x, w, *rest)[1].cpu()
    _native.configure(order=9)
    assert torch.equal(operator("convolution_backward")(grad, x, w, *rest)[1].cpu(), first)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize(
    "shape, kernel, stride, padding, dilation",
    [
        ((2, 3, 11), [3], [2], [1], [1]),
        ((2, 3, 7, 8), [2, 3], [2, 1], [1, 1], [1, 2]),
        ((1, 2, 20, 20), [17, 17], [1, 1], [0, 0], [1, 1]),
        ((2, 2, 5, 6, 4), [2, 2, 2], [2, 2, 1], [0, 1, 0], [1, 1, 1]),
    ],
)
def test_pooling_by_maxima(shape, kernel, stride, padding, dilation, dtype):
    x = numbers(shape, dtype)
    arguments = (kernel, stride, padding, dilation)
    y, won = operator("max_pool")(x, *arguments, False, True)
    y_there, won_there = operator("max_pool")(x.cuda(), *arguments, False, True)
    assert torch.equal(y_there.cpu(), y) and torch.equal(won_there.cpu(), won)
    size = list(shape[2:])
    at = operator("max_pool_indices")
    assert torch.equal(at(won_there, size, *arguments).cpu(), at(won, size, *arguments))
    if dtype.is_floating_point:
        grad = numbers(tuple(y.shape), dtype, 1)
        backward, gather = operator("max_pool_backward"), operator("max_pool_gather")
        close(backward(grad.cuda(), won_there, size, *arguments), backward(grad, won, size, *arguments))
        close(gather(x.cuda(), won_there, *arguments), gather(x, won, *arguments))


def test_a_nan_wins_and_of_equal_elements_the_first():
    x = torch.tensor([[[1.0, float("nan"), 2.0, 3.0, 3.0, 1.0]]])
    y, at = pytest.importorskip("torch.nn.functional").max_pool1d(x.cuda(), 3, return_indices=True)
    assert y.cpu()[0, 0, 0].isnan() and y[0, 0, 1] == 3 and at.tolist() == [[[1, 3]]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("count_padding, divisor", [(True, None), (False, None), (True, 5)])
def test_pooling_by_averages(count_padding, divisor, dtype):
    x = numbers((2, 3, 7, 9), dtype)
    arguments = ([3, 2], [2, 2], [1, 1], True, count_padding, divisor)
    y = operator("avg_pool")(x, *arguments)
    close(operator("avg_pool")(x.cuda(), *arguments), y)
    grad, backward = numbers(tuple(y.shape), dtype, 1), operator("avg_pool_backward")
    close(backward(grad.cuda(), [7, 9], *arguments), backward(grad, [7, 9], *arguments))


@pytest.mark.parametrize("out", [(1, 1), (3, 4), (7, 9), (10, 11)])
def test_bins_that_adapt(out):
    x = numbers((2, 3, 7, 9), torch.float32)
    y, at = operator("adaptive_max_pool")(x, list(out))
    y_there, at_there = operator("adaptive_max_pool")(x.cuda(), list(out))
    assert torch.equal(y_there.cpu(), y) and torch.equal(at_there.cpu(), at)
    close(operator("adaptive_avg_pool")(x.cuda(), list(out)), operator("adaptive_avg_pool")(x, list(out)))
    grad, backward = numbers((2, 3, *out), torch.float32, 1), operator("adaptive_avg_pool_backward")
    close(backward(grad.cuda(), [7, 9]), backward(grad, [7, 9]))


def test_unpooling():
    F = pytest.importorskip("torch.nn.functional")
    x = numbers((2, 3, 6, 8), torch.float32)
    y, at = F.max_pool2d(x, 2, return_indices=True)
    close(F.max_unpool2d(y.cuda(), at.cuda(), 2), F.max_unpool2d(y, at, 2))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("mode, shape", [("linear", (2, 3, 7)), ("bilinear", (1, 2, 5, 6)), ("bicubic", (1, 2, 5, 6)),
                                         ("nearest", (1, 2, 5, 6)), ("trilinear", (1, 2, 3, 4, 5))])  # fmt: skip
def test_resampling(mode, shape, dtype):
    F = pytest.importorskip("torch.nn.functional")
    x = numbers(shape, dtype).requires_grad_()
    y = x.detach().cuda().requires_grad_()
    for factor in (2.5, 0.6):
        a, b = (F.interpolate(t, scale_factor=factor, mode=mode) for t in (x, y))
        close(b.detach(), a.detach())
        grad = numbers(tuple(a.shape), dtype, 1)
        close(torch.autograd.grad(b, y, grad.cuda())[0], torch.autograd.grad(a, x, grad)[0])
