"""Light element-wise operators behind a product, a convolution or a batch norm run in its kernel, with the bits of eager."""

import random

import pytest
import torch
from test_plan import plan_of, same


def leaky(x):
    return torch.where(x > 0, x, x * 0.01)


LIGHT = {
    "relu": torch.relu,
    "relu6": lambda x: torch.clamp(x, 0, 6),
    "hardswish": lambda x: x * torch.clamp(x + 3, 0, 6) / 6,
    "leaky": leaky,
    "twice": lambda x: torch.relu(torch.relu(x) * 3 - 1),
}
HEAVY = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "silu": lambda x: x * torch.sigmoid(x),
    "gelu": lambda x: x * 0.5 * (1 + torch.erf(x * 0.7071067811865476)),
}
# By name, a call of x with what it needs, and x: one for each way that kernels go.
CALLS = {
    "product": (torch.matmul, (70, 90), (90, 130)),
    "few rows": (torch.matmul, (3, 700), (700, 800)),
    "one row": (torch.matmul, (1, 300), (300, 200)),
    "few columns": (torch.matmul, (400, 300), (300, 3)),
    "large": (torch.matmul, (300, 900), (900, 400)),
    "sum": (lambda x, w, b: torch.addmm(b, x, w), (40, 50), (50, 60), (60,)),
    "batched": (torch.matmul, (2, 30, 50), (50, 64)),
    "pointwise": (torch.conv2d, (2, 16, 20, 21), (72, 16, 1, 1), (72,)),
    "deep": (torch.conv2d, (1, 300, 7, 7), (400, 300, 1, 1)),
    "strided": (lambda x, w: torch.conv2d(x, w, None, 2, 1), (2, 8, 31, 30), (24, 8, 3, 3)),
    "winograd": (lambda x, w, b: torch.conv2d(x, w, b, 1, 1), (1, 32, 28, 28), (32, 32, 3, 3), (32,)),
    "direct": (lambda x, w, b: torch.conv2d(x, w, b, 2, 3), (1, 3, 64, 64), (16, 3, 7, 7), (16,)),
    "groups": (lambda x, w: torch.conv2d(x, w, None, 1, 1, 1, 4), (2, 16, 17, 17), (24, 4, 3, 3)),
    "depthwise": (lambda x, w: torch.conv2d(x, w, None, 1, 2, 1, 32), (2, 32, 28, 30), (32, 1, 5, 5)),
    "one pixel": (torch.conv2d, (2, 40, 1, 1), (90, 40, 1, 1), (90,)),
    "one dim": (lambda x, w: torch.conv1d(x, w, None, 1, 2, 2), (2, 20, 100), (40, 20, 3)),
    "transposed": (lambda x, w: torch.conv_transpose2d(x, w, None, 2, 1), (1, 32, 9, 9), (32, 16, 4, 4)),
    "norm": (
        lambda x, w, b, m, v: torch.batch_norm(x, w, b, m, v * v, False, 0.1, 1e-5, True),
        *((2, 12, 9, 11), (12,), (12,), (12,), (12,)),
    ),
    "norm of rows": (
        lambda x, w, b, m, v: torch.batch_norm(x, w, b, m, v * v, False, 0.1, 1e-5, True),
        *((30, 40), (40,), (40,), (40,), (40,)),
    ),
}


def inputs_of(name, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(s, generator=generator, dtype=dtype) for s in CALLS[name][1:]]


def check(f, *inputs, in_kernel=True, others=()):
    plan = plan_of(f, *inputs)
    described = plan.describe()
    assert any(w in described for w in ("in one kernel", "straight")) == in_kernel, described
    for x in (inputs, *others):
        got, expected = plan(*x), f(*x)
        if not isinstance(expected, tuple):
            got, expected = (got,), (expected,)
        assert all(same(a, b) for a, b in zip(got, expected, strict=True)), plan.describe()


@pytest.fixture(params=[1, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", CALLS)
def test_activations(name, threads):
    call = CALLS[name][0]
    for act in LIGHT.values():
        check(lambda *x, act=act: act(call(*x)), *inputs_of(name), others=[inputs_of(name, 1)])


@pytest.mark.parametrize("name", ["product", "pointwise", "norm"])
def test_what_takes_long_is_a_step_of_its_own(name):
    call = CALLS[name][0]
    for act in HEAVY.values():
        check(lambda *x, act=act: act(call(*x)), *inputs_of(name), in_kernel=False)


# Outputs of 8 MB, which kernels finish by blocks.
LARGE = {
    "product": (torch.matmul, (1100, 40), (40, 2000)),
    "pointwise": (torch.conv2d, (2, 16, 130, 131), (72, 16, 1, 1), (72,)),
    "depthwise": (lambda x, w: torch.conv2d(x, w, None, 1, 1, 1, 40), (2, 40, 171, 160), (40, 1, 3, 3)),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_outputs(name, threads):
    call, *shapes = LARGE[name]
    x = [torch.randn(s) for s in shapes]
    y = call(*x)
    channels = torch.randn(y.shape[1], 1, 1) if y.dim() == 4 else torch.randn(y.shape[1])
    check(lambda *x: torch.relu(call(*x)), *x)
    check(lambda *a: torch.relu(call(*a[:-2]) * a[-2] + a[-1]), *x, channels, torch.randn(y.shape))
    check(
        lambda *a: torch.relu(call(*a[:-1]) * a[-1]), *x, torch.randn(y.shape[-1] if y.dim() == 4 else (y.shape[0], 1))
    )


@pytest.mark.parametrize("name", ["product", "few columns", "pointwise", "winograd", "depthwise", "norm"])
def test_doubles(name):
    call = CALLS[name][0]
    check(lambda *x: torch.relu(call(*x)) * 2, *inputs_of(name, dtype=torch.float64))


@pytest.mark.parametrize("name", CALLS)
def test_a_residual_is_added(name, threads):
    call = CALLS[name][0]
    x = inputs_of(name)
    r = torch.randn(call(*x).shape)
    check(lambda *a: torch.relu(call(*a[:-1]) + a[-1]), *x, r, others=[(*inputs_of(name, 2), r * 3)])
    check(lambda *a: a[-1] - call(*a[:-1]) * 2, *x, r)


@pytest.mark.parametrize("name", ["product", "pointwise", "winograd", "norm"])
def test_what_is_read_elsewhere_stays(name, threads):
    call = CALLS[name][0]

    def both(*x):
        y = call(*x)
        return torch.relu(y) * 2, y

    def later(*x):
        y = call(*x)
        z = torch.relu(y) + 1
        return z, y.sum(0), z.sum(0)

    check(both, *inputs_of(name))
    check(later, *inputs_of(name))


def test_several_outputs():
    """The last loop reads the product after the others have been written."""

    def f(x, w):
        y = torch.matmul(x, w)
        a, b = torch.relu(y), y * 2
        return a, b, a + b - y, y > 0

    check(f, torch.randn(70, 90), torch.randn(90, 130))


def test_two_products_of_a_sum():
    def f(x, u, v):
        return torch.relu(torch.matmul(x, u) + torch.matmul(x, v))

    check(f, torch.randn(33, 40), torch.randn(40, 50), torch.randn(40, 50))


def test_a_number_for_each_channel_row_or_column(threads):
    x, w = torch.randn(2, 16, 20, 21), torch.randn(24, 16, 1, 1)
    f = lambda x, w, s: torch.relu(torch.conv2d(x, w) * s)
    channels = [(24, 1, 1), (1, 24, 1, 1), (2, 24, 1, 1), (2, 1, 1, 1)]
    for shape in [*channels, (21,), (20, 21), (20, 1), (24, 20, 21), (1,), ()]:
        check(f, x, w, torch.randn(shape))
    check(lambda x, w, s, t: torch.conv2d(x, w) * s + t - 1, x, w, torch.randn(24, 1, 1), torch.randn(24, 1, 1))
    rows = lambda x, w, s: torch.relu(torch.matmul(x, w) + s)
    for shape in [(50,), (1, 50), (30, 1)]:
        check(rows, torch.randn(30, 40), torch.randn(40, 50), torch.randn(shape))


def test_operands_that_do_not_fit_are_left_to_a_group():
    f = lambda x, w, s, t: torch.relu(torch.conv2d(x, w) * s + t)
    x, w = torch.randn(2, 16, 20, 21), torch.randn(24, 16, 1, 1)
    check(f, x, w, torch.randn(24, 1, 1), torch.randn(21), in_kernel=False)  # rows of two lengths
    other = torch.randn(2, 24, 21, 20).transpose(2, 3)
    check(f, x, w, torch.randn(24, 1, 1), other, in_kernel=False)


def test_the_result_may_grow_by_the_group():
    f = lambda x, w, s: torch.relu(torch.matmul(x, w) + s)
    check(f, torch.randn(1, 40), torch.randn(40, 50), torch.randn(30, 50), in_kernel=False)


@pytest.mark.parametrize(("kernel", "stride"), [(1, 1), (3, 2), (5, 1)])
def test_channels_last(kernel, stride, threads):
    x = torch.randn(2, 32, 15, 15).to(memory_format=torch.channels_last)
    w = torch.randn(40, 32, kernel, kernel)
    f = lambda x, w, r: torch.relu(torch.conv2d(x, w, None, stride, kernel // 2) + r)
    r = torch.conv2d(x, w, None, stride, kernel // 2)
    check(f, x, w, r)


def test_numbers_that_are_not_finite():
    name = "winograd"
    x = inputs_of(name)
    x[0][0, 3, 5, 7] = float("inf")
    call = CALLS[name][0]
    plan = plan_of(lambda *x: torch.relu(call(*x)) + 1, *inputs_of(name))
    assert "in one kernel" in plan.describe()
    for _ in range(2):
        assert same(plan(*x), torch.relu(call(*x)) + 1)


def test_parts_of_a_product_are_no_residual_of_it():
    def f(x, w):
        y = torch.matmul(x, w)
        a, b = y.chunk(2, 1)
        return torch.relu(a) * b

    x, w = torch.randn(1, 40), torch.randn(40, 64)
    plan = plan_of(f, x, w)
    for _ in range(2):
        assert same(plan(x, w), f(x, w))


def test_a_kernel_may_leave_it_though_it_did_it_when_the_plan_was_made():
    f = lambda x, w, r: torch.relu(torch.matmul(x, w) + r)
    x = torch.randn(30, 40), torch.randn(40, 50), torch.randn(30, 50)
    plan = plan_of(f, *x)
    assert "matmul add relu, in one kernel" in plan.describe()
    blas = torch.backends.blas
    before = blas.provider()
    try:
        blas.set_provider("openblas")
    except RuntimeError:
        pytest.skip("OpenBLAS is not here")
    try:
        for _ in range(2):
            assert same(plan(*x), f(*x))
        assert blas.last_provider() == "openblas"
    finally:
        blas.set_provider(before)
    assert same(plan(*x), f(*x))


@pytest.mark.parametrize("seed", range(40))
def test_programs_at_random(seed):
    chance = random.Random(seed)
    name = chance.choice(list(CALLS))
    call = CALLS[name][0]
    x = inputs_of(name, seed)
    r = torch.randn(call(*x).shape)
    unary = [*LIGHT.values(), *HEAVY.values(), torch.neg, torch.exp, torch.abs]
    binary = [torch.add, torch.sub, torch.mul, torch.maximum]
    program = [(chance.choice(unary), chance.choice(binary), chance.random(), chance.random()) for _ in range(4)]
    kept = chance.randrange(7)

    def f(*a):
        values = [call(*a[:-1]), a[-1]]
        for g, h, p, q in program:
            values.append(h(g(values[int(p * len(values))]), values[int(q * len(values))]))
        return values[-1], values[min(kept, len(values) - 2)].clone()

    plan = plan_of(f, *x, r)
    for _ in range(2):
        assert all(same(a, b) for a, b in zip(plan(*x, r), f(*x, r), strict=True)), plan.describe()


@pytest.mark.parametrize("name", ["product", "pointwise", "winograd"])
def test_gradients(name):
    pytest.importorskip("torch.autograd")
    call = CALLS[name][0]
    f = lambda *x: torch.relu(call(*x)) * torch.sigmoid(call(*x))
    inputs = inputs_of(name)
    g = torch.jit.trace(f, inputs, check_trace=False)
    for _ in range(4):
        leaves = [[x.clone().requires_grad_() for x in inputs] for _ in range(2)]
        a, b = g(*leaves[0]), f(*leaves[1])
        assert same(a.detach(), b.detach())
        a.sum().backward()
        b.sum().backward()
        for x, y in zip(*leaves, strict=True):
            assert torch.allclose(x.grad, y.grad, rtol=1e-4, atol=1e-4)
