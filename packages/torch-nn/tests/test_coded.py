"""Functions of ``torch`` itself whose ways are numbers: the reduction of losses, the mode of bags."""

import pytest
import torch
import torch.nn.functional as F

A = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3)
B = torch.linspace(0.2, 0.9, 6, dtype=torch.float64).reshape(2, 3)
SIGNS = torch.tensor([1.0, -1.0], dtype=torch.float64)
LOG = torch.linspace(-1, 1, 40, dtype=torch.float64).reshape(5, 2, 4).sin().log_softmax(-1)
LABELS = torch.tensor([[1, 2], [3, 1]])

# The loss with a number, and what it is element by element by the name.
CASES = {
    "kl_div": (lambda r: torch.kl_div(A, B, r), lambda: B * (B.log() - A)),
    "kl_div of logarithms": (lambda r: torch.kl_div(A, B, r, log_target=True), lambda: B.exp() * (B - A)),
    "poisson_nll_loss": (lambda r: torch.poisson_nll_loss(A, B, True, False, 1e-8, r), lambda: A.exp() - B * A),
    "binary_cross_entropy_with_logits": (
        lambda r: torch.binary_cross_entropy_with_logits(A, B, None, None, r),
        lambda: -B * A.sigmoid().log() - (1 - B) * (-A).sigmoid().log(),
    ),
    "hinge_embedding_loss": (
        lambda r: torch.hinge_embedding_loss(A, -torch.ones_like(A), 0.5, r),
        lambda: (0.5 - A).clamp_min(0),
    ),
    "cosine_embedding_loss": (
        lambda r: torch.cosine_embedding_loss(A, B, SIGNS, 0.1, r),
        lambda: torch.stack([1 - F.cosine_similarity(A, B)[0], (F.cosine_similarity(A, B)[1] - 0.1).clamp_min(0)]),
    ),
    "margin_ranking_loss": (
        lambda r: torch.margin_ranking_loss(A[:, 0], B[:, 0], SIGNS, 0.1, r),
        lambda: (-SIGNS * (A[:, 0] - B[:, 0]) + 0.1).clamp_min(0),
    ),
    "triplet_margin_loss": (
        lambda r: torch.triplet_margin_loss(A, B, A + 0.5, 1.0, 2, 0.0, False, r),
        lambda: ((A - B).norm(dim=1) - 0.75**0.5 + 1).clamp_min(0),
    ),
    "ctc_loss": (
        lambda r: torch.ctc_loss(LOG, LABELS, [5, 5], torch.tensor([2, 2]), 0, r),
        lambda: F.ctc_loss(LOG, LABELS, [5, 5], [2, 2], reduction="none"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_number_says_how_a_loss_is_reduced(case):
    loss, elements = CASES[case]
    wanted = elements()
    torch.testing.assert_close(loss(0), wanted)
    torch.testing.assert_close(loss(2), wanted.sum())
    mean = (wanted / 2).mean() if case == "ctc_loss" else wanted.mean()  # of ctc_loss for each label
    torch.testing.assert_close(loss(1), mean)
    torch.testing.assert_close(loss(7), wanted)


def test_without_a_number_a_loss_is_not_reduced():
    assert torch.kl_div(A, B).shape == (2, 3)
    assert torch.hinge_embedding_loss(A, B.sign()).shape == (2, 3)
    assert torch.cosine_embedding_loss(A, B, SIGNS).shape == (2,)
    assert torch.margin_ranking_loss(A, B, SIGNS[:, None]).shape == (2, 3)
    assert torch.triplet_margin_loss(A, B, A).shape == (2,)
    assert torch.binary_cross_entropy_with_logits(A, B).shape == (2, 3)
    assert torch.ctc_loss(LOG, LABELS, [5, 5], [2, 2]).shape == (2,)


@pytest.mark.parametrize("reduction", ["sum", True, 1.0])
def test_the_name_of_a_reduction_belongs_to_functional(reduction):
    with pytest.raises(TypeError, match=r"argument 'reduction' must be int, not .*torch.nn.functional.kl_div"):
        torch.kl_div(A, B, reduction)


@pytest.mark.parametrize("mode, name", [(0, "sum"), (1, "mean"), (2, "max")])
@pytest.mark.parametrize("padding", [None, 1, -3])
def test_bags_come_with_what_they_are_made_of(mode, name, padding):
    vectors = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    indices, offsets = torch.tensor([3, 1, 2, 0]), torch.tensor([0, 2, 4])
    result, bags, sizes, places = torch.embedding_bag(vectors, indices, offsets, mode=mode, padding_idx=padding)
    wanted = F.embedding_bag(indices, vectors, offsets, mode=name, padding_idx=padding)
    torch.testing.assert_close(result, wanted)
    assert torch.autograd.grad(result.sum(), vectors)[0].equal(torch.autograd.grad(wanted.sum(), vectors)[0])
    assert bags.tolist() == [0, 0, 1, 1]
    counts = [2 if padding is None else 1, 2, 0]
    assert sizes.tolist() == ([0, 0, 0] if name == "sum" else counts)
    if name == "max":
        assert torch.equal(vectors.gather(0, places[:2]), result[:2])
    else:
        assert places.tolist() == sizes.tolist()


def test_a_bag_has_one_of_three_modes():
    with pytest.raises(RuntimeError, match=r"mode must be 0 \(sum\), 1 \(mean\) or 2 \(max\), got 'sum'"):
        torch.embedding_bag(torch.ones(2, 2), torch.tensor([0]), torch.tensor([0]), mode="sum")


def test_the_steps_of_a_ctc_loss_end_in_its_loss():
    torch.manual_seed(0)
    log_probs = torch.randn(6, 2, 4, dtype=torch.float64).log_softmax(2).requires_grad_()
    targets, lengths = torch.tensor([[1, 2, 3], [2, 2, 0]]), (3, 2)
    loss, alpha = torch._ctc_loss(log_probs, targets, (6, 5), lengths)
    assert alpha.shape == (2, 6, 7)
    last = torch.stack(
        [alpha[i, t - 1, [2 * s, 2 * s - 1]] for i, (t, s) in enumerate(zip((6, 5), lengths, strict=True))]
    )
    torch.testing.assert_close(loss, -last.logsumexp(1))
    whole = torch.nn.functional.ctc_loss(log_probs, targets, (6, 5), lengths, reduction="none")
    assert torch.equal(loss, whole)


def test_weights_by_length_and_direction_as_the_layer_has_them():
    v, g = torch.randn(3, 4, 2, dtype=torch.float64), torch.rand(1, 4, 1, dtype=torch.float64)
    expected = torch.stack([g[0, i, 0] * v[:, i] / v[:, i].norm() for i in range(4)], 1)
    torch.testing.assert_close(torch._weight_norm(v, g, 1), expected)
    torch.testing.assert_close(torch.norm_except_dim(v, 1, -1), v.abs().sum())
    layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
    assert torch.equal(torch._weight_norm(layer.weight_v, layer.weight_g), layer.weight)


@pytest.mark.parametrize("name", ["feature_dropout", "alpha_dropout", "feature_alpha_dropout"])
def test_dropouts_without_a_layer_write_in_place_where_they_say_so(name):
    whole, within = getattr(torch, name), getattr(torch, name + "_")
    x = torch.ones(4, 50, 3)
    torch.manual_seed(0)
    expected = whole(x, 0.5, True)
    torch.manual_seed(0)
    assert within(x, 0.5, True) is x and torch.equal(x, expected)
    if name.startswith("feature"):
        assert torch.equal(x, x[:, :, :1].expand(4, 50, 3)) and len(x.unique()) == 2
    assert torch.equal(whole(x, 0.5, False), x)


def test_grids_and_questions_of_overrides_have_their_other_names():
    theta = torch.tensor([[[1.0, 0.5, 0.0], [0.0, 2.0, 0.0]]])
    expected = torch.nn.functional.affine_grid(theta, (1, 1, 2, 3), align_corners=False)
    assert torch.equal(torch.affine_grid_generator(theta, (1, 1, 2, 3), False), expected)
    assert torch.nn.functional.has_torch_function is torch.overrides.has_torch_function
