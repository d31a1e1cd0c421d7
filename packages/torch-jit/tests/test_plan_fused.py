"""Arithmetic of a group runs as one loop in registers, with the bits of the operators one by one."""

import itertools
import os
import platform
import random
import re
import subprocess
import sys

import pytest
import torch
from test_plan import check, plan_of, same

FUSES = platform.machine() == "x86_64"
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1e-30, 1e30, 1e-45, float("inf"), float("-inf"), float("nan")]
UNARY = [torch.neg, torch.abs, torch.sqrt, torch.rsqrt, torch.reciprocal, torch.square, torch.relu]
BINARY = [
    torch.add,
    torch.sub,
    torch.mul,
    torch.div,
    torch.maximum,
    torch.minimum,
    lambda a, b: torch.add(a, b, alpha=3),
    lambda a, b: torch.sub(a, b, alpha=0.3),
    lambda a, b: a * 1.7,
    lambda a, b: 2 - b,
    lambda a, b: a**2,
]


def pairs(dtype):
    """All pairs of special values, and then as many at random: no multiple of any register."""
    x = torch.tensor(list(itertools.product(SPECIAL, SPECIAL)), dtype=dtype)
    y = torch.randn(151, 2, dtype=dtype, generator=torch.Generator().manual_seed(0))
    return torch.cat([x, y]).t().contiguous().unbind()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("op", range(len(UNARY) + len(BINARY)))
def test_each_formula_on_special_values(op, dtype):
    x, y = pairs(dtype)
    g = UNARY[op] if op < len(UNARY) else BINARY[op - len(UNARY)]
    f = (lambda x, y: g(x) + y) if op < len(UNARY) else (lambda x, y: g(x, y) - x)
    plan = plan_of(f, x, y)
    assert same(plan(x, y), f(x, y))
    assert ("1 loops, 1 of them fused" in plan.describe()) == FUSES


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("n", [1, 3, 4, 5, 7, 8, 9, 31, 32, 33, 1000, 1024, 1027, 40_000])
def test_any_number_of_elements(n, dtype):
    inputs = [torch.randn(n, dtype=dtype) for _ in range(3)]
    f = lambda a, b, c: torch.relu((a * b + c) * a - b) * c + (a - c) / 3
    plan = plan_of(f, *inputs)
    for x in (inputs, [torch.randn(n, dtype=dtype) for _ in range(3)]):
        assert same(plan(*x), f(*x))


@pytest.mark.parametrize("seed", range(60))
def test_programs_at_random(seed):
    """Of one to forty operators over one to eight tensors: more values than registers, results that are kept too."""
    chance = random.Random(seed)
    dtype = chance.choice([torch.float32, torch.float64])
    n = chance.choice([1, 6, 13, 100, 2500])
    inputs = [torch.randn(n, dtype=dtype) for _ in range(chance.randint(1, 8))]
    program = []
    known = len(inputs)
    for _ in range(chance.randint(1, 40)):
        # Old values are read again late, so that many live at one time.
        program.append(
            (chance.choice(UNARY + 3 * BINARY + [torch.tanh]), chance.randrange(known), chance.randrange(known))
        )
        known += 1
    outputs = [known - 1, *chance.sample(range(len(inputs), known), min(2, len(program)))]

    def f(*x):
        values = list(x)
        for g, a, b in program:
            values.append(g(values[a]) if g in UNARY or g is torch.tanh else g(values[a], values[b]))
        return tuple(values[i] for i in outputs)

    plan = plan_of(f, *inputs)
    for a, b in zip(plan(*inputs), f(*inputs), strict=True):
        assert same(a, b), plan.describe()


def test_many_values_at_one_time():
    """Twenty products that are added up at the end, in the order in which they were not made."""

    def f(*x):
        products = [a * b for a, b in itertools.islice(itertools.product(x, x), 20)]
        total = products[0]
        for p in reversed(products):
            total = total * 0.5 + p
        return total

    inputs = [torch.randn(1003) for _ in range(6)]
    plan = plan_of(f, *inputs)
    assert same(plan(*inputs), f(*inputs))
    assert ("fused" in plan.describe()) == FUSES


def test_gradients():
    def f(a, b, c):
        t = a * b + c
        t = torch.sigmoid(t) * a - b
        return torch.relu(torch.tanh(t) * c + a) * b

    inputs = [torch.randn(5001) for _ in range(3)]
    pytest.importorskip("torch.autograd")
    g = torch.jit.trace(f, inputs, check_trace=False)
    for _ in range(4):
        leaves = [[x.clone().requires_grad_() for x in inputs] for _ in range(2)]
        g(*leaves[0]).sum().backward()
        f(*leaves[1]).sum().backward()
        for a, b in zip(*leaves, strict=True):
            assert torch.allclose(a.grad, b.grad, rtol=1e-6, atol=1e-6)


def test_loops_of_other_formulas_stay_loops():
    f = lambda x, y: torch.div(x, y, rounding_mode="floor") * torch.pow(x, 3) - torch.fmod(x, y)
    x, y = torch.randn(100), torch.randn(100)
    plan = plan_of(f, x, y)
    assert same(plan(x, y), f(x, y))


def test_operands_of_other_layouts_and_dtypes():
    f = lambda x, y, z: (x * y + z) * x - y
    for x, y, z in [
        (torch.randn(60, 70).t(), torch.randn(60), torch.randn(())),
        (torch.randn(70, 60, dtype=torch.float16), torch.randn(60), torch.randn(70, 1)),
        (torch.randn(70, 120)[:, ::2], torch.arange(60), torch.randn(70, 60, dtype=torch.float64)),
    ]:
        plan = plan_of(f, x, y, z)
        assert same(plan(x, y, z), f(x, y, z))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shape", [(1, 64), (5, 70), (3, 4, 100), (2, 1027), (700, 1000)], ids=str)
def test_a_number_for_each_row(shape, dtype):
    """Rows are walked one by one, and no block is filled with their numbers."""
    f = lambda x, m, w, s: torch.tanh((x - m) * (x * w)) / m + m * s - x
    make = lambda: (torch.randn(shape, dtype=dtype), torch.randn(*shape[:-1], 1, dtype=dtype),
                    torch.randn(shape[-1], dtype=dtype), torch.randn((), dtype=dtype))  # fmt: skip
    plan = plan_of(f, *make())
    for _ in range(2):
        x = make()
        assert same(plan(*x), f(*x))
    others = make()
    others = (others[0].transpose(0, 1).contiguous().transpose(0, 1), *others[1:])  # of another layout
    for _ in range(3):
        assert same(plan(*others), f(*others))


def test_numbers_of_rows_that_loops_need_as_blocks():
    f = lambda x, m: torch.atan2(x, m) * m + torch.exp(m) * x
    x = torch.randn(90, 200), torch.randn(90, 1)
    plan = plan_of(f, *x)
    assert same(plan(*x), f(*x))


@pytest.mark.parametrize("threads", [1, 3])
def test_composed_softmax_and_norm_by_blocks_of_rows(threads):
    def softmax(x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)

    def norm(x, w, b):
        d = x - x.mean(-1, keepdim=True)
        return d * torch.rsqrt((d * d).mean(-1, keepdim=True) + 1e-5) * w + b

    def norm_by_var(x, w, b):
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5) * w + b

    def norm_by_std(x, w, b):
        return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) * w + b

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x, w, b = torch.randn(1001, 770), torch.randn(770), torch.randn(770)
        for f, args in [(softmax, (x,)), (norm, (x, w, b)), (norm_by_var, (x, w, b)), (norm_by_std, (x, w, b))]:
            plan = plan_of(f, *args)
            rows = re.search(r"blocks of (\d+) of 1001 rows", plan.describe())
            assert int(rows[1]) < 16, plan.describe()  # no call between: all of a block lies in the first cache
            assert same(plan(*args), f(*args))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_slopes_are_rounded_where_the_operators_round(dtype):
    def f(g, y):
        return torch.ops.aten.tanh_backward(g, y) * 1.5, torch.ops.aten.sigmoid_backward(g, y) * 1.5

    check(f, torch.randn(1003, dtype=dtype), torch.randn(1003, dtype=dtype).tanh())


COMPARISONS = [torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("compare", COMPARISONS)
def test_comparisons_choose_within_one_loop(compare, dtype):
    def f(x, y):
        hit = compare(x, y)
        return torch.where(hit, x * 2 + y, y) - hit.to(dtype) * x

    pairs = torch.tensor(list(itertools.product(SPECIAL, SPECIAL)), dtype=dtype)
    for n in (len(pairs), 1, 7, 16, 33):
        plan = check(f, pairs[:n, 0].contiguous(), pairs[:n, 1].contiguous())
        assert not FUSES or "1 loops, 1 of them fused" in plan.describe()


def test_a_comparison_that_is_given_out_is_a_loop_of_its_own():
    def f(x, y):
        hit = x > y
        return hit, torch.where(hit, x, y) * 2 + 1

    plan = check(f, torch.randn(2000), torch.randn(2000))
    assert "1 of them fused" in plan.describe()


@pytest.mark.parametrize("level", ["v3", "v4"])
def test_registers_of_each_width_give_the_same_bits(level):
    if not FUSES or torch.backends.cpu.get_cpu_capability() != "AVX512":
        pytest.skip("needs AVX-512")
    program = """
import torch
from torch.jit import _native

def f(x, y, z):
    for _ in range(3):
        x = (x * y + z).relu() - (x / (y * y + 1)).sqrt().maximum(z) * torch.where(x > y, z, 0.5)
    return x, y.neg().abs()

torch.manual_seed(0)
for dtype in (torch.float32, torch.float64):
    for n in (1, 8, 15, 16, 17, 33, 1000, 5001):
        args = [torch.randn(n, dtype=dtype) for _ in range(3)]
        plan = _native.plan(torch.jit.trace(f, args, check_trace=False).graph)
        for _ in range(3):
            assert all(torch.equal(a.nan_to_num(7), b.nan_to_num(7)) for a, b in zip(plan(*args), f(*args)))
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "TORCH_CPU_LEVEL": level})
