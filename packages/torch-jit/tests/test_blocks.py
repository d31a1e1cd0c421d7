"""Plans that go through reductions by blocks of rows have eager's bits."""

import random
import warnings

import pytest
import torch
from test_plan import check, plan_of, same

R, C = 700, 600  # more than a cache holds


def softmax(x):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def layer_norm(x, w, b):
    d = x - x.mean(-1, keepdim=True)
    v = (d * d).mean(-1, keepdim=True)
    return d * torch.rsqrt(v + 1e-5) * w + b


def log_softmax(x):
    d = x - x.amax(1, True)
    return d - d.exp().sum(1, True).log()


def rms_norm(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w


def blocks(plan):
    return [line.strip() for line in plan.describe().splitlines() if line.strip().startswith("blocks")]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("f", [softmax, layer_norm, log_softmax, rms_norm])
def test_norms_composed_of_operators_run_in_blocks_of_rows(f, dtype):
    args = [torch.randn(R, C, dtype=dtype), torch.randn(C, dtype=dtype), torch.randn(C, dtype=dtype)]
    plan = check(f, *args[: f.__code__.co_argcount])
    assert len(blocks(plan)) == 1 and f"of {R} rows" in blocks(plan)[0]


@pytest.mark.parametrize("shape", [(16, 128), (2, 65), (3, 5, 7, 100), (1000, 64), (5, 9000)])
@pytest.mark.parametrize("f", [softmax, layer_norm, log_softmax, rms_norm])
def test_a_walk_over_rows_holds_nothing_that_is_big(f, shape):
    if f is log_softmax and len(shape) > 2:
        return  # its dim is another one
    args = [torch.randn(shape), torch.randn(shape[-1]), torch.randn(shape[-1])]
    plan = check(f, *args[: f.__code__.co_argcount])
    assert len(blocks(plan)) == 1 and f"of {args[0].numel() // shape[-1]} rows" in blocks(plan)[0]
    assert not [line for line in plan.describe().splitlines() if line.startswith("  call")]


def test_an_argument_from_a_call_is_looked_at_before_rows_are_walked_over():
    def f(x, rows):
        picked = x.index_select(0, rows)
        e = torch.exp(picked - picked.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True), picked.sum(-1, keepdim=True) * 2

    plan = check(f, torch.randn(50, 100), torch.tensor([3, 4, 49, 3]))
    assert len(blocks(plan)) == 1


def test_blocks_take_what_they_are_given_later():
    plan = plan_of(softmax, torch.randn(R, C))
    special = torch.randn(R, C)
    special[3] = float("-inf")
    special[5, 7] = float("nan")
    special[-1] = 1e30
    assert same(plan(special), softmax(special))
    other = torch.randn(R + 1, C)
    for _ in range(3):
        assert same(plan(other), softmax(other))


def test_all_that_is_asked_for_is_given():
    def f(x):
        m = x.mean(-1)
        d = x - x.amax(-1, keepdim=True)
        e = d.exp()
        s = e.sum(-1, keepdim=True)
        return m, d, e / s, s

    check(f, torch.randn(R, C))


def test_reductions_over_rows_are_not_cut():
    def f(x):
        return (x - x.mean(0, keepdim=True)) * 2 + 1

    plan = check(f, torch.randn(R, C))
    assert not blocks(plan)

    def g(x):
        return torch.cumsum(x * 2 + 1, 0) * 3 - 1

    assert not blocks(check(g, torch.randn(R, C)))


def test_a_call_whose_bits_depend_on_the_other_rows_is_not_cut():
    def f(x):
        return (x * 2 + 1) / torch.linalg.vector_norm(x) - x.sum((0, 1))

    assert not blocks(check(f, torch.randn(R, C)))


def test_what_is_small_or_not_contiguous_runs_as_before():
    assert not blocks(check(softmax, torch.randn(8, 16)))
    assert not blocks(check(softmax, torch.randn(C, R).t()))


def test_three_dimensions_are_cut_along_the_first():
    x, w, b = torch.randn(64, 30, 200), torch.randn(200), torch.randn(30, 200)
    assert blocks(check(layer_norm, x, w, b))


def test_an_operand_of_one_row_is_that_of_all_blocks():
    def f(x, row, column):
        return softmax(x * row + column) * row

    check(f, torch.randn(R, C), torch.randn(1, C), torch.randn(R, 1))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_blocks_have_the_same_bits_for_any_number_of_threads(threads):
    x = torch.randn(R, C)
    expected = softmax(x)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        assert same(plan_of(softmax, x)(x), expected)
    finally:
        torch.set_num_threads(before)


def test_gradients_of_norms_are_those_of_operators_one_by_one():
    f = torch.jit.trace(layer_norm, (torch.randn(R, C), torch.randn(C), torch.randn(C)), check_trace=False)
    for _ in range(3):
        args = [torch.randn(R, C), torch.randn(C), torch.randn(C)]
        ours = [a.clone().requires_grad_() for a in args]
        eager = [a.clone().requires_grad_() for a in args]
        out, expected = f(*ours), layer_norm(*eager)
        assert torch.equal(out, expected)
        (out * args[0]).sum().backward()
        (expected * args[0]).sum().backward()
        for a, b in zip(ours, eager, strict=True):
            assert torch.allclose(a.grad, b.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(25))
def test_random_programs_of_rows_have_the_bits_of_operators_one_by_one(seed):
    choose = random.Random(seed)

    def reduce(x, kind):
        return {
            "sum": lambda: x.sum(-1, keepdim=True), "mean": lambda: x.mean((-1,), keepdim=True),
            "amax": lambda: x.amax(-1, keepdim=True), "amin": lambda: x.amin(1, keepdim=True),
            "logsumexp": lambda: x.logsumexp(-1, keepdim=True), "var": lambda: x.var(-1, keepdim=True),
            "softmax": lambda: x.softmax(-1), "max": lambda: x.max(-1, keepdim=True)[0],
            "cumsum": lambda: x.cumsum(1), "first": lambda: x.mean(0, keepdim=True), "norm": lambda: x.norm(dim=-1, keepdim=True),
        }[kind]()  # fmt: skip

    kinds = ["sum", "mean", "amax", "amin", "logsumexp", "var", "softmax", "max", "cumsum", "first", "norm"]
    pairs = [torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum]
    singles = [torch.tanh, torch.sigmoid, torch.neg, torch.square, lambda t: t * 0.5 + 1]
    steps = []
    for _ in range(choose.randint(4, 9)):
        steps.append((choose.randrange(3), choose.randrange(100), choose.randrange(100), choose.choice(kinds)))

    def f(x, w, c):
        values = [x, x * w + c]
        for kind, i, j, name in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            if kind == 0:
                values.append(pairs[i % 5](a, b))
            elif kind == 1:
                values.append(singles[j % 5](a))
            elif a.shape[1] > 1 and a.shape[0] > 1:
                values.append(reduce(a, name))
        return values[-1], values[-2], values[len(values) // 2]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        check(f, torch.randn(400, 500), torch.randn(500), torch.randn(400, 1))
