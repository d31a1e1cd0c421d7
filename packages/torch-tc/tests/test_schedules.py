"""Whatever the schedule: the same result, and no byte outside of the tensors read or written."""

import random

import pytest
import torch
import torch.tc as tc

pytest.importorskip("halide")

TEXT = """
def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }
def fc(float(B,M) I, float(N,M) W, float(N) b) -> (O) {
    O(i, n) +=! I(i, m) * W(n, m)
    O(i, n) = fmax(O(i, n) + b(n), 0)
}
def softmax(float(N,D) I) -> (O) {
    m(n) max=! I(n, d)
    E(n, d) = exp(I(n, d) - m(n))
    s(n) +=! E(n, d)
    O(n, d) = E(n, d) / s(n)
}
def conv(float(N,C,H,W) I, float(F,C,KH,KW) K) -> (O) { O(n, f, h, w) +=! I(n, c, h + kh, w + kw) * K(f, c, kh, kw) }
def padded(float(N) I) -> (O) { O(i) +=! (i + k >= 1 && i + k <= N) ? I(i + k - 1) : 0 where i in 0:N, k in 0:3 }
def whole(int32(N,M) I) -> (lo, hi, p) { lo() min=! I(i, j) hi(i) max=! I(i, j) p(j) *=! I(i, j) }
def small(double(N) I) -> (O) { O(i) = I(i) * 2 O(i) += I(j) where i in 1:3 }
"""


def rand(*shape):
    return torch.rand(*shape) - 0.5


CASES = {
    "matmul": ((17, 23), (23, 37)),
    "fc": ((9, 21), (35, 21), (35,)),
    "softmax": ((7, 41),),
    "conv": ((2, 3, 9, 13), (5, 3, 3, 2)),
    "padded": ((19,),),
    "whole": ((13, 19),),
    "small": ((11,),),
}
RESULTS = {
    "matmul": lambda a, b: [a @ b],
    "fc": lambda i, w, b: [torch.relu(i @ w.t() + b)],
    "softmax": lambda i: [i.softmax(1)],
    "conv": lambda i, k: [torch.conv2d(i, k)],
    "padded": lambda i: [torch.conv1d(i[None, None], torch.ones(1, 1, 3), padding=1)[0, 0]],
    "whole": lambda i: [i.amin(), i.amax(1), i.prod(0, dtype=torch.int32)],
    "small": lambda i: [2 * i + torch.tensor([0.0, 1, 1] + [0] * 8).double() * i.sum()],
}


def made(name, shape):
    if name == "whole":
        return torch.randint(-2, 3, shape, dtype=torch.int32)
    return rand(*shape).double() if name == "small" else rand(*shape)


def fenced(x):
    """The values in the middle of a larger memory."""
    memory = torch.full((x.numel() + 512,), -77, dtype=x.dtype)
    inner = memory[256:-256].view(x.shape)
    inner.copy_(x)
    return memory, inner


def options(dice):
    one = tc.MappingOptions(dice.choice(["auto", "mlp", "conv", "pointwise", "single_thread"]))
    one.tile([dice.choice([0, 1, 2, 3, 5, 8, 16, 40]) for _ in range(dice.randrange(5))])
    one.unroll(dice.choice([1, 2, 3, 4, 8])).vectorize(dice.choice([0, 1, 2, 4, 8, 16, 32]))
    one.vectorizeReductions(dice.choice([None, False, True])).parallel(dice.choice([True, False]))
    return one.outerScheduleFusionStrategy(dice.choice(["Max", "Preserve3Coincident", "Min"]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_any_options_give_the_same_result_within_bounds(name, seed, monkeypatch):
    from torch.tc import _schedule

    monkeypatch.setattr(_schedule, "PARALLEL", 1)  # threads for small sizes too
    torch.manual_seed(seed)
    chosen = options(random.Random(seed + 100 * len(name)))
    unit = tc.define(TEXT, name=name)
    inputs = [fenced(made(name, s)) for s in CASES[name]]
    expected = RESULTS[name](*(x for _, x in inputs))
    outputs = [fenced(torch.zeros_like(x)) for x in expected]
    unit(*(x for _, x in inputs), outputs=[x for _, x in outputs], options=chosen)
    for (memory, found), wanted in zip(outputs, expected, strict=True):
        assert (memory[:256] == -77).all() and (memory[-256:] == -77).all(), chosen
        assert torch.allclose(found.double(), wanted.double(), rtol=1e-4, atol=1e-5), chosen


@pytest.mark.parametrize("name", ["naive", "pointwise", "mlp", "conv", "group_conv", "single_thread"])
def test_the_options_of_2018_by_name(name):
    a, b = rand(17, 23), rand(23, 37)
    assert torch.allclose(tc.define(TEXT, name="matmul")(a, b, options=tc.Options(name)), a @ b, atol=1e-5)


def test_sizes_that_are_no_multiples_of_anything():
    unit = tc.define(TEXT, name="matmul")
    for m, k, n in [(1, 1, 1), (1, 5, 1), (2, 1, 3), (3, 2, 15), (5, 9, 17), (33, 65, 31)]:
        a, b = rand(m, k), rand(k, n)
        assert torch.allclose(unit(a, b), a @ b, atol=1e-5)


def test_the_setters_of_2018_are_there():
    one = tc.MappingOptions("naive").tile([3, 2]).mapToThreads(4, 8).mapToBlocks([2]).unroll(2)
    one.useSharedMemory(True).usePrivateMemory(False).unrollCopyShared(True).matchLibraryCalls(True).maxSharedMemory(
        100
    )
    one.useReadOnlyCache(True).fixParametersBeforeScheduling(True).intraTileScheduleFusionStrategy("Max")
    one.scheduleFusionStrategy("Min")
    assert tc.MappingOptions.deserialize(one.serialize()) == one != tc.MappingOptions("naive")
    assert eval(repr(one), {"MappingOptions": tc.MappingOptions}) == one == one.copy()
    assert tc.options.Options is tc.MappingOptions


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: tc.Options("fast"), "no starting point 'fast': there are auto, naive, "),
        (lambda: tc.Options().tile(-1), "tile expected whole numbers from 0, got -1"),
        (lambda: tc.Options().tile([2.0]), "tile expected whole numbers from 0, got 2.0"),
        (lambda: tc.Options().vectorize(3), "vectorize expected a power of two up to 64, got 3"),
        (lambda: tc.Options().mapToThreads(0), "mapToThreads expected whole numbers from 1, got 0"),
        (lambda: tc.Options().outerScheduleFusionStrategy("Most"), "no strategy 'Most'"),
        (lambda: tc.Options().intraTileScheduleFusionStrategy("Most"), "no strategy 'Most'"),
        (lambda: tc.MappingOptions.deserialize(b'{"name": "auto", "tail": 3}'), "unknown fields tail"),
    ],
)
def test_wrong_options_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
