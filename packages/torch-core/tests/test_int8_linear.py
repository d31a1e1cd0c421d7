"""Products over int8 values and scales, against the same integers in int64."""

import os
import subprocess
import sys

import pytest
import torch
from torch import _C

dynamic = _C._operator("_int8_dynamic")


def linear(x, w, scale, bias=None, half=None):
    """``_int8_linear``, which has the whole range, or ``_int8_dynamic``, which is told."""
    if half is None:
        return _C._operator("_int8_linear")(x, w, scale, bias)
    return dynamic(x, w, scale, bias, half)


def made(m, n, k, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(m, k, generator=generator) * 3
    w = torch.randint(-128, 128, (n, k), generator=generator, dtype=torch.int8)
    return x, w, torch.rand(n, generator=generator) + 0.1, torch.randn(n, generator=generator)


def bytes_of(x, reduce_range):
    """Numbers as integers, in double precision: the range of all of them in 255 or 127 steps, zero an integer of its own."""
    low, high = min(x.min().item(), 0.0), max(x.max().item(), 0.0)
    scale = torch.tensor(max((high - low) / (127 if reduce_range else 255), 6.1e-5)).item()  # of float32
    zero = round(-low / scale)
    inverse = (1 / torch.tensor(scale)).item()
    byte = (x.double() * inverse + zero).float().round().clamp(0, 255)
    return byte.long() - zero, scale


def expected(x, w, scale, bias=None, reduce_range=False):
    """The formula in integers and double precision."""
    steps, step = bytes_of(x, reduce_range)
    y = (steps @ w.long().t()).double() * (step * scale.double())
    return y if bias is None else y + bias


@pytest.mark.parametrize(
    "m, n, k",
    [
        (1, 1, 1),
        (1, 64, 256),
        (3, 5, 7),
        (4, 4, 64),
        (5, 9, 65),
        (6, 3, 63),
        (8, 17, 130),
        (33, 66, 1000),
        (2, 3, 4097),
        (16, 32, 64),  # one tile of each operand
        (17, 40, 192),
        (97, 70, 1100),
        (112, 33, 2304),
    ],
)
def test_integers_are_multiplied_exactly(m, n, k):
    x, w, scale, bias = made(m, n, k)
    wanted = expected(x, w, scale, bias)
    assert torch.allclose(linear(x, w, scale, bias).double(), wanted, rtol=1e-5, atol=1e-5 * wanted.abs().max().item())
    assert torch.allclose(linear(x, w, scale).double(), wanted - bias, rtol=1e-5, atol=1e-5 * wanted.abs().max().item())
    half, wanted = linear(x, w, scale, bias, True).double(), expected(x, w, scale, bias, True)
    assert torch.allclose(half, wanted, rtol=1e-5, atol=1e-5 * wanted.abs().max().item())


def test_ties_fall_as_in_pytorch():
    # A step is 1, zero is 68: 4.4999995 + 68 is 72.5 in float32, and 72, an even number, is 4 steps; 3.4999998 makes 4.
    x = torch.tensor([[-68.0, 59.0, 4.4999995, 3.4999998]])
    y = linear(x, torch.eye(4).to(torch.int8), torch.ones(4), None, True)
    assert y.tolist() == [[-68, 59, 4, 4]]


def test_all_rows_share_one_scale():
    w, scale = torch.tensor([[1, 0], [0, 1]], dtype=torch.int8), torch.ones(2)
    x = torch.tensor([[0.0, 25.5], [-0.06, 1.0]])  # 255 steps of about 0.1: the second row has none of its own
    step = (25.5 + 0.06) / 255
    assert torch.allclose(linear(x, w, scale), torch.tensor([[0.0, 254 * step], [-step, 10 * step]]))
    step = (25.5 + 0.06) / 127
    assert torch.allclose(linear(x, w, scale, None, True), torch.tensor([[0.0, 127 * step], [0.0, 5 * step]]))


def test_extremes_do_not_overflow():
    k = 65535
    for least in (127, -128):
        x, w = torch.full((2, k), 5.0), torch.full((3, k), least, dtype=torch.int8)
        for half in (False, True):
            assert torch.allclose(linear(x, w, torch.ones(3), None, half), torch.full((2, 3), 5.0 * k * least))
    # Of half a range, both of whose ends are rounded away from it, the greatest byte is 128.
    x, w = torch.tensor([[-43.5, 83.5]]).repeat(2, 40), torch.full((3, 80), -128, dtype=torch.int8)
    assert linear(x, w, torch.ones(3), None, True)[0, 0] == 40 * -128 * (84 - 44)


def test_shapes_strides_and_nothing():
    x, w, scale, bias = made(6, 5, 8)
    y = linear(x, w, scale, bias)
    assert torch.equal(linear(x.reshape(2, 3, 8), w, scale, bias), y.reshape(2, 3, 5))
    assert torch.equal(linear(x[0], w, scale, bias), linear(x[:1], w, scale, bias)[0])
    assert torch.equal(linear(x.t().contiguous().t(), w.t().contiguous().t(), scale, bias), y)
    assert linear(x[:0], w, scale).shape == (0, 5) and linear(x, w[:0], scale[:0]).shape == (6, 0)
    assert torch.equal(linear(x[:, :0], w[:, :0], scale, bias), bias.expand(6, 5))
    assert linear(x.to("meta"), w.to("meta"), scale.to("meta")).shape == (6, 5)


@pytest.mark.parametrize("wrong", [float("nan"), -float("nan"), float("inf"), -float("inf")])
def test_a_number_that_has_no_scale_makes_all_results_nan(wrong):
    x, w, scale, bias = made(4, 5, 70)
    x[1, 3] = wrong
    assert linear(x, w, scale, bias).isnan().all()


@pytest.mark.parametrize("x", [torch.zeros(2, 70), torch.full((2, 70), 1e-42), torch.full((2, 70), -1e-9)])
def test_nothing_and_what_is_less_than_half_a_step_is_zero(x):
    _, w, scale, bias = made(2, 5, 70)
    assert torch.equal(linear(x, w, scale, bias), bias.expand(2, 5))


def test_threads_change_nothing():
    x, w, scale, bias = made(70, 130, 300)
    y, threads = linear(x, w, scale, bias), torch.get_num_threads()
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            assert torch.equal(linear(x, w, scale, bias), y)
    finally:
        torch.set_num_threads(threads)


def test_every_level_gives_the_same():
    program = """
import torch, hashlib
g = torch.Generator().manual_seed(1)
x, w = torch.randn(9, 200, generator=g), torch.randint(-128, 128, (21, 200), generator=g, dtype=torch.int8)
scale = torch.rand(21, generator=g)
y = torch.cat([torch._C._operator("_int8_dynamic")(x, w, scale, None, half) for half in (False, True)])
print(hashlib.sha256(bytes(y.flatten().view(torch.uint8).tolist())).hexdigest())"""
    found = set()
    for level in ("v2", "v3", None):
        environment = {k: v for k, v in os.environ.items() if k != "TORCH_CPU_LEVEL"}
        if level and torch.backends.cpu.get_cpu_capability() != "DEFAULT":
            environment["TORCH_CPU_LEVEL"] = level
        run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        found.add(run.stdout)
    assert len(found) == 1


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x, w, s, b: (x.double(), w, s, b), "input must be torch.float32, got torch.float64"),
        (lambda x, w, s, b: (x, w.int(), s, b), r"weight must be torch.int8 of shape \(out, in\), got torch.int32"),
        (lambda x, w, s, b: (x[:, :3], w, s, b), r"last dim of input \(2, 3\) must equal last dim of weight \(3, 4\)"),
        (lambda x, w, s, b: (x, w, s[:2], b), "scale must be torch.float32 with one number for each of 3 rows"),
        (lambda x, w, s, b: (x, w, s, b[:2]), "bias must be torch.float32 with one number for each of 3 rows"),
        (lambda x, w, s, b: (torch.ones(1, 65536), torch.ones(3, 65536, dtype=torch.int8), s, b), "less than 65536 products, got 65536"),
    ],
)  # fmt: skip
def test_wrong_operands_are_named(change, message):
    with pytest.raises(RuntimeError, match="_int8_linear: .*" + message):
        linear(*change(*made(2, 3, 4)))


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 70, 256), (2, 33, 7), (3, 5, 1030), (14, 64, 65), (100, 40, 514)])
def test_a_packed_weight_gives_the_same_bits(m, n, k):
    x, w, scale, bias = made(m, n, k)
    packed = _C._operator("_int8_pack")(w)
    assert torch.equal(linear(x, packed, scale, bias), linear(x, w, scale, bias))
    assert torch.equal(linear(x, w, scale, bias), linear(x, w, scale, bias, False))
    assert torch.equal(linear(x, packed, scale, None, True), linear(x, w, scale, None, True))
    dense = _C._operator("_int8_dense")
    for q in (x.clamp(-9, 9).add(10).to(torch.uint8), x.clamp(-9, 9).to(torch.int8)):
        for relu in (False, True):
            args = scale * 1e-3, bias * 100, 5, 7, relu
            assert torch.equal(dense(q, packed, *args), dense(q, w, *args))


def test_a_packed_weight_of_other_sizes_is_named():
    packed = _C._operator("_int8_pack")(torch.ones(3, 4, dtype=torch.int8))
    if packed.dim() == 2:
        pytest.skip("nothing is packed on this processor")
    with pytest.raises(RuntimeError, match="a packed weight of .* bytes is not one of 3 rows of 40 integers"):
        linear(torch.ones(1, 40), packed, torch.ones(3))
    with pytest.raises(RuntimeError, match="weight must be torch.int8 of shape"):
        _C._operator("_int8_pack")(torch.ones(3))
