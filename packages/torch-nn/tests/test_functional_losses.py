"""Losses against their formulas in NumPy, reductions, 2018's spelling, bad input."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(0)
X = rng.normal(size=(5, 4))
Y = rng.normal(size=(5, 4))
CLASSES = np.array([0, 3, 1, 1, 2])


def t(x):
    return torch.tensor(np.asarray(x).tolist(), dtype=torch.float64)


def log_softmax(x, axis=1):
    return x - x.max(axis, keepdims=True) - np.log(np.exp(x - x.max(axis, keepdims=True)).sum(axis, keepdims=True))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def check(loss, expected):
    assert torch.allclose(loss, t(expected), rtol=1e-9, atol=1e-12)


ELEMENTWISE = {
    "l1_loss": (lambda x, y: np.abs(x - y), Y),
    "mse_loss": (lambda x, y: (x - y) ** 2, Y),
    "smooth_l1_loss": (lambda x, y: np.where(abs(x - y) < 1, 0.5 * (x - y) ** 2, abs(x - y) - 0.5), Y),
    "huber_loss": (lambda x, y: np.where(abs(x - y) <= 1, 0.5 * (x - y) ** 2, abs(x - y) - 0.5), Y),
    "soft_margin_loss": (lambda x, y: np.log1p(np.exp(-x * y)), np.sign(Y)),
    "binary_cross_entropy_with_logits": (
        lambda x, y: -(y * np.log(sigmoid(x)) + (1 - y) * np.log(1 - sigmoid(x))),
        sigmoid(Y),
    ),
    "hinge_embedding_loss": (lambda x, y: np.where(y == 1, x, np.maximum(0, 1 - x)), np.sign(Y)),
    "kl_div": (lambda x, y: y * (np.log(y) - x), sigmoid(Y)),
    "poisson_nll_loss": (lambda x, y: np.exp(x) - y * x, np.abs(Y)),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_losses_and_their_reductions(name):
    formula, target = ELEMENTWISE[name]
    loss, want = getattr(F, name), formula(X, target)
    check(loss(t(X), t(target), reduction="none"), want)
    check(loss(t(X), t(target), reduction="sum"), want.sum())
    if name != "kl_div":
        check(loss(t(X), t(target)), want.mean())
    with pytest.raises(ValueError, match="'average' is not a valid value for reduction: use 'none', 'mean' or 'sum'"):
        loss(t(X), t(target), reduction="average")


@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if name != "huber_loss"])
def test_size_average_and_reduce_are_reduction(name):
    formula, target = ELEMENTWISE[name]
    loss, want = getattr(F, name), formula(X, target)
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        check(loss(t(X), t(target), size_average=False), want.sum())
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        check(loss(t(X), t(target), reduce=False), want)


def test_batchmean_is_the_divergence_per_example():
    y = np.exp(log_softmax(Y))
    want = (y * (np.log(y) - log_softmax(X))).sum() / 5
    check(F.kl_div(t(log_softmax(X)), t(y), reduction="batchmean"), want)
    check(F.kl_div(t(log_softmax(X)), t(np.log(y)), reduction="batchmean", log_target=True), want)
    assert F.kl_div(t([0.0]), t([0.0]), reduction="sum").item() == 0.0


def test_nll_loss_with_weights_and_ignored_targets():
    log_p, w = log_softmax(X), np.array([1.0, 2.0, 0.5, 3.0])
    rows = np.arange(5)
    check(F.nll_loss(t(log_p), torch.tensor(CLASSES.tolist())), -log_p[rows, CLASSES].mean())
    weights = w[CLASSES]
    want = -(weights * log_p[rows, CLASSES]).sum() / weights.sum()
    check(F.nll_loss(t(log_p), torch.tensor(CLASSES.tolist()), t(w)), want)
    kept = CLASSES != 1
    want = -log_p[rows, CLASSES][kept].mean()
    check(F.nll_loss(t(log_p), torch.tensor(CLASSES.tolist()), ignore_index=1), want)


def test_nll_loss_of_images():
    log_p = log_softmax(rng.normal(size=(2, 3, 4, 5)))
    y = rng.integers(0, 3, size=(2, 4, 5))
    want = -np.take_along_axis(log_p, y[:, None], 1).mean()
    check(F.nll_loss(t(log_p), torch.tensor(y.tolist())), want)
    check(nn.NLLLoss2d()(t(log_p), torch.tensor(y.tolist())), want)


def test_cross_entropy_takes_classes_and_probabilities():
    log_p = log_softmax(X)
    y = torch.tensor(CLASSES.tolist())
    check(F.cross_entropy(t(X), y), -log_p[np.arange(5), CLASSES].mean())
    p = np.exp(log_softmax(Y))
    check(F.cross_entropy(t(X), t(p)), -(p * log_p).sum(1).mean())
    smooth = 0.9 * np.eye(4)[CLASSES] + 0.1 / 4
    check(F.cross_entropy(t(X), y, label_smoothing=0.1), -(smooth * log_p).sum(1).mean())


def test_cross_entropy_of_zeros_is_log_of_the_number_of_classes():
    assert nn.CrossEntropyLoss()(torch.zeros(3, 5), torch.tensor([1, 0, 4])).item() == pytest.approx(math.log(5))


def test_a_class_outside_the_range_is_an_error():
    with pytest.raises(IndexError):
        F.nll_loss(torch.zeros(1, 3), torch.tensor([3]))


def test_binary_cross_entropy_leads_away_from_what_is_certain_and_wrong():
    p = torch.tensor([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.25], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.0, 0.5, 1.0, 0.0, 0.5, 1.0, 1.0], dtype=torch.float64, requires_grad=True)
    loss = F.binary_cross_entropy(p, y, reduction="none")
    assert loss[:-1].tolist() == [0, 50, 100, 100, 50, 0]
    by_p, by_y = torch.autograd.grad(loss.sum(), (p, y), create_graph=True)
    check(by_p, np.array([0, -0.5e12, -1e12, 1e12, 0.5e12, 0, -4]))  # (p - y) / max(p (1 - p), 1e-12)
    check(by_y, np.array([100] * 3 + [-100] * 3 + [math.log(3)]))
    assert torch.autograd.grad(by_p.sum(), p)[0].tolist() == [0] * 6 + [16]


def test_binary_cross_entropy_of_halves_is_at_rest_where_it_is_certain_and_right():
    p = torch.tensor([0.0, 1.0, 0.5], dtype=torch.float16, requires_grad=True)
    loss = F.binary_cross_entropy(p, p.detach(), reduction="none")
    assert torch.autograd.grad(loss.sum(), p)[0].tolist() == [0, 0, 0]


def test_binary_cross_entropy_bounds_its_logarithms():
    assert F.binary_cross_entropy(t([0.0, 1.0]), t([1.0, 1.0]), reduction="none").tolist() == [100.0, 0.0]
    p = sigmoid(X)
    y = sigmoid(Y)
    check(F.binary_cross_entropy(t(p), t(y)), -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean())
    with pytest.raises(ValueError, match=r"target has shape \(5,\), input has \(5, 4\)"):
        F.binary_cross_entropy(t(p), t(y[:, 0]))


def test_logits_do_not_overflow_and_positive_targets_can_weigh_more():
    x = t([1000.0, -1000.0])
    assert F.binary_cross_entropy_with_logits(x, t([1.0, 0.0]), reduction="none").tolist() == [0.0, 0.0]
    assert F.binary_cross_entropy_with_logits(x, t([0.0, 1.0]), reduction="none").tolist() == [1000.0, 1000.0]
    y, w = (Y > 0).astype(float), np.array([1.0, 2.0, 3.0, 4.0])
    want = -(w * y * np.log(sigmoid(X)) + (1 - y) * np.log(1 - sigmoid(X))).mean()
    check(F.binary_cross_entropy_with_logits(t(X), t(y), pos_weight=t(w)), want)


def test_other_shapes_broadcast_with_a_warning():
    with pytest.warns(UserWarning, match="different to the input size.*Please ensure they have the same size"):
        check(F.mse_loss(t(X), t(Y[:1])), ((X - Y[:1]) ** 2).mean())


def test_margin_losses():
    a, b, y = t([1.0, 2.0]), t([2.0, 0.5]), t([1.0, -1.0])
    check(F.margin_ranking_loss(a, b, y, margin=0.5, reduction="none"), [1.5, 2.0])
    x = t([[0.1, 0.2, 0.4, 0.8]])
    want = sum(max(0, 1 - (0.8 - v)) for v in (0.1, 0.2, 0.4)) / 4
    check(F.multi_margin_loss(x, torch.tensor([3])), want)
    want = sum(max(0, 1 - (0.8 - v)) ** 2 for v in (0.1, 0.2, 0.4)) / 4
    check(F.multi_margin_loss(x, torch.tensor([3]), p=2), want)
    # classes 3 and 0 are in, 1 and 2 are out
    pairs = [1 - (p - q) for p in (0.8, 0.1) for q in (0.2, 0.4)]
    check(F.multilabel_margin_loss(x, torch.tensor([[3, 0, -1, 1]])), sum(max(0, v) for v in pairs) / 4)
    y = (Y > 0).astype(float)
    want = -(y * np.log(sigmoid(X)) + (1 - y) * np.log(1 - sigmoid(X))).mean(1)
    check(F.multilabel_soft_margin_loss(t(X), t(y), reduction="none"), want)
    with pytest.raises(ValueError, match="p must be 1 or 2, got 3"):
        F.multi_margin_loss(x, torch.tensor([3]), p=3)


def test_losses_of_embeddings():
    cos = (X * Y).sum(1) / np.linalg.norm(X, axis=1) / np.linalg.norm(Y, axis=1)
    y = np.array([1.0, -1, 1, -1, 1])
    want = np.where(y == 1, 1 - cos, np.maximum(0, cos - 0.1))
    check(F.cosine_embedding_loss(t(X), t(Y), t(y), margin=0.1, reduction="none"), want)
    near, far = np.linalg.norm(X - Y + 1e-6, axis=1), np.linalg.norm(X - Y[::-1] + 1e-6, axis=1)
    want = np.maximum(0, near - far + 1)
    check(F.triplet_margin_loss(t(X), t(Y), t(Y[::-1]), reduction="none"), want)
    far = np.minimum(far, np.linalg.norm(Y - Y[::-1] + 1e-6, axis=1))
    check(F.triplet_margin_loss(t(X), t(Y), t(Y[::-1]), swap=True), np.maximum(0, near - far + 1).mean())
    with pytest.raises(ValueError, match="margin must be greater than 0, got 0"):
        F.triplet_margin_loss(t(X), t(X), t(X), margin=0)


def test_gaussian_nll_loss():
    var = np.abs(Y) + 0.1
    want = 0.5 * (np.log(var) + (X - Y) ** 2 / var)
    check(F.gaussian_nll_loss(t(X), t(Y), t(var), reduction="none"), want)
    check(F.gaussian_nll_loss(t(X), t(Y), t(var), full=True), want.mean() + 0.5 * math.log(2 * math.pi))
    with pytest.raises(ValueError, match="var has negative entries"):
        F.gaussian_nll_loss(t(X), t(Y), -t(var))
    with pytest.raises(ValueError, match=r"var has shape \(3,\), which does not fit input \(5, 4\)"):
        F.gaussian_nll_loss(t(X), t(Y), t([1.0, 1.0, 1.0]))


def ctc_by_enumeration(p, target, blank=0):
    """The probability of ``target`` as the sum over all paths that collapse to it."""
    import itertools

    total = 0.0
    for path in itertools.product(range(p.shape[1]), repeat=p.shape[0]):
        collapsed = [k for k, _ in itertools.groupby(path) if k != blank]
        if collapsed == list(target):
            total += np.prod([p[i, k] for i, k in enumerate(path)])
    return -np.log(total)


def test_ctc_loss_sums_over_all_alignments():
    p = np.exp(log_softmax(rng.normal(size=(5, 2, 3)), 2))
    targets = [[1, 2, 2], [2]]
    want = [ctc_by_enumeration(p[:5, 0], targets[0]), ctc_by_enumeration(p[:4, 1], targets[1])]
    padded = torch.tensor([[1, 2, 2], [2, 0, 0]])
    loss = F.ctc_loss(t(np.log(p)), padded, (5, 4), (3, 1), reduction="none")
    check(loss, want)
    joined = torch.tensor([1, 2, 2, 2])
    check(F.ctc_loss(t(np.log(p)), joined, torch.tensor([5, 4]), torch.tensor([3, 1])), (want[0] / 3 + want[1]) / 2)


def test_ctc_loss_of_a_target_that_does_not_fit():
    log_p = torch.zeros(1, 1, 3, dtype=torch.float64).log_softmax(2).requires_grad_()
    assert F.ctc_loss(log_p, torch.tensor([[1, 2]]), (1,), (2,)).item() == math.inf
    loss = F.ctc_loss(log_p, torch.tensor([[1, 2]]), (1,), (2,), zero_infinity=True)
    loss.backward()
    assert loss.item() == 0.0
    assert (log_p.grad == 0).all()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_where_no_path_fits_the_gradient_is_nan_within_the_input_and_elsewhere_as_without(reduction):
    log_p = t(log_softmax(rng.normal(size=(4, 3, 3)), 2)).requires_grad_()
    targets = torch.tensor([[1, 1, 1, 1], [1, 2, 0, 0], [1, 2, 1, 2]])
    inputs, lengths = torch.tensor([4, 4, 2]), torch.tensor([4, 2, 4])
    loss = F.ctc_loss(log_p, targets, inputs, lengths, reduction=reduction)
    (got,) = torch.autograd.grad(loss.sum(), log_p)
    fitting = F.ctc_loss(log_p[:, 1:2], targets[1:2], inputs[1:2], lengths[1:2], reduction="sum")
    fitting = fitting / (3 * 2) if reduction == "mean" else fitting
    (alone,) = torch.autograd.grad(fitting, log_p)
    check(got[:, 1], alone[:, 1].numpy())
    assert got[:, 0].isnan().all() and got[:2, 2].isnan().all() and (got[2:, 2] == 0).all()


@pytest.mark.parametrize(
    ("layer", "arguments"),
    [
        (nn.L1Loss(), (X, Y)),
        (nn.MSELoss(reduction="sum"), (X, Y)),
        (nn.SmoothL1Loss(beta=0.5), (X, Y)),
        (nn.HuberLoss(delta=0.5), (X, Y)),
        (nn.KLDivLoss(reduction="batchmean"), (X, sigmoid(Y))),
        (nn.BCELoss(), (sigmoid(X), sigmoid(Y))),
        (nn.BCEWithLogitsLoss(pos_weight=torch.ones(4)), (X, sigmoid(Y))),
        (nn.PoissonNLLLoss(full=True), (X, np.abs(Y))),
        (nn.GaussianNLLLoss(), (X, Y, np.abs(Y))),
        (nn.SoftMarginLoss(), (X, np.sign(Y))),
        (nn.HingeEmbeddingLoss(0.5), (X, np.sign(Y))),
        (nn.MarginRankingLoss(0.5), (X, Y, np.sign(Y))),
        (nn.MultiLabelSoftMarginLoss(), (X, sigmoid(Y))),
        (nn.CosineEmbeddingLoss(0.1), (X, Y, np.sign(Y[:, 0]))),
        (nn.TripletMarginLoss(), (X, Y, Y[::-1])),
        (nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(1)), (X, Y, Y[::-1])),
    ],
)
def test_layers_give_a_scalar_with_a_gradient(layer, arguments):
    first, *rest = (t(a) for a in arguments)
    loss = layer(first.requires_grad_(), *rest)
    loss.backward()
    assert loss.shape == ()
    assert torch.isfinite(first.grad).all()


def test_weights_of_losses_are_buffers():
    assert list(nn.CrossEntropyLoss(torch.ones(3)).state_dict()) == ["weight"]
    assert list(nn.CrossEntropyLoss().state_dict()) == []


def test_a_weight_of_two_dims_for_multi_margin_loss_is_a_value_error():
    x, y = torch.ones(5, 4), torch.zeros(5, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"weight has shape \(5, 4\), expected \(4,\)"):
        F.multi_margin_loss(x, y, weight=x)
    with pytest.raises(RuntimeError, match=r"weight has shape \(5,\), expected \(4,\)"):
        F.multi_margin_loss(x, y, weight=x[:, 0])


def test_linear_cross_entropy_says_what_does_not_fit():
    x, w, p = torch.ones(2, 3), torch.ones(4, 3), torch.full((2, 4), 0.25)
    with pytest.raises(RuntimeError, match=r"linear_weight must be \(C, ..., in\), got shape \(3,\)"):
        F.linear_cross_entropy(x, torch.ones(3), torch.tensor([0, 1]))
    with pytest.raises(RuntimeError, match="ignore_index=0 cannot be specified when target contains probabilities"):
        F.linear_cross_entropy(x, w, p, ignore_index=0)


@pytest.mark.parametrize("wrong", [2.0, 1.0000001, -1e-9, -1.0, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("reduction", ["mean", "none", "sum"])
def test_the_cross_entropy_of_no_probability_is_refused(wrong, reduction):
    input, target = torch.tensor([0.5, wrong, 0.25]), torch.tensor([0.0, 1.0, 1.0])
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1, got"):
        F.binary_cross_entropy(input, target, reduction=reduction)
    edges = torch.tensor([0.0, 1.0])
    assert F.binary_cross_entropy(edges, edges, reduction="sum").item() == 0.0
    assert F.binary_cross_entropy(torch.empty(0), torch.empty(0), reduction="none").shape == (0,)
    assert F.binary_cross_entropy(torch.empty(2, device="meta"), torch.empty(2, device="meta")).is_meta


def test_the_mean_over_no_sample_is_not_a_number():
    for target in (torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64)):
        assert torch.nn.functional.cross_entropy(torch.zeros(0, 3), target).isnan()
        assert torch.nn.functional.cross_entropy(torch.zeros(0, 3), target, reduction="sum") == 0


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_a_mask_is_a_target_of_zeros_and_ones(loss):
    x, mask = torch.tensor([0.25, 0.5, 3.0], requires_grad=True), torch.tensor([True, False, True])
    found = loss(x, mask)
    torch.testing.assert_close(found, loss(x, mask.float()))
    found.backward()
    assert x.grad.shape == (3,)


def test_classes_and_probabilities_that_do_not_fit_are_refused_as_in_pytorch():
    scores, classes = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    for error, message, call in [
        (RuntimeError, "ignore_index=1 is not", lambda: F.cross_entropy(scores, scores.softmax(1), ignore_index=1)),
        (
            RuntimeError,
            "probabilities, which are",
            lambda: F.cross_entropy(scores, torch.ones(4, 3, dtype=torch.int64)),
        ),
        (RuntimeError, "label_smoothing must", lambda: F.cross_entropy(scores, classes, label_smoothing=1.5)),
        (
            RuntimeError,
            "without its dim",
            lambda: F.nll_loss(torch.randn(2, 3, 4), torch.zeros(2, 5, dtype=torch.int64)),
        ),
        (RuntimeError, "without its dim", lambda: F.nll_loss(scores, classes[:, None])),
        (ValueError, "a batch of 4 and target one of 2", lambda: F.cross_entropy(scores, classes[:2])),
        (ValueError, "must have a dim of classes", lambda: F.nll_loss(torch.tensor(1.0), torch.tensor(0))),
    ]:
        with pytest.raises(error, match=message):
            call()


def padded_ctc(pad, lengths=(3, 1)):
    log_probs = torch.linspace(-1, 1, 40).reshape(5, 2, 4).log_softmax(2)
    targets = torch.tensor([[1, 2, 3], [1, pad, pad]])
    return F.ctc_loss(log_probs, targets, torch.tensor([5, 5]), torch.tensor(lengths), reduction="none")


@pytest.mark.parametrize("pad", [-1, 99])
def test_ctc_loss_does_not_read_targets_beyond_their_length(pad):
    assert torch.equal(padded_ctc(pad), padded_ctc(0))


@pytest.mark.parametrize("lengths", [torch.tensor([4.0, 2.5]), (4, 2.5)])
def test_ctc_loss_refuses_parts_of_steps(lengths):
    with pytest.raises(TypeError, match=r"^ctc_loss: input_lengths must be whole numbers, got \[4.0, 2.5\]$"):
        F.ctc_loss(torch.zeros(4, 2, 3), torch.ones(2, 1, dtype=torch.long), lengths, (1, 1))


def test_ctc_loss_names_targets_that_are_no_classes():
    with pytest.raises(RuntimeError, match=r"ctc_loss: targets must be class numbers from 0 to 3, .* got .*99"):
        padded_ctc(99, (3, 2))


def test_kl_div_names_both_shapes():
    with pytest.raises(RuntimeError, match=r"kl_div: input \(3,\) and target \(4,\) must have one shape"):
        F.kl_div(torch.ones(3), torch.ones(4))


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (torch.ones(2), r"cross_entropy: target must hold class numbers .* convert it with .long\(\)"),
        (torch.eye(2, 3).long(), r"cross_entropy: .* convert it with .to\(torch.float32\), .*target.argmax\(1\)"),
        (
            torch.zeros(2, 1).long(),
            r"cross_entropy: target .* input is \(2, 3\), target \(2, 1\); use target.squeeze\(1\)",
        ),
    ],
)
def test_cross_entropy_says_how_to_mend_its_target(target, text):
    with pytest.raises(RuntimeError, match=text):
        F.cross_entropy(torch.ones(2, 3), target)


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
@pytest.mark.filterwarnings("ignore:.*target size")
def test_losses_name_shapes_that_do_not_fit(loss):
    with pytest.raises(
        RuntimeError, match=rf"{loss.__name__}: target has shape \(3,\) and input \(2, 4\); they must be equal"
    ):
        loss(torch.ones(2, 4), torch.ones(3))


def test_a_misspelt_function_is_told_with_the_one_that_was_meant():
    with pytest.raises(AttributeError, match="no attribute 'sofmax'. Did you mean: 'softmax'?"):
        F.sofmax


def test_a_weighted_huber_loss_is_a_mean_over_elements():
    x, y, weight = torch.tensor([0.0, 0.0, 0.0]), torch.tensor([0.5, 1.0, 3.0]), torch.tensor([1.0, 2.0, 4.0])
    each = [1.0 * 0.5**2 / 2, 2.0 * 0.5, 4.0 * 2.5]
    torch.testing.assert_close(F.huber_loss(x, y, "none", weight=weight), torch.tensor(each))
    torch.testing.assert_close(F.huber_loss(x, y, "sum", weight=weight), torch.tensor(sum(each)))
    torch.testing.assert_close(F.huber_loss(x, y, weight=weight), torch.tensor(sum(each) / 3))
    with pytest.raises(ValueError, match=r"huber_loss: weight has shape \(1,\), input and target \(3,\)"):
        F.huber_loss(x, y, weight=torch.ones(1))


@pytest.mark.parametrize(
    "name, number, argument",
    [
        ("kl_div", 1, "target"), ("multilabel_margin_loss", 1, "target"), ("binary_cross_entropy_with_logits", 1, "target"),
        ("triplet_margin_loss", 2, "negative"), ("cosine_embedding_loss", 2, "target"), ("grid_sample", 1, "grid"),
        ("one_hot", 0, "tensor"), ("embedding", 1, "weight"),
    ],
)  # fmt: skip
def test_functions_of_python_name_the_argument_that_is_no_tensor(name, number, argument):
    with pytest.raises(TypeError, match=rf"{name}\(\): argument '{argument}' must be Tensor, not int"):
        getattr(torch.nn.functional, name)(*[torch.ones(2, 3)] * number, 3)
    if hasattr(torch, name) and name != "embedding":
        with pytest.raises(TypeError, match=rf"{name}\(\): argument '{argument}' must be Tensor, not int"):
            getattr(torch, name)(*[torch.ones(2, 3)] * number, 3)
