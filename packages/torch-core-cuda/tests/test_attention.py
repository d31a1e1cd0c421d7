"""Attention on CUDA holds no matrix of scores, and has the results and derivatives of the formula in double."""

import math

import pytest
import torch
from torch._cuda import _native
from torch._cuda import attention as _operators  # noqa: F401

F = pytest.importorskip("torch.nn.functional")
pytest.importorskip("torch.autograd")

#: query, key, value
SHAPES = [
    ((2, 3, 70, 16), (2, 3, 70, 16), (2, 3, 70, 16)),
    ((5, 8), (9, 8), (9, 24)),
    ((2, 65, 33), (2, 130, 33), (2, 130, 50)),
    ((1, 2, 3, 64, 128), (1, 2, 3, 20, 128), (1, 2, 3, 20, 100)),
    ((2, 4, 1, 64), (2, 4, 37, 64), (2, 4, 37, 64)),
    ((3, 1, 6, 40), (4, 7, 40), (4, 7, 40)),  # batches are broadcast
    ((1, 1, 20, 200), (1, 1, 41, 200), (1, 1, 41, 256)),  # more columns than a block sums up
]
NEAR = {torch.float64: 1e-12, torch.float32: 4e-6, torch.float16: 4e-3, torch.bfloat16: 3e-2}
MASKS = ["none", "causal", "bool", "numbers"]


def numbers(shape, dtype, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def mask_of(kind, shape, dtype):
    length, size = shape
    if kind == "bool":
        mask = numbers(shape, torch.float32, 5) > -0.5
        mask[min(1, length - 1)] = False  # a query that sees nothing
        return mask
    return numbers(shape, dtype, 6) if kind == "numbers" else None


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("shapes", SHAPES)
def test_values_and_derivatives(shapes, kind, dtype):
    here = [numbers(s, dtype, i) for i, s in enumerate(shapes)]
    mask, causal = mask_of(kind, (shapes[0][-2], shapes[1][-2]), dtype), kind == "causal"
    there = [t.cuda().requires_grad_() for t in here]
    exact = [t.double().requires_grad_() for t in here]
    wide = mask.double().clone().requires_grad_() if kind == "numbers" else mask
    given = None if mask is None else mask.cuda().detach().requires_grad_(kind == "numbers")
    expected = F.scaled_dot_product_attention(*exact, attn_mask=wide, is_causal=causal)
    found = F.scaled_dot_product_attention(*there, attn_mask=given, is_causal=causal)
    assert found.is_cuda and found.dtype == dtype and found.shape == expected.shape
    grad = numbers(tuple(expected.shape), dtype, 7)
    expected.backward(grad.double())
    found.backward(grad.cuda())
    pairs = [(found, expected), *((a.grad, b.grad) for a, b in zip(there, exact, strict=True))]
    if kind == "numbers":
        pairs.append((given.grad, wide.grad))
    for a, b in pairs:
        assert a.dtype == dtype
        assert (a.detach().cpu().double() - b).abs().max() <= NEAR[dtype] * max(1.0, b.abs().max().item())


def test_it_is_one_launch_and_its_derivative_three():
    q, k, v = (numbers((2, 4, 100, 32), torch.float16, i).cuda().requires_grad_() for i in range(3))
    before = _native.counts()["launches"]
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert _native.counts()["launches"] - before == 1
    grad, before = torch.ones_like(y), _native.counts()["launches"]
    torch.autograd.grad(y, (q, k, v), grad)
    assert _native.counts()["launches"] - before == 3


def test_memory_grows_with_rows_not_with_scores():
    q = numbers((1, 1, 3000, 16), torch.float16, 0).cuda()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    F.scaled_dot_product_attention(q, q[:, :, :64], q[:, :, :64])
    assert torch.cuda.max_memory_allocated() - before < 3000 * 64  # scores in floats would be four times that


def test_heads_that_lie_between_others_are_read_where_they_are():
    packed = numbers((2, 50, 3 * 4 * 16), torch.float16, 0).cuda()
    q, k, v = (t.reshape(2, 50, 4, 16).transpose(1, 2) for t in packed.chunk(3, -1))
    before = _native.counts()["launches"]
    y = F.scaled_dot_product_attention(q, k, v)
    assert _native.counts()["launches"] - before == 1
    assert torch.allclose(y, F.scaled_dot_product_attention(q.contiguous(), k.contiguous(), v.contiguous()))


def test_scale_strides_and_nothing():
    q, k, v = (numbers((2, 6, 8), torch.float32, i).cuda() for i in range(3))
    y = F.scaled_dot_product_attention(q, k, v, scale=0.5)
    assert torch.allclose(y, torch.softmax(q @ k.mT / 2, -1) @ v, atol=1e-6)
    turned = (t.mT.contiguous().mT for t in (q, k, v))
    assert torch.allclose(F.scaled_dot_product_attention(*turned, scale=0.5), y)
    assert F.scaled_dot_product_attention(q[:, :0], k, v).shape == (2, 0, 8)
    assert F.scaled_dot_product_attention(q[:0], k[:0], v[:0]).shape == (0, 6, 8)
    assert F.scaled_dot_product_attention(q, k[:, :0], v[:, :0]).cpu().equal(torch.zeros(2, 6, 8))


def test_a_gradient_without_strides_is_taken():
    q = numbers((2, 6, 8), torch.float32, 0).cuda().requires_grad_()
    F.scaled_dot_product_attention(q, q, q).sum().backward()
    x = q.detach().cpu().requires_grad_()
    F.scaled_dot_product_attention(x, x, x).sum().backward()
    assert torch.allclose(q.grad.cpu(), x.grad, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_second_derivatives_are_those_of_the_formula(causal):
    def second(device):
        q, k, v, g, *weights = (numbers((2, 5, 4), torch.float32, i).to(device) for i in range(7))
        given = [t.requires_grad_() for t in (q, k, v, g)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        first = torch.autograd.grad(y, (q, k, v), g, create_graph=True)
        return torch.autograd.grad(sum((f * w).sum() for f, w in zip(first, weights, strict=True)), given)

    for here, there in zip(second("cpu"), second("cuda"), strict=True):
        assert torch.allclose(there.cpu(), here, atol=2e-5)


def test_what_the_kernels_do_not_take_is_composed():
    wide = numbers((1, 4, 300), torch.float32, 2)
    here, there = (F.scaled_dot_product_attention(t, t, t) for t in (wide, wide.cuda()))
    assert torch.allclose(there.cpu(), here, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(6, 9), (2, 1, 6, 9), (3, 1, 9)])
def test_the_gradient_of_a_mask_is_added_up_over_the_heads_that_share_it(shape, causal):
    def gradients(device):
        q, k, v = (numbers((2, 3, rows, 8), torch.float64, i).to(device) for i, rows in enumerate((6, 9, 9)))
        mask = numbers(shape, torch.float64, 4).to(device).requires_grad_()
        q.requires_grad_()
        above = ~torch.ones(6, 9, dtype=torch.bool, device=device).tril()
        out = F.scaled_dot_product_attention(q, k, v, mask.masked_fill(above, -math.inf) if causal else mask)
        (first,) = torch.autograd.grad(out.square().sum(), mask, create_graph=True)
        return [first, *torch.autograd.grad(first.square().sum(), (q, mask))]

    before = _native.counts()["launches"]
    found = gradients("cuda")
    assert _native.counts()["launches"] > before
    expected = gradients_composed(shape, causal)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape and torch.allclose(a.cpu(), b, rtol=1e-9, atol=1e-11)


def gradients_composed(shape, causal):
    """By the formula, in double on the CPU."""
    q, k, v = (numbers((2, 3, rows, 8), torch.float64, i) for i, rows in enumerate((6, 9, 9)))
    mask = numbers(shape, torch.float64, 4).requires_grad_()
    q.requires_grad_()
    scores = q @ k.mT / math.sqrt(8) + mask
    if causal:
        scores = scores.masked_fill(~torch.ones(6, 9, dtype=torch.bool).tril(), -math.inf)
    out = torch.softmax(scores, -1) @ v
    (first,) = torch.autograd.grad(out.square().sum(), mask, create_graph=True)
    return [first, *torch.autograd.grad(first.square().sum(), (q, mask))]


def test_rows_that_do_not_begin_at_sixteen_bytes_are_laid_out_anew():
    packed = numbers((2, 50, 3 * 4 * 16 + 3), torch.float16, 0).cuda()[..., 3:]
    q, k, v = (t.reshape(2, 50, 4, 16).transpose(1, 2) for t in packed.chunk(3, -1))
    y = F.scaled_dot_product_attention(q, k, v)
    assert torch.equal(y, F.scaled_dot_product_attention(q.contiguous(), k.contiguous(), v.contiguous()))


def test_the_same_call_has_the_same_bits():
    q, k, v = (numbers((1, 2, 80, 32), torch.float16, i).cuda().requires_grad_() for i in range(3))

    def run():
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return [y, *torch.autograd.grad(y, (q, k, v), torch.ones_like(y))]

    once = run()
    _native.configure(order=5)
    assert all(torch.equal(a, b) for a, b in zip(once, run(), strict=True))


def test_the_operator_says_what_it_cannot_take():
    attention, q = torch.ops.torch_cuda.attention, torch.ones(1, 1, 4, 8, device="cuda")
    with pytest.raises(NotImplementedError, match="no kernel for torch.int64"):
        attention(q.long(), q.long(), q.long(), None, False, 1.0, 0.0)
    with pytest.raises(RuntimeError, match=r"key must be torch.float32 of shape \(1, 1, 4, 8\)"):
        attention(q, q[..., :4], q, None, False, 1.0, 0.0)
    with pytest.raises(RuntimeError, match="mask must be torch.bool or torch.float32"):
        attention(q, q, q, torch.ones(1, 1, 4, 4), False, 1.0, 0.0)
    with pytest.raises(NotImplementedError, match="wider than 256"):
        attention(*(torch.ones(1, 1, 4, 300, device="cuda"),) * 3, None, False, 1.0, 0.0)
    assert math.isfinite(attention(q, q, q, None, False, 1.0, 0.0)[0].sum().item())


@pytest.mark.parametrize("kind", ["none", "causal", "bool", "heads"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_heads_that_share_a_key_are_not_repeated(dtype, kind):
    q, k, v = numbers((2, 6, 70, 16), dtype, 1), numbers((2, 40, 3, 16), dtype, 2), numbers((2, 3, 40, 16), dtype, 3)
    k = k.transpose(1, 2)
    mask = None
    if kind == "bool":
        mask = numbers((70, 40), torch.float32, 4) > -0.5
    if kind == "heads":
        mask = numbers((2, 6, 70, 40), dtype, 4)
    exact = [t.double().requires_grad_() for t in (q, k, v)]
    there = [t.cuda().requires_grad_() for t in (q, k, v)]
    wide = mask.double() if kind == "heads" else mask
    expected = F.scaled_dot_product_attention(*exact, wide, is_causal=kind == "causal", enable_gqa=True)
    given = None if mask is None else mask.cuda()
    torch.cuda.synchronize()
    before = _native.counts()["launches"]
    with torch.no_grad():
        F.scaled_dot_product_attention(*there, given, is_causal=kind == "causal", enable_gqa=True)
    assert _native.counts()["launches"] - before <= (3 if kind == "heads" else 2)  # one, and copies of k and the mask
    found = F.scaled_dot_product_attention(*there, given, is_causal=kind == "causal", enable_gqa=True)
    expected.sum().backward()
    found.sum().backward()
    for a, b in [(found, expected), *((a.grad, b.grad) for a, b in zip(there, exact, strict=True))]:
        assert a.shape == b.shape
        assert (a.detach().cpu().double() - b).abs().max() <= 3 * NEAR[dtype] * max(1.0, b.abs().max().item())


def test_heads_that_do_not_fit_are_named():
    q, k = torch.zeros(1, 5, 3, 8, device="cuda"), torch.zeros(1, 2, 3, 8, device="cuda")
    with pytest.raises(RuntimeError, match="divide the 5 of query, got 2"):
        F.scaled_dot_product_attention(q, k, k, enable_gqa=True)


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("shapes", SHAPES[:4])
def test_dropout_drops_what_it_drops_on_the_cpu(shapes, dtype, kind):
    here = [numbers(s, dtype, i) for i, s in enumerate(shapes)]
    mask, causal = mask_of(kind, (shapes[0][-2], shapes[1][-2]), dtype), kind == "causal"
    there = [t.cuda().requires_grad_() for t in here]
    exact = [t.float().requires_grad_() for t in here]
    wide = mask.float() if kind == "numbers" else mask
    torch.manual_seed(3)
    expected, after = F.scaled_dot_product_attention(*exact, wide, dropout_p=0.3, is_causal=causal), torch.rand(1)
    torch.manual_seed(3)
    before = _native.counts()["launches"]
    found = F.scaled_dot_product_attention(
        *there, None if mask is None else mask.cuda(), dropout_p=0.3, is_causal=causal
    )
    assert _native.counts()["launches"] - before <= 5  # the kernel, and copies
    assert after.item() == torch.rand(1, device="cuda").item()  # as many numbers were drawn
    grad = numbers(tuple(expected.shape), dtype, 7)
    expected.backward(grad.float())
    found.backward(grad.cuda())
    for a, b in [(found, expected), *((a.grad, b.grad) for a, b in zip(there, exact, strict=True))]:
        assert (a.detach().cpu().float() - b).abs().max() <= 2 * NEAR[dtype] * max(1.0, b.abs().max().item())


def test_second_derivatives_with_dropout_are_those_of_what_was_dropped():
    def penalty(device):
        q, k, v = (numbers((1, 2, 5, 4), torch.float32, i).to(device).requires_grad_() for i in range(3))
        torch.manual_seed(5)
        out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.4)
        (first,) = torch.autograd.grad(out.square().sum(), q, create_graph=True)
        return torch.autograd.grad(first.square().sum(), (q, k, v))

    for a, b in zip(penalty("cuda"), penalty("cpu"), strict=True):
        assert torch.allclose(a.cpu(), b, rtol=1e-3, atol=1e-4)


def test_a_graph_drops_anew_at_each_replay():
    q, k, v = (torch.ones(1, 1, 64, 16, device="cuda") for _ in range(3))
    with torch.no_grad():
        F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    found = []
    for _ in range(2):
        graph.replay()
        found.append(out.clone())
    assert not torch.equal(*found) and all(0.8 < f.mean().item() < 1.2 for f in found)
    assert F.scaled_dot_product_attention(q, k, v, dropout_p=1.0).abs().max().item() == 0
