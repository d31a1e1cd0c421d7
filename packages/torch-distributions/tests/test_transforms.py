"""Transforms: inverses, log determinants against the Jacobian that autograd computes, shapes, caches, equality."""

import math

import pytest
import torch
import torch.distributions as D
from torch.distributions import constraints, transforms

F64 = torch.float64
REAL = [-2.5, -0.3, 0.0, 0.7, 3.0]


def reals(*shape):
    torch.manual_seed(0)
    return torch.randn(shape, dtype=F64)


def positives(*shape):
    return reals(*shape).exp()


def tensor(values):
    return torch.tensor(values, dtype=F64)


#: name: (transform, a function that makes inputs of a batch shape)
TRANSFORMS = {
    "exp": (D.ExpTransform(), reals),
    "exp backwards": (D.ExpTransform().inv, positives),
    "sigmoid": (D.SigmoidTransform(), reals),
    "softplus": (D.SoftplusTransform(), reals),
    "tanh": (D.TanhTransform(), reals),
    "power": (D.PowerTransform(tensor(2.5)), positives),
    "power below zero": (D.PowerTransform(-0.5), positives),
    "affine": (D.AffineTransform(1.0, -2.0), reals),
    "affine of tensors": (D.AffineTransform(tensor([1.0, 2.0, 3.0]), tensor([0.5, -1.0, 2.0])), lambda *s: reals(*s, 3)),
    "affine of vectors": (D.AffineTransform(0.5, tensor([0.5, -1.0, 2.0]), event_dim=1), lambda *s: reals(*s, 3)),
    "cdf": (D.CumulativeDistributionTransform(D.Normal(tensor(0.3), tensor(2.0))), reals),
    "stick breaking": (D.StickBreakingTransform(), lambda *s: reals(*s, 3)),
    "correlations": (D.CorrCholeskyTransform(), lambda *s: reals(*s, 6)),
    "composed": (D.ComposeTransform([D.AffineTransform(1.0, 0.5), D.TanhTransform()]), reals),
    "composed of vectors": (D.ComposeTransform([D.TanhTransform(), D.StickBreakingTransform()]), lambda *s: reals(*s, 3)),
    "numbers after vectors": (D.ComposeTransform([D.StickBreakingTransform(), D.ExpTransform()]), lambda *s: reals(*s, 2)),
    "independent": (D.IndependentTransform(D.TanhTransform(), 2), lambda *s: reals(*s, 2, 3)),
    "reshaped": (D.ReshapeTransform((2, 3), (6,)), lambda *s: reals(*s, 2, 3)),
    "side by side": (
        D.CatTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0), D.identity_transform], dim=-1, lengths=[1, 2, 1]),
        lambda *s: reals(*s, 4),
    ),
    "stacked": (D.StackTransform([D.ExpTransform(), D.TanhTransform()], dim=-1), lambda *s: reals(*s, 2)),
    "identity": (D.identity_transform, reals),
}  # fmt: skip
each = pytest.mark.parametrize("transform, inputs", TRANSFORMS.values(), ids=TRANSFORMS)


@each
@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_the_inverse_gives_the_input_back(transform, inputs, batch):
    x = inputs(*batch)
    y = transform(x)
    assert transform.domain.check(x).all() and transform.codomain.check(y).all()
    assert torch.allclose(transform.inv(y), x, rtol=1e-8, atol=1e-9)
    assert torch.allclose(transform(transform.inv(y)), y, rtol=1e-10, atol=1e-12)
    assert transform.forward_shape(x.shape) == y.shape and transform.inverse_shape(y.shape) == x.shape
    assert transform.inv.forward_shape(y.shape) == x.shape
    assert transform.bijective and transform.inv.bijective


def independent_entries(transform, y):
    """The entries of an output that determine it, flat: all but the last share, the triangle below the diagonal."""
    if isinstance(transform, transforms.CorrCholeskyTransform):
        return D.utils.tril_matrix_to_vec(y, -1)
    if transform.codomain is constraints.simplex or transform is TRANSFORMS["composed of vectors"][0]:
        return y[..., :-1].reshape(-1)
    return y.reshape(-1)


# numbers after vectors: what shares are sent to is a curved surface; the test of compositions has it
@pytest.mark.parametrize(
    "transform, inputs",
    [pytest.param(*row, id=name) for name, row in TRANSFORMS.items() if name != "numbers after vectors"],
)
def test_the_log_determinant_is_that_of_the_jacobian(transform, inputs):
    batch = () if transform.domain.event_dim else (5,)
    if transform in (TRANSFORMS[n][0] for n in ("side by side", "stacked", "affine of tensors")):
        batch = ()
    x = inputs(*batch)
    slope = transform.log_abs_det_jacobian(x, transform(x))
    jacobian = torch.autograd.functional.jacobian(lambda t: independent_entries(transform, transform(t)), x)
    jacobian = jacobian.reshape(jacobian.shape[0], -1)
    expected = torch.linalg.slogdet(jacobian).logabsdet
    assert torch.allclose(slope.sum(), expected, rtol=1e-8, atol=1e-9)
    back = transform.inv.log_abs_det_jacobian(transform(x), x)
    assert torch.allclose(back, -slope)


@each
def test_log_determinants_have_one_number_for_each_event(transform, inputs):
    x = inputs(4)
    y = transform(x)
    slope = transform.log_abs_det_jacobian(x, y)
    if transform not in (TRANSFORMS[n][0] for n in ("side by side", "stacked")):
        assert slope.shape == x.shape[: x.dim() - transform.domain.event_dim]
    assert torch.allclose(slope[1], transform.log_abs_det_jacobian(x[1], y[1]))


def test_log_determinants_of_compositions_add_up():
    stick, exp = D.StickBreakingTransform(), D.ExpTransform()
    x = reals(5, 2)
    y = stick(x)
    both = D.ComposeTransform([stick, exp]).log_abs_det_jacobian(x, exp(y))
    assert torch.allclose(both, stick.log_abs_det_jacobian(x, y) + exp.log_abs_det_jacobian(y, exp(y)).sum(-1))


@pytest.mark.parametrize("name", ["exp", "sigmoid", "softplus", "tanh", "power", "power below zero", "affine", "cdf"])
def test_the_sign_is_that_of_the_slope(name):
    transform, inputs = TRANSFORMS[name]
    x = inputs(7).requires_grad_()
    transform(x).sum().backward()
    assert (x.grad.sign() == transform.sign).all()


def test_right_inverses_of_maps_that_are_not_one_to_one():
    y = positives(4)
    assert torch.equal(D.AbsTransform()(D.AbsTransform().inv(y)), y)
    shares = torch.softmax(reals(4, 3), -1)
    assert torch.allclose(D.SoftmaxTransform()(D.SoftmaxTransform().inv(shares)), shares)
    factor = D.LowerCholeskyTransform()(reals(4, 3, 3))
    assert constraints.lower_cholesky.check(factor).all()
    assert torch.allclose(D.LowerCholeskyTransform()(D.LowerCholeskyTransform().inv(factor)), factor)
    matrix = D.PositiveDefiniteTransform()(reals(4, 3, 3))
    assert constraints.positive_definite.check(matrix).all()
    assert torch.allclose(D.PositiveDefiniteTransform()(D.PositiveDefiniteTransform().inv(matrix)), matrix)
    for transform in (
        D.AbsTransform(),
        D.SoftmaxTransform(),
        D.LowerCholeskyTransform(),
        D.PositiveDefiniteTransform(),
    ):
        assert not transform.bijective
        with pytest.raises(NotImplementedError, match=f"{type(transform).__name__}.log_abs_det_jacobian"):
            transform.log_abs_det_jacobian(y, y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_far_from_zero_nothing_overflows(dtype):
    x = torch.tensor([-1e3, -60.0, 60.0, 1e3], dtype=dtype)
    for transform in (D.SigmoidTransform(), D.TanhTransform(), D.SoftplusTransform()):
        y = transform(x)
        assert y.isfinite().all() and transform.log_abs_det_jacobian(x, y).isfinite().all()
    assert D.SigmoidTransform()(x).gt(0).all() and D.SigmoidTransform()(x).lt(1).all()
    y = D.StickBreakingTransform()(x)
    assert y.min() == 0 and D.StickBreakingTransform().log_abs_det_jacobian(x, y).isfinite()
    wide = torch.tensor([[-80.0, 80.0, 0.0], [80.0, -80.0, 3.0]], dtype=dtype)
    y = D.StickBreakingTransform()(wide)
    assert torch.allclose(y.sum(-1), torch.ones(2, dtype=dtype)) and y.isfinite().all()
    assert D.StickBreakingTransform().inv(y).isfinite().all()


def test_shares_far_apart_come_back():
    x = tensor([[-30.0, 2.0, 5.0], [5.0, -20.0, 1.0]])
    transform = D.StickBreakingTransform()
    assert torch.allclose(transform.inv(transform(x)), x, rtol=1e-9)


def test_a_cache_gives_the_very_input_back():
    x = reals(3)
    for transform in (
        D.ExpTransform(cache_size=1),
        D.AffineTransform(1.0, 2.0).with_cache(),
        D.PowerTransform(2.0).with_cache(),
    ):
        y = transform(x.abs())
        assert transform(x.abs()) is not y
        same = x.abs()
        y = transform(same)
        assert transform(same) is y and transform.inv(y) is same
    assert D.ExpTransform().with_cache(0)._cache_size == 0
    composed = D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, 1.0)]).with_cache()
    assert composed.inv(composed(x)) is x
    with pytest.raises(ValueError, match="cache_size must be 0 or 1, got 2"):
        D.ExpTransform(cache_size=2)


def test_the_inverse_of_the_inverse_is_the_transform():
    for transform, _ in TRANSFORMS.values():
        inverse = transform.inv
        assert inverse.inv is transform and transform.inv is inverse


def test_transforms_of_equal_parameters_are_equal():
    assert D.ExpTransform() == D.ExpTransform() and D.ExpTransform() != D.TanhTransform()
    assert D.AffineTransform(1.0, tensor([1.0, 2.0])) == D.AffineTransform(1.0, tensor([1.0, 2.0]))
    assert D.AffineTransform(1.0, 2.0) != D.AffineTransform(1.0, 3.0)
    assert D.PowerTransform(2.0) == D.PowerTransform(tensor(2.0)) and D.PowerTransform(2.0) != D.PowerTransform(3.0)
    assert D.ComposeTransform([D.ExpTransform()]) == D.ComposeTransform([D.ExpTransform()])
    assert D.ExpTransform().inv == D.ExpTransform().inv and D.ExpTransform().inv != D.ExpTransform()
    assert D.ReshapeTransform((2,), (2, 1)) == D.ReshapeTransform((2,), (2, 1))


def test_event_dims_of_compositions():
    transform = D.ComposeTransform([D.ExpTransform(), D.StickBreakingTransform()])
    assert transform.domain.event_dim == transform.codomain.event_dim == 1
    corr = D.ComposeTransform([D.CorrCholeskyTransform(), D.ExpTransform()])
    assert corr.domain.event_dim == 1 and corr.codomain.event_dim == 2
    with pytest.raises(ValueError, match="domain.event_dim"):
        corr.event_dim


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: D.ReshapeTransform((2, 3), (5,)), ValueError, r"\(2, 3\) and out_shape \(5,\)"),
        (lambda: D.ReshapeTransform((2, 3), (6,))(reals(3, 2)), ValueError, r"last dims \(2, 3\), got shape \(3, 2\)"),
        (lambda: D.CorrCholeskyTransform().forward_shape((2,)), ValueError, "2 numbers do not fill"),
        (lambda: D.CorrCholeskyTransform()(reals(2)), ValueError, "2 entries do not fill"),
        (lambda: D.CatTransform([D.ExpTransform()], lengths=[1, 2]), AssertionError, "1 transforms need as many lengths"),
        (lambda: D.CatTransform([D.ExpTransform()], lengths=[2])(reals(3)), AssertionError, "size 2 in dim 0"),
        (lambda: D.StackTransform([D.ExpTransform()])(reals(3)), AssertionError, "size 1 in dim 0"),
        (lambda: D.StackTransform([1.0]), AssertionError, "expected transforms, got 1.0"),
        (lambda: D.StickBreakingTransform().forward_shape(()), ValueError, "at least 1 dim"),
        (lambda: D.IndependentTransform(D.ExpTransform(), 2)(reals(3)), ValueError, "at least 2 dims"),
        (lambda: D.AbsTransform().sign, NotImplementedError, "AbsTransform.sign"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_triangles_and_vectors():
    utils = D.utils
    for n in (1, 2, 4):
        for diag in range(-n + 1, n):
            matrix = torch.arange(1.0, n * n + 1).view(n, n).tril(diag)
            vec = utils.tril_matrix_to_vec(matrix, diag)
            assert vec.numel() == torch.ones(n, n).tril(diag).sum()
            if diag <= 0:
                assert torch.equal(utils.vec_to_tril_matrix(vec, diag), matrix)
    assert utils.vec_to_tril_matrix(torch.ones(2, 0), -1).tolist() == [[[0.0]], [[0.0]]]
    assert utils.vec_to_tril_matrix(torch.ones(0), -2).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match="diag must be from -2 to 1"):
        utils.tril_matrix_to_vec(torch.ones(2, 2), 2)
    with pytest.raises(ValueError, match="2 entries do not fill"):
        utils.vec_to_tril_matrix(torch.ones(2))


def test_a_correlation_matrix_of_one_row_takes_no_numbers():
    transform = D.transforms.CorrCholeskyTransform()
    nothing = torch.ones(3, 0, dtype=F64)
    y = transform(nothing)
    assert y.tolist() == [[[1.0]]] * 3
    assert transform.inv(y).shape == (3, 0)
    assert transform.log_abs_det_jacobian(nothing, y).tolist() == [0.0] * 3


def test_a_transformed_distribution_has_the_density_of_the_change_of_variables():
    base = D.Normal(torch.zeros(4, 3, dtype=F64), torch.ones(3, dtype=F64))
    d = D.TransformedDistribution(base, [D.AffineTransform(0.5, 2.0), D.StickBreakingTransform()])
    assert d.batch_shape == (4,) and d.event_shape == (4,)
    y = d.sample((2,))
    x = (D.StickBreakingTransform().inv(y) - 0.5) / 2
    inner = base.log_prob(x).sum(-1) - 3 * math.log(2)
    assert torch.allclose(d.log_prob(y), inner - D.StickBreakingTransform().log_abs_det_jacobian(2 * x + 0.5, y))
    again = D.TransformedDistribution(base, D.ComposeTransform(d.transforms))
    assert torch.allclose(again.log_prob(y), d.log_prob(y))
    empty = D.TransformedDistribution(base, [])
    assert torch.equal(empty.log_prob(x), base.log_prob(x)) and empty.support is base.support


def test_decreasing_transforms_turn_distribution_functions_around():
    d = D.TransformedDistribution(D.Exponential(tensor(2.0)), D.AffineTransform(0.0, tensor([-1.0, 1.0])))
    x = tensor([-0.3, 0.3])
    assert torch.allclose(d.cdf(x), torch.stack([(-0.6 * torch.ones((), dtype=F64)).exp(), 1 - tensor(-0.6).exp()]))
    assert torch.allclose(d.icdf(d.cdf(x)), x)


def test_parameters_of_transforms_widen_the_batch():
    d = D.TransformedDistribution(D.Normal(0.0, 1.0), D.AffineTransform(torch.zeros(3), 1.0))
    assert d.batch_shape == (3,) and d.sample((2,)).shape == (2, 3)
    with pytest.raises(ValueError, match="at least 1, but got"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform())
    with pytest.raises(ValueError, match="transforms must be a Transform or a list"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), [torch.exp])
