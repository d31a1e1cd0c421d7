"""Attention without its matrix of scores: against the formula in float64, and the memory that it takes."""

import math

import numpy as np
import pytest
import torch
from torch import _C as core

forward, backward = (core._operator(f"_attention_{way}") for way in ("forward", "backward"))


def formula(query, key, value, mask=None, is_causal=False, scale=1.0):
    """The result, and the weights, of arrays."""
    scores = query @ np.swapaxes(key, -1, -2) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(top == -np.inf, 0, top))
    total = weights.sum(-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return weights @ value, weights


def slopes(grad, query, key, value, weights, scale):
    of_weights = grad @ np.swapaxes(value, -1, -2)
    of_scores = weights * (of_weights - (weights * of_weights).sum(-1, keepdims=True)) * scale
    return of_scores @ key, np.swapaxes(of_scores, -1, -2) @ query, np.swapaxes(weights, -1, -2) @ grad


def drawn(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in shapes]


# Lengths and sizes around what is computed at once (28 to 112 queries, blocks of 256 keys).
SIZES = {
    "few": ((2, 3), 5, 7, 4, 6),
    "one query": ((3,), 1, 900, 16, 16),
    "one block": ((2, 2), 64, 64, 32, 32),
    "blocks of queries": ((2,), 197, 130, 16, 24),
    "blocks of keys": ((2,), 120, 700, 8, 8),
    "more queries than keys": ((), 300, 40, 8, 3),
    "wide": ((1,), 40, 50, 1100, 5),
}
MASKS = {
    "all": lambda *size: {},
    "causal": lambda *size: {"is_causal": True},
    "bools": lambda batch, length, size: {"mask": drawn(1, (*batch, length, size))[0] > -0.5},
    "bools and causal": lambda batch, length, size: {"mask": drawn(1, (length, size))[0] > 0, "is_causal": True},
    "numbers": lambda batch, length, size: {"mask": drawn(2, (length, size))[0]},
    "keys": lambda batch, length, size: {"mask": drawn(3, (size,))[0] > 0},
    "queries": lambda batch, length, size: {"mask": drawn(3, (length, 1))[0] > 0},
    "nothing": lambda batch, length, size: {"mask": np.zeros((1, size), bool)},
}


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("size", SIZES)
def test_attention_and_its_gradients_are_the_formula(size, mask, kept):
    batch, length, count, width, depth = SIZES[size]
    shapes = (length, width), (count, width), (count, depth), (length, depth)
    query, key, value, grad = drawn(0, *((*batch, *shape) for shape in shapes))
    settings = MASKS[mask](batch, length, count)
    scale = 1 / math.sqrt(width)
    out, weights = formula(query, key, value, **settings, scale=scale)
    found = (out, *slopes(grad, query, key, value, weights, scale))
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 2e-5)):
        q, k, v, g = (torch.tensor(x, dtype=dtype) for x in (query, key, value, grad))
        given = settings.get("mask")
        given = None if given is None else torch.tensor(given, dtype=None if given.dtype == bool else dtype)
        rest = settings.get("is_causal", False), scale
        result, keeps = forward(q, k, v, given, *rest, kept)
        assert keeps.shape == (weights.shape if kept else (0,))
        if kept:
            np.testing.assert_allclose(keeps.numpy(), weights, rtol=tolerance, atol=tolerance)
        for ours, theirs in zip((result, *backward(g, q, k, v, given, keeps, *rest)), found, strict=True):
            top = np.abs(theirs).max()
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=tolerance * 10, atol=tolerance * (1 + top))


@pytest.mark.parametrize(
    ("length", "count", "width", "depth"), [(0, 3, 4, 4), (40, 0, 4, 4), (40, 5, 0, 4), (40, 5, 4, 0)]
)
def test_attention_of_nothing(length, count, width, depth):
    query, key, value = torch.ones(2, length, width), torch.ones(2, count, width), torch.ones(2, count, depth)
    out, kept = forward(query, key, value, None, False, 1.0, True)
    assert torch.equal(out, torch.full((2, length, depth), float(count > 0)))
    grads = backward(torch.ones_like(out), query, key, value, None, kept, False, 1.0)
    assert [g.shape for g in grads] == [query.shape, key.shape, value.shape]
    assert all(torch.isfinite(g).all() for g in grads)
    assert forward(query[:0], key[:0], value[:0], None, True, 1.0, False)[0].shape == (0, length, depth)


def test_batches_broadcast_and_rows_may_lie_anywhere():
    query, key, value = drawn(5, (2, 6, 3, 8), (50, 2, 8), (4, 50))
    q = torch.tensor(query).permute(0, 2, 1, 3)  # (2, 3, 6, 8), heads within rows
    k, v = torch.tensor(key).transpose(0, 1)[:1], torch.tensor(value).t()
    out, _ = forward(q, k, v, None, False, 0.5, False)
    np.testing.assert_allclose(out.numpy(), formula(q.numpy(), k.numpy(), v.numpy(), scale=0.5)[0], rtol=1e-12)
    flipped = q.flip(-1).flip(-1)[..., ::2]
    out, _ = forward(flipped, k[..., ::2], v.expand(2, 3, 50, 4), None, False, 0.5, False)
    np.testing.assert_allclose(
        out.numpy(), formula(q.numpy()[..., ::2], k.numpy()[..., ::2], v.numpy(), scale=0.5)[0], rtol=1e-12
    )


def test_the_result_lies_as_the_queries_do_where_heads_lie_within_rows():
    rows = torch.randn(2, 9, 3, 4).transpose(1, 2)
    out, _ = forward(rows, rows, rows, None, False, 0.5, False)
    assert out.transpose(1, 2).is_contiguous()
    out, _ = forward(rows.contiguous(), rows, rows, None, False, 0.5, False)
    assert out.is_contiguous()


def test_any_byte_but_zero_of_a_mask_lets_a_query_see():
    q, k, v = torch.randn(1, 4), torch.randn(3, 4), torch.randn(3, 2)
    bytes_ = torch.tensor([[0, 2, 255]], dtype=torch.uint8)
    plain = forward(q, k, v, torch.tensor([[False, True, True]]), False, 1.0, False)[0]
    assert torch.equal(forward(q, k, v, bytes_.view(torch.bool), False, 1.0, False)[0], plain)


def test_nan_and_infinity_are_passed_on():
    q = torch.tensor([[1.0], [math.nan], [math.inf]])
    out, _ = forward(q, torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [4.0]]), None, False, 1.0, False)
    assert out[0].isfinite().all() and out[1:].isnan().all()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_bits_do_not_depend_on_threads(threads):
    before = torch.get_num_threads()
    q, g = torch.randn(3, 300, 16), torch.randn(3, 300, 16)
    whole = (*forward(q, q, q, None, True, 0.25, False), *backward(g, q, q, q, None, torch.empty(0), True, 0.25))
    torch.set_num_threads(threads)
    try:
        again = (*forward(q, q, q, None, True, 0.25, False), *backward(g, q, q, q, None, torch.empty(0), True, 0.25))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(whole, again, strict=True))


def test_scores_are_never_held_in_full():
    q = torch.randn(1, 4, 2048, 8)
    g = torch.randn_like(q)
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # each thread has rows of its own
    try:
        torch.memory.reset_peak()
        start = torch.memory.stats()["in_use"]
        _, none = forward(q, q, q, None, False, 1.0, False)
        backward(g, q, q, q, None, none, False, 1.0)
        taken = torch.memory.stats()["peak_in_use"] - start
    finally:
        torch.set_num_threads(before)
    assert 0 < taken < 4 * 2048 * 2048 * 4 / 16  # a sixteenth of all scores


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (((4,), (3, 4), (3, 2)), r"at least 2 dims, got \(4,\), \(3, 4\), \(3, 2\)"),
        (((2, 4), (3, 5), (3, 2)), r"do not fit each other: \(2, 4\), \(3, 5\), \(3, 2\)"),
        (((2, 4), (3, 4), (5, 2)), r"do not fit each other: \(2, 4\), \(3, 4\), \(5, 2\)"),
        (((2, 2, 4), (3, 3, 4), (3, 2)), r"scaled_dot_product_attention.*\(2,\).*\(3,\)"),
        (((2, 4), (3, 4), (3, 2), (3, 3)), r"mask of shape \(3, 3\) does not fit scores of shape \(2, 3\)|\(3, 3\)"),
    ],
)
def test_shapes_that_do_not_fit_are_named(arguments, text):
    query, key, value, *mask = (torch.ones(shape) for shape in arguments)
    with pytest.raises(RuntimeError, match=text):
        forward(query, key, value, *(mask or [None]), False, 1.0, False)


def test_other_arguments_are_refused():
    q = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"one dtype, got torch.float32, torch.float64, torch.float32"):
        forward(q, q.double(), q, None, False, 1.0, False)
    with pytest.raises(NotImplementedError, match="floating point dtype, got torch.int64"):
        forward(q.long(), q.long(), q.long(), None, False, 1.0, False)
    with pytest.raises(RuntimeError, match="mask of bool or floating point, got torch.int64"):
        forward(q, q, q, torch.ones(2, 2, dtype=torch.int64), False, 1.0, False)
    with pytest.raises(RuntimeError, match=r"weights of torch.float32 and shape \(2, 2\), or \(0,\), got"):
        backward(q, q, q, q, None, torch.ones(2, 1), False, 1.0)
    with pytest.raises(RuntimeError, match=r"grad \(3, 3\) must have the shape of the result, \(2, 3\)"):
        backward(torch.ones(3, 3), q, q, q, None, torch.empty(0), False, 1.0)


def test_tensors_without_memory_may_have_any_number_of_matrices():
    many = torch.empty(1 << 40, 3, 2, 4, device="meta")
    out, weights = forward(many, many, many, None, False, 1.0, True)
    assert (out.shape, weights.shape) == (many.shape, (1 << 40, 3, 2, 2))
    assert all(g.shape == many.shape for g in backward(out, many, many, many, None, weights, False, 1.0))
    none = torch.empty(1 << 40, 3, 0, 4)
    assert forward(none, none, none, None, False, 1.0, False)[0].shape == none.shape
