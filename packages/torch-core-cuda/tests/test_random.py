"""Random numbers: the CPU's of the same seed, position for position and bit for bit."""

import pytest
import torch
from test_elementwise import same

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

#: by name, what is filled in place
FILLS = {
    "uniform_": (-2.0, 3.0),
    "normal_": (1.0, 2.0),
    "exponential_": (1.5,),
    "cauchy_": (0.5, 2.0),
    "geometric_": (0.3,),
    "log_normal_": (0.0, 0.5),
    "bernoulli_": (0.3,),
}


def drawn(f, device, seed=3):
    torch.manual_seed(seed)
    first = f(device)
    return first, f(device)


def alike(f):
    """Two draws after one seed, on each device."""
    here, there = drawn(f, "cpu"), drawn(f, "cuda")
    for a, b in zip(there, here, strict=True):
        same(a, b)


@pytest.mark.parametrize("n", [1, 31, 33, 5000])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FILLS)
def test_fills_of_every_distribution(name, dtype, n):
    alike(lambda device: getattr(torch.empty(n, dtype=dtype, device=device), name)(*FILLS[name]))


def test_the_order_is_that_of_indices_whatever_the_layout():
    def columns(device):
        x = torch.zeros(7, 9, device=device)
        x.t()[1:4].uniform_()
        return x

    alike(columns)
    alike(lambda device: torch.empty(3, 0, device=device).normal_())


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_numbers(dtype):
    alike(lambda device: torch.randn(4, 9, dtype=dtype, device=device))
    alike(lambda device: torch.rand(4, 9, dtype=dtype, device=device))
    alike(lambda device: torch.empty(40, dtype=dtype, device=device).normal_(2, 3))


@pytest.mark.parametrize("low, high", [(0, 10), (-5, 5), (-(1 << 40), 1 << 40)])
def test_integers(low, high):
    alike(lambda device: torch.randint(low, high, (77,), device=device))
    alike(lambda device: torch.empty(77, dtype=torch.int64, device=device).random_())
    alike(lambda device: torch.empty(77, dtype=torch.uint8, device=device).random_(3))
    alike(lambda device: torch.randint(2, (9, 9), dtype=torch.bool, device=device))


@pytest.mark.parametrize("dtype", [*FLOATS, torch.complex64])
def test_dropout_and_its_mask(dtype):
    x = torch.linspace(-2, 2, 300).to(dtype).reshape(3, 100)
    operator = torch._C._operator("native_dropout")
    for p in (0.0, 0.4, 1.0):
        torch.manual_seed(1)
        y, mask = operator(x, p, True)
        torch.manual_seed(1)
        y_there, mask_there = operator(x.cuda(), p, True)
        same(y_there, y)
        same(mask_there, mask)
        backward = torch._C._operator("native_dropout_backward")
        same(backward(x.cuda(), mask_there, 1.7), backward(x, mask, 1.7))
    assert operator(x.cuda(), 0.4, False)[1].all().item()


def test_chances_of_each_element():
    chances = torch.linspace(0, 1, 100)
    alike(lambda device: torch.bernoulli(chances.to(device)))
    alike(lambda device: torch.bernoulli(chances.double().to(device)))
    alike(lambda device: torch.zeros(2, 100, device=device).bernoulli_(chances.to(device)))
    with pytest.raises(RuntimeError, match="bernoulli: expected probabilities from 0 to 1"):
        torch.bernoulli(chances.cuda() * 2)


def test_means_and_deviations_of_each_element():
    mean, std = torch.arange(6.0).reshape(2, 3), torch.tensor([0.5, 1, 2])
    alike(lambda device: torch.normal(mean.to(device), std.to(device)))
    alike(lambda device: torch.normal(mean.to(device), 2.0))
    alike(lambda device: torch.normal(1.0, std.to(device)))
    alike(lambda device: torch.normal(0.0, 1.0, (5,), device=device))
    with pytest.raises(RuntimeError, match="normal: expected all elements of std >= 0"):
        torch.normal(mean.cuda(), -std.cuda())


def test_generators_count_apart():
    g = torch.Generator("cuda").manual_seed(5)
    first = torch.rand(40, device="cuda", generator=g)
    state = g.get_state()
    second = torch.rand(40, device="cuda", generator=g)
    g.set_state(state)
    same(torch.rand(40, device="cuda", generator=g), second.cpu())
    h = torch.Generator().manual_seed(5)
    same(first, torch.rand(40, generator=h))
    with pytest.raises(RuntimeError, match="rand: expected a generator on cuda:0, got one on cpu"):
        torch.rand(4, device="cuda", generator=h)


def test_the_default_generator_saves_and_restores():
    torch.cuda.manual_seed(11)
    before = torch.cuda.get_rng_state()
    x = torch.randn(9, device="cuda")
    torch.cuda.set_rng_state(before)
    same(torch.randn(9, device="cuda"), x.cpu())
    with torch.random.fork_rng(devices=[0]):
        torch.randn(9, device="cuda")
    assert torch.cuda.initial_seed() == 11
