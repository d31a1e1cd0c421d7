"""Bytes with scales: products, convolutions, sums and conversions have the CPU's bits."""

import pytest
import torch

operator = torch._C._operator


def same(name, *args):
    here = operator(name)(*args)
    there = operator(name)(*(a.cuda() if isinstance(a, torch.Tensor) else a for a in args))
    assert there.is_cuda and there.dtype == here.dtype and there.shape == here.shape
    as_bits = {torch.float32: torch.int32}.get(here.dtype, here.dtype)
    numbers = here == here  # NaN has many forms
    assert torch.equal(there.cpu()[numbers].view(as_bits), here[numbers].view(as_bits))
    assert torch.equal(there.cpu() == there.cpu(), numbers)


@pytest.fixture
def made():
    generator = torch.Generator().manual_seed(3)

    def tensor(dtype, *shape):
        if dtype == torch.float32:
            return torch.randn(shape, generator=generator)
        least = -128 if dtype == torch.int8 else 0
        return torch.randint(least, least + 256, shape, generator=generator).to(dtype)

    return tensor


BYTES = pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])


@BYTES
def test_numbers_become_bytes_and_come_back(made, dtype):
    x = made(torch.float32, 1000) * 10
    x[:5] = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.05, 0.15])
    same("_int8_quantize", x, 0.1, -3 if dtype == torch.int8 else 7, dtype == torch.int8)
    same("_int8_dequantize", made(dtype, 40, 25).t(), 0.37, 3)


@BYTES
@pytest.mark.parametrize("relu", [False, True])
def test_sums(made, dtype, relu):
    same("_int8_add", made(dtype, 777), made(dtype, 777), 0.1, 3, 0.2, 4, 0.3, 5, relu)


#: rows, columns, middle: whole tiles, parts of them, single rows and columns, words that are cut, nothing to add up
SIZES = [
    (1, 1, 1),
    (1, 64, 256),
    (3, 5, 7),
    (5, 9, 65),
    (33, 66, 1000),
    (2, 3, 4097),
    (70, 130, 8),
    (4, 1, 33),
    (6, 5, 0),
]


@BYTES
@pytest.mark.parametrize("m, n, k", SIZES)
def test_products_of_bytes(made, dtype, m, n, k):
    w, scale, bias = made(torch.int8, n, k), made(torch.float32, n).abs() / 100, made(torch.float32, n) * 100
    x = made(dtype, m, k)
    same("_int8_dense", x, w, scale, bias, 3, 4, False)
    same("_int8_dense", x, w, scale, None, 3, 4, True)


@pytest.mark.parametrize("m, n, k", SIZES)
@pytest.mark.parametrize("reduce_range", [False, True])
def test_products_of_numbers_that_are_rounded_as_they_come(made, m, n, k, reduce_range):
    x, w, scale = made(torch.float32, m, k), made(torch.int8, n, k), made(torch.float32, n).abs() + 0.1
    same("_int8_dynamic", x, w, scale, made(torch.float32, n), reduce_range)
    for other in (x * 1e-6, x.abs() + 1, x * 0):
        same("_int8_dynamic", other, w, scale, None, reduce_range)
    if k:
        x[-1, 0] = float("nan")
        same("_int8_linear", x, w, scale, None)


def test_the_longest_sums_do_not_overflow():
    x, w = torch.full((2, 65535), 255, dtype=torch.uint8), torch.full((3, 65535), -128, dtype=torch.int8)
    same("_int8_dense", x, w, torch.full((3,), 1e-7), None, 0, 255, False)
    same("_int8_dense", x[:1], w, torch.full((3,), 1e-7), None, 255, 128, False)


#: input, weight, stride, padding, dilation, groups
SHAPES = [
    ((2, 3, 9), (4, 3, 3), 1, 1, 1, 1),
    ((1, 4, 9, 10), (6, 2, 3, 3), 2, 1, 2, 2),
    ((1, 5, 7, 8), (10, 1, 3, 3), 1, 2, 1, 5),
    ((1, 70, 5, 6), (66, 70, 3, 3), 1, 1, 1, 1),
    ((2, 8, 6, 6), (8, 8, 1, 1), 1, 0, 1, 1),
    ((2, 3, 4, 5, 6), (4, 3, 2, 3, 2), 1, 1, 1, 1),
]


@BYTES
@pytest.mark.parametrize("of_input, of_weight, stride, padding, dilation, groups", SHAPES)
def test_convolutions(made, dtype, of_input, of_weight, stride, padding, dilation, groups):
    w, scale = made(torch.int8, *of_weight), made(torch.float32, of_weight[0]).abs() / 100
    bias, rest = made(torch.float32, of_weight[0]) * 50, ([stride], [padding], [dilation], groups)
    same("_int8_convolution", made(dtype, *of_input), w, scale, bias, *rest, 5, 9, False)
    same("_int8_convolution", made(dtype, *of_input), w, scale, None, *rest, 5, 9, True)


def test_a_weight_is_read_as_it_lies_and_one_that_the_cpu_packed_is_told(made):
    w = made(torch.int8, 4, 5)
    assert operator("_int8_pack")(w.cuda()).cpu().equal(w)
    packed = operator("_int8_pack")(w)
    if packed.dim() == 1:  # a processor that likes another order
        with pytest.raises(RuntimeError, match="move a weight first, then pack it"):
            operator("_int8_linear")(torch.ones(3, 5).cuda(), packed.cuda(), torch.ones(4).cuda(), None)


def test_a_layer_that_was_called_on_the_cpu_moves():
    quantized = pytest.importorskip("torch.ao.nn.quantized.dynamic")
    nn = pytest.importorskip("torch.nn")
    torch.manual_seed(0)
    layer = quantized.Linear(5, 4)
    weight = torch.quantize_per_tensor(nn.Linear(5, 4).weight.detach(), 0.01, 0, torch.qint8)
    layer.set_weight_bias(weight, torch.ones(4))
    x = torch.randn(3, 5)
    here = layer(x)
    assert layer.cuda()(x.cuda()).cpu().equal(here) and layer.cpu()(x).equal(here)
