"""Element-wise chains of programs: one kernel for a group of operators, with the bits of the operators one by one."""

import types

import pytest
import torch
from torch._cuda import _native

pytest.importorskip("torch.jit._native")  # torch-jit itself: without it, torch.jit runs functions as they are written
jit = torch.jit


def launches(f, *args):
    before = _native.counts()["launches"]
    result = f(*args)
    return result, _native.counts()["launches"] - before


def planned(f, *args):
    """The function as a program of its own, since one plans for a few shapes, after the runs that plan it."""
    program = jit.script(types.FunctionType(f.__code__, f.__globals__, f.__name__, None, f.__closure__))
    for _ in range(3):
        program(*args)
    return program


def normal(x, w, b):
    return torch.tanh(x * w + b) * torch.sigmoid(x) - 0.5


def numbers(*shape, dtype=torch.float32, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to("cuda", dtype)


@pytest.mark.parametrize("n", [1, 3, 4, 127, 1030, 70_001])
def test_a_chain_is_one_launch_with_the_bits_of_its_operators(n):
    args = [numbers(n, seed=i) for i in range(3)]
    program = planned(normal, *args)
    found, count = launches(program, *args)
    assert torch.equal(found, normal(*args)) and count == 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_rounded_where_tensors_would_be(dtype):
    args = [numbers(5, 33, dtype=dtype, seed=i) for i in range(3)]
    found, count = launches(planned(normal, *args), *args)
    assert found.dtype is dtype and torch.equal(found, normal(*args)) and count == 1


def test_rows_columns_numbers_and_transposed_tensors_go_into_chains():
    x = numbers(6, 70)
    for w, b in [
        (numbers(6, 1), numbers(70)),
        (numbers(1, 70), torch.tensor(0.3, device="cuda")),
        (numbers(1, 1), numbers(6, 70)),
        (torch.tensor(3.0), numbers(70)),
    ]:
        found, count = launches(planned(normal, x, w, b), x, w, b)
        assert torch.equal(found, normal(x, w, b)) and count == 1
    x, w, b = (numbers(70, 6, seed=i).t() for i in range(3))
    found, count = launches(planned(normal, x, w, b), x, w, b)
    assert torch.equal(found, normal(x, w, b)) and found.stride() == (1, 6) and count == 1


@pytest.mark.parametrize("n", [1, 2, 3, 127, 70_001])
def test_chains_compute_in_double(n):
    args = [numbers(n, seed=i, dtype=torch.float64) for i in range(3)]
    found, count = launches(planned(normal, *args), *args)
    assert found.dtype is torch.float64 and torch.equal(found, normal(*args)) and count == 1

    def clamped(x, w, b):
        y = torch.clamp(x, -0.7, 0.7) / w + b
        return y * y - 1e-9, y > 1e-9, torch.sqrt(y * y)

    found, count = launches(planned(clamped, *args), *args)
    assert all(torch.equal(a, b) for a, b in zip(found, clamped(*args), strict=True)) and count <= 2
    x = numbers(6, 70, dtype=torch.float64)
    for w, b in [(x[:, :1].contiguous(), x[0].contiguous()), (torch.tensor(0.1, dtype=torch.float64), x)]:
        found, count = launches(planned(normal, x, w, b), x, w, b)
        assert torch.equal(found, normal(x, w, b)) and count == 1


def test_floats_and_doubles_of_one_program_have_a_chain_each():
    def f(x, y):
        a = torch.relu(x * 2.0 + 1.0) - 0.5
        b = torch.relu(y * 2.0 + 1.0) - 0.5
        return a, b

    args = numbers(40), numbers(40, dtype=torch.float64)
    found, count = launches(planned(f, *args), *args)
    assert all(torch.equal(a, b) for a, b in zip(found, f(*args), strict=True)) and count == 2


def test_what_a_chain_does_not_take_runs_one_by_one():
    def f(x):
        return torch.erfinv(x * 0.1) + torch.sin(x)

    x = numbers(40, dtype=torch.float64)
    found, count = launches(planned(f, x), x)
    assert torch.equal(found, f(x)) and count == launches(f, x)[1]
    args = numbers(6, 70), numbers(6, 70), numbers(70, 6).t()  # another order of elements
    found, count = launches(planned(normal, *args), *args)
    assert torch.equal(found, normal(*args)) and count == 6


def test_several_results_comparisons_and_products_between_chains():
    def f(x, w):
        y = torch.relu(x * 2 + 1)
        z = y @ w
        positive = (z - 1 > 0) & (z < 5)
        return y * y + 1, torch.exp(-z * z) / 3, positive

    x, w = numbers(8, 8), numbers(8, 8, seed=2)
    found, count = launches(planned(f, x, w), x, w)
    assert all(torch.equal(a, b) for a, b in zip(found, f(x, w), strict=True))
    assert count < launches(f, x, w)[1] - 3


def test_a_program_for_one_device_is_planned_anew_for_another():
    def f(x):
        return torch.tanh(x * 2) + 1

    program = planned(f, numbers(40))
    x = torch.linspace(-1, 1, 40)
    for _ in range(3):
        assert torch.equal(program(x), f(x)) and program(x).device.type == "cpu"
    assert torch.equal(program(x.cuda()).cpu(), f(x))


def test_a_chain_that_is_differentiated_has_a_derivative_in_chains():
    def f(x, w):
        return torch.tanh(x * w + 1) * torch.sigmoid(x)

    def run(function, count):
        x, w = numbers(50).requires_grad_(), numbers(50, seed=2).requires_grad_()
        for _ in range(count):
            x.grad = w.grad = None
            _, launched = launches(lambda: function(x, w).sum().backward())
        return x.grad, w.grad, launched

    program = jit.script(f)
    *found, count = run(program, 4)
    *expected, apart = run(f, 1)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(found, expected, strict=True))
    assert count <= apart - 4


@pytest.mark.parametrize("order, lazy", [(0, True), (7, False), (7, True)])
def test_chains_in_other_schedules(order, lazy):
    args = [numbers(3, 300, seed=i) for i in range(3)]
    program, expected = planned(normal, *args), normal(*args)
    _native.configure(order=order, lazy=lazy)
    assert torch.equal(program(*args), expected)
