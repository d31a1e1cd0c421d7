"""torch.nn.attention: choice of kernel, causal biases, scores as functions, joined sequences."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, bias, flex_attention, sdpa_kernel, varlen
from torch.nn.functional import attention


def qkv(length=4, size=6, heads=2):
    torch.manual_seed(0)
    return [torch.randn(1, heads, n, 8, dtype=torch.float64) for n in (length, size, size)]


def test_sdpa_kernel_allows_what_is_there():
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        F.scaled_dot_product_attention(*qkv())
    with pytest.raises(RuntimeError, match="no available kernel among .*FLASH_ATTENTION"):
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            pass


def test_backends_of_attention_are_written_by_their_names():
    assert str(SDPBackend.MATH) == f"{SDPBackend(0)}" == "SDPBackend.MATH"


def test_causal_biases_begin_at_either_corner():
    assert bias.causal_upper_left(2, 4).tolist() == [[True, False, False, False], [True, True, False, False]]
    assert bias.causal_lower_right(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]
    q, k, v = qkv(4, 4)
    upper = F.scaled_dot_product_attention(q, k, v, torch.ones(4, 4, dtype=torch.bool).tril())
    assert torch.allclose(F.scaled_dot_product_attention(q, k, v, is_causal=True), upper)
    with pytest.raises(RuntimeError, match="Expected attn_mask dtype to be bool or float"):
        F.scaled_dot_product_attention(q, k, v, torch.ones(4, 4, dtype=torch.int32))


def test_flex_attention_is_attention_with_scores_of_ones_own():
    q, k, v = qkv(5, 5)
    assert torch.allclose(flex_attention.flex_attention(q, k, v), F.scaled_dot_product_attention(q, k, v))

    def causal(b, h, i, j):
        return i >= j

    mask = flex_attention.create_block_mask(causal, None, None, 5, 5, BLOCK_SIZE=2)
    want = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    out, lse = flex_attention.flex_attention(q, k, v, block_mask=mask, return_lse=True)
    assert torch.allclose(out, want)
    assert lse.shape == (1, 2, 5)
    assert mask.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert mask.sparsity() == pytest.approx(100 / 3)
    near = flex_attention.and_masks(causal, lambda b, h, i, j: i - j < 2)
    assert int(flex_attention.create_mask(near, 1, 1, 5, 5).sum()) == 9
    either = flex_attention.or_masks(causal, flex_attention.noop_mask)
    assert bool(flex_attention.create_mask(either, 1, 1, 5, 5).all())
    distance = F.scaled_dot_product_attention(
        q, k, v, -(torch.arange(5.0).view(5, 1) - torch.arange(5.0)).abs().double()
    )
    scored = flex_attention.flex_attention(q, k, v, lambda s, b, h, i, j: s - (i - j).abs())
    assert torch.allclose(scored, distance)


def test_joined_sequences_attend_to_themselves():
    torch.manual_seed(0)
    q, k, v = (torch.randn(7, 2, 8, dtype=torch.float64) for _ in range(3))
    ends = torch.tensor([0, 3, 7])
    out = varlen.varlen_attn(q, k, v, ends, ends, 4, 4, window_size=(-1, 0))
    for a, b in ((0, 3), (3, 7)):
        part = F.scaled_dot_product_attention(*(x[a:b].transpose(0, 1) for x in (q, k, v)), is_causal=True)
        assert torch.allclose(out[a:b], part.transpose(0, 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_bags_of_half_types_are_summed_with_more_digits(dtype):
    table = (torch.arange(40.0).view(8, 5).sin() * 50).to(dtype)
    rows, factors = torch.arange(24).view(3, 8) % 7, (torch.arange(24.0).view(3, 8).cos() * 9).to(dtype)
    for mode, weights in (("sum", factors), ("sum", None), ("mean", None)):
        wide = None if weights is None else weights.double()
        exact = torch.nn.functional.embedding_bag(rows, table.double(), mode=mode, per_sample_weights=wide)
        got = torch.nn.functional.embedding_bag(rows, table, mode=mode, per_sample_weights=weights)
        assert got.dtype == dtype and (got != exact.to(dtype)).sum() <= 1


@pytest.mark.parametrize("kind", ["bool", "numbers"])
def test_a_place_that_sees_nothing_gets_nothing_and_has_finite_gradients(kind):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    sees = torch.tensor([[True, True, False], [False, False, False], [True, False, True]])
    mask = sees if kind == "bool" else torch.zeros(3, 3, dtype=torch.float64).masked_fill(~sees, -math.inf)
    out = F.scaled_dot_product_attention(q, k, v, mask)
    assert (out[:, 1] == 0).all()
    for i in (0, 2):  # the others as if only what they see were there
        part = F.scaled_dot_product_attention(q[:, i : i + 1], k[:, sees[i]], v[:, sees[i]])
        assert torch.allclose(out[:, i : i + 1], part)
    gradients = torch.autograd.grad(out.sum(), (q, k, v))
    assert all(g.isfinite().all() for g in gradients) and (gradients[0][:, 1] == 0).all()


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_sequence_that_is_all_padding_gives_the_output_projections_bias(need_weights):
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    torch.nn.init.normal_(layer.out_proj.bias)
    x, padding = torch.randn(2, 3, 4), torch.tensor([[False, False, True], [True, True, True]])
    out, _ = layer(x, x, x, key_padding_mask=padding, need_weights=need_weights)
    if need_weights:
        assert out[1].isnan().all()  # as its weights are
    else:
        assert torch.equal(out[1], layer.out_proj.bias.expand(3, 4))
    assert torch.allclose(out[0], layer(x, x, x, key_padding_mask=padding)[0][0])


@pytest.mark.parametrize(
    ("change", "zeros"),
    [({}, True), ({"activation": torch.nn.GELU()}, True), ({"batch_first": False}, False), ({"norm_first": True}, False),
     ({"activation": torch.tanh}, False), ({"nhead": 1}, False), ({"enable_nested_tensor": False}, False)],
)  # fmt: skip
def test_an_encoder_leaves_padding_out_where_pytorch_does(change, zeros):
    change = {"batch_first": True, "nhead": 2, **change}
    nested = change.pop("enable_nested_tensor", True)
    layer = torch.nn.TransformerEncoderLayer(8, dim_feedforward=16, dropout=0.0, **change)
    encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=nested).eval()
    x = torch.randn(2, 5, 8)
    at_the_end = torch.tensor([[False, False, False, True, True], [False] * 5])
    within = torch.tensor([[False, True, False, True, True], [False] * 5])

    def run(padding, **more):
        out = encoder(x if change["batch_first"] else x.transpose(0, 1), src_key_padding_mask=padding, **more)
        return out if change["batch_first"] else out.transpose(0, 1)

    with torch.no_grad():
        out = run(at_the_end)
        assert (out[0, 3:] == 0).all() == zeros and (out[0, :3] != 0).all() and (out[1] != 0).all()
        assert (run(within)[0] != 0).all()
        assert (run(at_the_end, mask=torch.zeros(5, 5))[0] != 0).all()
    assert (run(at_the_end)[0] != 0).all()  # where gradients are recorded
    encoder.train()
    with torch.no_grad():
        assert torch.allclose(run(at_the_end)[0, :3], out[0, :3], atol=1e-6) and (run(at_the_end)[0] != 0).all()


@pytest.mark.parametrize("mask", [torch.ones(3, 3, dtype=torch.bool), torch.zeros(3, 3)])
def test_a_mask_beside_the_causal_one_is_refused(mask):
    q = torch.randn(2, 3, 4)
    with pytest.raises(RuntimeError, match="give one of them"):
        F.scaled_dot_product_attention(q, q, q, attn_mask=mask, is_causal=True)


def test_queries_without_features_attend_to_all_alike():
    value = torch.arange(12.0).reshape(1, 1, 3, 4)
    out = F.scaled_dot_product_attention(torch.empty(1, 1, 2, 0), torch.empty(1, 1, 3, 0), value)
    assert torch.allclose(out, value.mean(-2, keepdim=True).expand(1, 1, 2, 4))


def test_dims_of_queries_keys_and_masks_are_compared_at_once():
    check = F._mha_shape_check
    batch, one = torch.zeros(4, 2, 8), torch.zeros(4, 8)
    assert check(batch, batch, batch, torch.zeros(2, 4), torch.zeros(4, 4), 2) is True
    assert check(one, one, one, torch.zeros(4), torch.zeros(2, 4, 4), 2) is False
    for args, text in (
        ((batch, one, batch, None, None), r"key with 3 dims for a query of shape \(4, 2, 8\), got shape \(4, 8\)"),
        ((one, one, one, torch.zeros(2, 4), None), r"key_padding_mask with 1 dims"),
        ((batch, batch, batch, None, torch.zeros(4)), r"attn_mask with 2 or 3 dims"),
        ((one, one, one, None, torch.zeros(3, 4, 4)), r"attn_mask of shape \(2, 4, 4\), got \(3, 4, 4\)"),
        ((torch.zeros(4), one, one, None, None), r"unbatched 2D or batched 3D tensor, got shape \(4,\)"),
    ):
        with pytest.raises(AssertionError, match=text):
            check(*args, 2)
    layer = torch.nn.MultiheadAttention(8, 2)
    with pytest.raises(AssertionError, match="key with 2 dims"):
        layer(one, batch, batch)


ATTENDS = {
    "all": {},
    "causal": {"is_causal": True},
    "a mask of its own for each example": {"attn_mask": torch.arange(2 * 70 * 90).view(2, 1, 70, 90) % 7 > 1},
    "rows that see nothing": {"attn_mask": (torch.arange(70 * 90).view(70, 90) % 3 > 0) & (torch.arange(70).view(70, 1) > 9)},
    "numbers for all rows": {"attn_mask": torch.arange(90.0, dtype=torch.float64).sin().view(1, 90)},
    "fewer heads of keys": {"enable_gqa": True},
}  # fmt: skip


@pytest.mark.parametrize("kind", ATTENDS)
def test_attention_is_what_its_operators_compute(kind, monkeypatch):
    torch.manual_seed(0)
    heads = 3 if "heads" in kind else 6
    sizes = (2, 6, 70, 8), (2, heads, 90, 8), (2, heads, 90, 5)
    given = [torch.randn(*size, dtype=torch.float64, requires_grad=True) for size in sizes]
    results = []
    for watched in (False, True):  # what watches operators sees those that attention is composed of
        monkeypatch.setattr(attention._seams, "is_dispatched", lambda *_, watched=watched: watched)
        out = F.scaled_dot_product_attention(*given, **ATTENDS[kind])
        last = out.grad_fn.next_functions[0][0] if kind == "fewer heads of keys" else out.grad_fn
        assert ("Attention" in type(last).__name__) != watched
        results.append((out, *torch.autograd.grad(out.cos().sum(), given)))
    for whole, composed in zip(*results, strict=True):
        torch.testing.assert_close(whole, composed, rtol=1e-12, atol=1e-12)


def test_attention_differentiates_twice_and_under_transforms():
    torch.manual_seed(0)
    given = [torch.randn(2, 36, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    mask = torch.randn(36, 36, dtype=torch.float64, requires_grad=True)
    causal = partial(F.scaled_dot_product_attention, is_causal=True)
    assert torch.autograd.gradcheck(causal, given, fast_mode=True)
    assert torch.autograd.gradcheck(F.scaled_dot_product_attention, (*given, mask), fast_mode=True)
    assert torch.autograd.gradgradcheck(F.scaled_dot_product_attention, (*given, mask), fast_mode=True)
    plain = [x.detach() for x in given]
    batches = [torch.stack([x, 2 * x]) for x in plain]
    torch.testing.assert_close(torch.vmap(causal)(*batches)[1], causal(*(2 * x for x in plain)))
    _, tangent = torch.func.jvp(causal, tuple(plain), tuple(x.cos() for x in plain))
    step = 1e-6
    moved = [causal(*(x + s * x.cos() for x in plain)) for s in (step, -step)]
    torch.testing.assert_close(tangent, (moved[0] - moved[1]) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", ["values of more examples", "a mask of more digits"])
def test_gradients_from_all_weights_know_every_shape_and_dtype(kind):
    torch.manual_seed(0)
    q, k, v, mask = (torch.randn(*s, dtype=torch.float64) for s in ((5, 4), (6, 4), (3, 6, 2), (5, 6)))
    given = [q, k, v, mask] if "examples" in kind else [q.float(), k.float(), v.float(), mask]
    given = [x.requires_grad_() for x in given]
    out = F.scaled_dot_product_attention(*given)
    found = torch.autograd.grad(out.cos().sum(), given, retain_graph=True)
    wide = [x.detach().double().requires_grad_() for x in given]
    scores = wide[0] @ wide[1].T / 2 + wide[3]
    expected = torch.autograd.grad((scores.softmax(-1) @ wide[2]).cos().sum(), wide, create_graph=True)
    for ours, theirs, x in zip(found, expected, given, strict=True):
        assert ours.dtype == x.dtype
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-6)
    first = torch.autograd.grad(out.cos().sum(), given[:3], create_graph=True)
    again = torch.autograd.grad(sum(x.sin().sum() for x in first), given)
    expected = torch.autograd.grad(sum(x.sin().sum() for x in expected[:3]), wide)
    for ours, theirs in zip(again, expected, strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("keys", "values"), [(2, 4), (4, 2), (3, 2), (1, 6)])
def test_keys_and_values_may_be_shared_by_other_numbers_of_heads(keys, values):
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 12, 3, 4), torch.randn(2, keys, 5, 4), torch.randn(2, values, 5, 4)
    k_all, v_all = k.repeat_interleave(12 // keys, 1), v.repeat_interleave(12 // values, 1)
    for mask in (None, torch.randn(12, 3, 5)):
        out = F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
        torch.testing.assert_close(out, F.scaled_dot_product_attention(q, k_all, v_all, mask))


def test_heads_that_do_not_fit_those_of_queries_are_refused():
    def attend(heads, keys, values, mask=None, **options):
        q, k, v = (torch.ones(1, n, 2, 4) for n in (heads, keys, values))
        return F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True, **options)

    for heads in ((1, 2, 2), (3, 2, 2), (4, 4, 3)):
        for options in ({}, {"dropout_p": 0.5}):
            with pytest.raises(RuntimeError, match=f"divide the {heads[0]} of query, got [23]"):
                attend(*heads, **options)
    with pytest.raises(RuntimeError, match=r"\[2, 2\] don't multiply up to the size of dim 0 \(2\)"):
        attend(4, 2, 2, torch.zeros(2, 2, 2))  # a mask for each head of keys


@pytest.mark.parametrize("chance", [-0.5, 1.5, math.nan])
def test_chances_to_drop_a_weight_are_from_0_to_1(chance):
    q = torch.ones(1, 2, 4)
    with pytest.raises(RuntimeError, match="from 0 to 1"):
        F.scaled_dot_product_attention(q, q, q, dropout_p=chance)


def test_attention_never_holds_all_scores():
    torch.memory.reset_peak()
    start = torch.memory.stats()["in_use"]
    q = torch.randn(1, 8, 2048, 8, requires_grad=True)
    F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    assert torch.memory.stats()["peak_in_use"] - start < 8 * 2048 * 2048 * 4 / 4


def test_a_bias_is_not_added_to_keys_that_are_given():
    one, given = torch.ones(1, 1, 2), torch.ones(1, 3, 2)
    weights = torch.ones(6, 2), torch.ones(6), one, one, False, 0.0, torch.ones(2, 2), torch.ones(2)
    with pytest.raises(AssertionError, match="bias_k and bias_v cannot be added to static_k"):
        F.multi_head_attention_forward(one, one, one, 2, 1, *weights, static_k=given, static_v=given)
