"""Gradients of what goes through rows are computed in one walk over these rows, with eager's bits."""

import random

import pytest
import torch
from test_blocks import layer_norm, rms_norm, softmax
from test_plan import check, groups, plan_of, same
from torch.jit import _native


def layer_norm_of_moments(x, w, b):
    d = x - x.mean(-1, keepdim=True)
    return d / torch.sqrt(x.var(-1, keepdim=True, correction=0) + 1e-5) * w + b


def gelu_of_linear(x, w, b):
    h = x * w + b
    return 0.5 * h * (1 + torch.tanh(0.8 * (h + 0.04 * h * h * h)))


def gradients(f, args, grad):
    leaves = [a.detach().clone().requires_grad_() for a in args]
    out = f(*leaves)
    out.backward(grad)
    return [out.detach(), *(a.grad for a in leaves)]


def backward_of(f, *args):
    """A plan whose gradients are eager's, and the lines that describe its backward pass."""
    plan = _native.plan(torch.jit.trace(f, args, check_trace=False).graph)
    grad = torch.randn_like(f(*args))
    expected = gradients(f, args, grad)
    for _ in range(5):
        assert all(same(a, b) for a, b in zip(gradients(plan, args, grad), expected, strict=True))
    return plan, plan.describe().partition("  backward\n")[2].splitlines()


def arguments(f, shape, dtype=torch.float32):
    return [torch.randn(s, dtype=dtype) for s in (shape, shape[-1:], shape[-1:])][: f.__code__.co_argcount]


NORMS = [softmax, layer_norm, layer_norm_of_moments, rms_norm]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(1300, 300), (4100, 260), (5, 103, 400)])
@pytest.mark.parametrize("f", [*NORMS, gelu_of_linear])
def test_a_backward_pass_is_one_walk_over_rows_and_sums_of_columns_go_along(f, shape, dtype):
    _, lines = backward_of(f, *arguments(f, shape, dtype))
    assert len([line for line in lines if line.startswith("  blocks")]) == 1
    # What is left has as many elements as a row.
    assert not [line for line in lines if line.startswith("  group")]
    assert {line.split()[1] for line in lines if line.startswith("  call")} <= {"reshape"}


@pytest.mark.parametrize("f", NORMS)
def test_small_sums_of_columns_come_after_the_walk(f):
    _, lines = backward_of(f, *arguments(f, (40, 300)))
    assert len([line for line in lines if line.startswith("  blocks")]) == 1
    assert {line.split()[1] for line in lines if line.startswith("  call")} <= {"reshape", "sum"}


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("f", NORMS)
def test_sums_of_columns_have_the_same_bits_for_any_number_of_threads(f, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        backward_of(f, *arguments(f, (1003, 310)))
    finally:
        torch.set_num_threads(before)


def test_rows_too_long_to_keep_sixty_four_of_them_are_summed_afterwards():
    _, lines = backward_of(layer_norm, *arguments(layer_norm, (300, 9000)))
    assert len([line for line in lines if line.startswith("  blocks")]) == 1
    assert len([line for line in lines if line.startswith("  call   sum")]) == 1


def test_sums_of_columns_go_along_without_gradients_too():
    def f(x, w):
        y = x * w + 1
        return y / y.sum(-1, keepdim=True), y.sum(0), x.amax(0, keepdim=True), y.var(0)

    plan = check(f, torch.randn(2100, 300), torch.randn(300))
    lines = plan.describe().splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("    call")] == [["call", "sum"], ["call", "sum"], ["call", "amax"], ["call", "var"]]  # fmt: skip


def test_what_reads_a_sum_of_columns_waits_for_all_rows():
    def f(x):
        y = x * 2 + 1
        p = y / y.sum(-1, keepdim=True)
        return (p - y.mean(0)) * 3 + 1, p

    check(f, torch.randn(2100, 300))


@pytest.mark.parametrize("seed", range(15))
def test_random_programs_with_sums_of_both_kinds(seed):
    choose = random.Random(seed)
    steps = [(choose.randrange(5), choose.randrange(99), choose.randrange(99)) for _ in range(choose.randint(5, 12))]

    def f(x, w):
        values, few = [x, x * w - 1], []
        for kind, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            if kind < 2:
                values.append(a * b + 1 if kind else torch.tanh(a) - b)
            elif kind == 2:
                values.append(a - a.mean(-1, keepdim=True))
            elif kind == 3:
                few.append(a.sum(0) if j % 2 else a.amax(0, keepdim=True))
            elif few:
                values.append(a + few[j % len(few)])
        return (*values[-2:], *few)

    check(f, torch.randn(1500, 310), torch.randn(310))


# --- what is repeated, and what is converted ---


def test_what_is_repeated_is_computed_once_for_each_row():
    def f(x, y):
        s = (x.sum(-1, keepdim=True) * 3 + 1).expand(50, 300)
        return torch.tanh(s / 7) * y + s

    plan = check(f, torch.randn(50, 300), torch.randn(50, 300))
    text = plan.describe()
    assert "expand" not in text and "(50, 1)" in text
    assert "mul add true_divide tanh" in text  # of 50 numbers


@pytest.mark.parametrize("shape", [(), (1,), (7,), (5, 1), (1, 7), (1, 1), (5, 7)])
def test_repeated_operands_of_any_shape(shape):
    def f(x, y):
        e = x.expand(3, 5, 7)
        return e * 2 + 1 - y, (e / y).exp(), e * e

    plan = check(f, torch.randn(shape), torch.randn(3, 5, 7))
    assert same(plan(torch.zeros(shape), torch.ones(3, 5, 7))[1], torch.ones(3, 5, 7))


def test_a_repeated_value_that_is_given_out_is_a_view():
    def f(x):
        e = x.expand(4, 3)
        return e, e * 2 + 1, (e + 1).t()

    x = torch.randn(1, 3)
    out = check(f, x)(x)
    assert out[0].data_ptr() == x.data_ptr() and out[0].stride() == (0, 1)


def test_repeats_of_repeats():
    def f(x, y):
        e = x.expand(5, 7).unsqueeze(0).expand(3, 5, 7)
        return (e * 2 - 1) * y

    check(f, torch.randn(5, 1), torch.randn(3, 5, 7))


@pytest.mark.parametrize("to", [torch.float64, torch.bfloat16, torch.int32, torch.bool])
def test_conversions_join_groups(to):
    def f(x):
        return ((x * 2 + 1).to(to) * 3).float() - 1

    plan = check(f, torch.randn(40, 50))
    assert len(groups(plan)) == 1 and "_to_copy" in groups(plan)[0]


def test_a_comparison_with_the_number_of_a_row_is_within_the_walk():
    def f(x):
        m = x.amax(-1, keepdim=True)
        hit = (x == m).float()
        return hit / hit.sum(-1, keepdim=True), torch.where(x > m - 1, x, m)

    plan = check(f, torch.randn(60, 1000))
    assert not [line for line in plan.describe().splitlines() if line.startswith(("  call", "  group"))]
    special = torch.randn(60, 1000)
    special[1] = float("-inf")
    special[2, 5] = float("nan")
    assert all(same(a, b) for a, b in zip(plan_of(f, special)(special), f(special), strict=True))
