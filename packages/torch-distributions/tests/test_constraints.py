"""Constraints: what they let pass, how they print, and the transforms onto them."""

import math

import pytest
import torch
import torch.distributions as D
from torch.distributions import constraints as c
from torch.distributions.constraint_registry import ConstraintRegistry

nan, inf = math.nan, math.inf
EYE = [[1.0, 0.0], [0.0, 1.0]]

#: constraint: (values inside, values outside)
VALUES = [
    (c.boolean, [0.0, 1.0], [0.5, -1.0, 2.0, nan]),
    (c.real, [0.0, -inf, inf, 1e30], [nan]),
    (c.positive, [1e-30, inf], [0.0, -1.0, nan]),
    (c.nonnegative, [0.0, 3.0], [-1e-30, nan]),
    (c.greater_than(2.0), [2.5], [2.0, nan]),
    (c.greater_than_eq(2.0), [2.0], [1.9, nan]),
    (c.less_than(2.0), [1.9, -inf], [2.0, nan]),
    (c.unit_interval, [0.0, 0.5, 1.0], [-0.1, 1.1, nan]),
    (c.interval(-1.0, 2.0), [-1.0, 2.0], [2.1, nan]),
    (c.half_open_interval(-1.0, 2.0), [-1.0, 1.9], [2.0, -1.1, nan]),
    (c.nonnegative_integer, [0.0, 5.0], [-1.0, 0.5, nan, inf]),
    (c.positive_integer, [1.0, 5.0], [0.0, 1.5, nan]),
    (c.integer_interval(-2, 3), [-2.0, 3.0], [-3.0, 2.5, 4.0, nan]),
    (c.real_vector, [[0.0, 1.0]], [[0.0, nan]]),
    (c.simplex, [[0.2, 0.8], [1.0, 0.0]], [[0.2, 0.7], [-0.2, 1.2], [nan, 1.0]]),
    (c.one_hot, [[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [nan, 1.0]]),
    (c.multinomial(3), [[1.0, 2.0], [0.0, 0.0]], [[2.0, 2.0], [-1.0, 2.0]]),
    (c.square, [EYE], []),
    (c.symmetric, [EYE, [[0.0, 2.0], [2.0, 0.0]]], [[[1.0, 2.0], [0.0, 1.0]]]),
    (c.positive_definite, [EYE], [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]),
    (c.positive_semidefinite, [EYE, [[0.0, 0.0], [0.0, 1.0]]], [[[1.0, 2.0], [2.0, 1.0]]]),
    (c.lower_triangular, [EYE, [[0.0, 0.0], [3.0, -1.0]]], [[[1.0, 1.0], [0.0, 1.0]]]),
    (c.lower_cholesky, [EYE, [[2.0, 0.0], [3.0, 1.0]]], [[[2.0, 0.0], [3.0, 0.0]], [[1.0, 1.0], [0.0, 1.0]]]),
    (c.corr_cholesky, [EYE, [[1.0, 0.0], [0.6, 0.8]]], [[[1.0, 0.0], [0.6, 0.7]], [[1.0, 0.0], [0.6, -0.8]]]),
    (c.independent(c.positive, 1), [[1.0, 2.0]], [[1.0, 0.0]]),
    (c.cat([c.positive, c.real], -1, [2, 1]), [], []),
    (c.MixtureSameFamilyConstraint(c.interval(torch.tensor([0.0, -1.0]), torch.tensor([2.0, 1.0]))), [0.5], [1.5, nan]),
]  # fmt: skip


@pytest.mark.parametrize(
    "constraint, inside, outside", VALUES, ids=lambda v: repr(v) if isinstance(v, c.Constraint) else ""
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_inside_and_what_is_not(constraint, inside, outside, dtype):
    for values, expected in ((inside, True), (outside, False)):
        if values:
            t = torch.tensor(values, dtype=dtype)
            found = constraint.check(t)
            assert found.dtype == torch.bool and found.shape == t.shape[: t.dim() - constraint.event_dim]
            assert (found == expected).all(), (values, found)
            assert constraint.check(t[0]).item() == expected


def test_matrices_that_are_not_square():
    for constraint in (c.square, c.symmetric, c.positive_definite, c.positive_semidefinite):
        assert not constraint.check(torch.ones(4, 2, 3)).any()


def test_several_constraints_along_a_dim():
    both = c.cat([c.positive, c.real], dim=-1, lengths=[2, 1])
    assert both.check(torch.tensor([[1.0, 2.0, -3.0], [1.0, -2.0, -3.0]])).tolist() == [
        [True, True, True],
        [True, False, True],
    ]
    stacked = c.stack([c.positive, c.unit_interval], dim=-1)
    assert stacked.check(torch.tensor([[2.0, 2.0], [-1.0, 0.5]])).tolist() == [[True, False], [False, True]]
    assert both.event_dim == 0 and not both.is_discrete and c.stack([c.real, c.boolean]).is_discrete
    with pytest.raises(AssertionError, match="there is no dim 3"):
        c.cat([c.real], dim=3).check(torch.ones(2))
    with pytest.raises(AssertionError, match=r"lengths \[4\] exceed dim 0"):
        c.cat([c.real], lengths=[4]).check(torch.ones(2))
    with pytest.raises(AssertionError, match="size 1 in dim 0"):
        c.stack([c.real]).check(torch.ones(2))
    with pytest.raises(AssertionError, match="expected constraints, got 1"):
        c.stack([1])
    with pytest.raises(AssertionError, match="2 constraints need as many lengths"):
        c.cat([c.real, c.real], lengths=[1])


def test_dependent_constraints_know_what_they_were_told():
    assert c.is_dependent(c.dependent) and not c.is_dependent(c.real)
    told = c.dependent(is_discrete=True, event_dim=1)
    assert told.is_discrete and told.event_dim == 1
    for unknown in ("is_discrete", "event_dim"):
        with pytest.raises(NotImplementedError, match=unknown):
            getattr(c.dependent, unknown)
    with pytest.raises(ValueError, match="Cannot determine validity of dependent constraint"):
        c.dependent.check(torch.ones(1))
    assert D.Uniform.support.event_dim == 0 and not D.Uniform.support.is_discrete
    assert c.is_dependent(D.Binomial.support) and D.Binomial.support.is_discrete


def test_constraints_print_their_bounds():
    assert repr(c.positive) == "GreaterThan(lower_bound=0.0)"
    assert repr(c.interval(0, 2)) == "Interval(lower_bound=0, upper_bound=2)"
    assert repr(c.less_than(3)) == "LessThan(upper_bound=3)"
    assert repr(c.real_vector) == "IndependentConstraint(Real(), 1)"
    assert repr(c.simplex) == "Simplex()" and repr(c.nonnegative_integer) == "IntegerGreaterThan(lower_bound=0)"
    assert "dim=-1" in repr(c.stack([c.real], -1))


def test_independent_constraints_need_their_dims():
    with pytest.raises(ValueError, match=r"at least 2 dims, got shape \(3,\)"):
        c.independent(c.real, 2).check(torch.ones(3))
    for arguments in ((1, 1), (c.real, -1)):
        with pytest.raises(AssertionError, match="independent: expected"):
            c.independent(*arguments)


# --- transforms onto them

ONTO = [
    (c.real, 3), (c.positive, 3), (c.nonnegative, 3), (c.greater_than(2.0), 3), (c.greater_than_eq(-1.0), 3), (c.less_than(-1.5), 3),
    (c.unit_interval, 3), (c.interval(-1.0, 2.0), 3), (c.half_open_interval(-1.0, 2.0), 3),
    (c.interval(torch.zeros(3), torch.tensor([1.0, 2.0, 3.0])), 3), (c.simplex, 3), (c.corr_cholesky, 3), (c.real_vector, 3),
    (c.independent(c.positive, 1), 3), (c.cat([c.positive, c.unit_interval], -1, [1, 2]), 3), (c.stack([c.positive, c.real, c.less_than(1.0)], -1), 3),
]  # fmt: skip


@pytest.mark.parametrize("constraint, n", ONTO, ids=lambda v: repr(v)[:50])
@pytest.mark.parametrize("registry", [D.biject_to, D.transform_to], ids=["biject_to", "transform_to"])
def test_transforms_lead_onto_the_constraint(constraint, n, registry):
    torch.manual_seed(0)
    transform = registry(constraint)
    if registry is D.biject_to:
        assert transform.bijective
    x = torch.randn(7, n)
    y = transform(x)
    assert constraint.check(y).all()
    assert torch.allclose(transform(transform.inv(y)), y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("constraint", [c.lower_cholesky, c.positive_definite, c.positive_semidefinite], ids=repr)
def test_matrices_can_be_optimised_without_constraint(constraint):
    torch.manual_seed(0)
    assert constraint.check(D.transform_to(constraint)(torch.randn(7, 3, 3))).all()
    with pytest.raises(NotImplementedError, match="Cannot transform _.* constraints"):
        D.biject_to(constraint)


def test_parameters_of_every_family_have_a_transform():
    torch.manual_seed(0)
    for name in (
        "Normal",
        "Gamma",
        "Beta",
        "Bernoulli",
        "StudentT",
        "Dirichlet",
        "Categorical",
        "MultivariateNormal",
        "VonMises",
        "LKJCholesky",
    ):
        for constraint in getattr(D, name).arg_constraints.values():
            x = torch.randn((3,) * (constraint.event_dim + 1))
            assert constraint.check(D.transform_to(constraint)(x)).all(), (name, constraint)


def test_a_registry_takes_classes_and_instances():
    registry = ConstraintRegistry()

    @registry.register(c.real)
    def onto_real(constraint):
        return D.identity_transform

    registry.register(type(c.positive), lambda constraint: D.ExpTransform())
    assert registry(c.real) is D.identity_transform and registry(c.greater_than(0.0)) == D.ExpTransform()
    with pytest.raises(TypeError, match="subclass or an instance of Constraint, got 3"):
        registry.register(3, lambda constraint: None)
    with pytest.raises(NotImplementedError, match="Cannot transform _Boolean constraints"):
        registry(c.boolean)
