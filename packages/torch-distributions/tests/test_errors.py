"""Bad parameters, values outside a support, shapes that do not fit: refused, and named."""

import subprocess
import sys

import pytest
import torch
import torch.distributions as D
from families import EVERY, FAMILIES

#: for each constraint, by how it prints: a value outside
OUTSIDE = {
    "GreaterThan(lower_bound=0.0)": -1.0,
    "GreaterThanEq(lower_bound=0.0)": -1.0,
    "GreaterThanEq(lower_bound=0)": -1.0,
    "Interval(lower_bound=0.0, upper_bound=1.0)": 1.5,
    "HalfOpenInterval(lower_bound=0.0, upper_bound=1.0)": 1.0,
    "Real()": torch.nan,
    "IntegerGreaterThan(lower_bound=0)": 1.5,
    "IndependentConstraint(Real(), 1)": torch.nan,
    "IndependentConstraint(Real(), 2)": torch.nan,
    "IndependentConstraint(GreaterThan(lower_bound=0.0), 1)": -1.0,
    "Simplex()": -1.0,
    "PositiveDefinite()": -100.0,
    "LowerCholesky()": 5.0,  # in the last column of the first row
}


def parameters():
    found = []
    for i, family in enumerate(FAMILIES):
        constraints = family.make().arg_constraints
        for name, constraint in constraints.items():
            if name in family.arguments and repr(constraint) in OUTSIDE:
                found.append(pytest.param(family, name, constraint, id=f"{family}-{i}-{name}"))
    return found


@pytest.mark.parametrize("family, name, constraint", parameters())
def test_a_parameter_outside_its_constraint_is_named_with_its_place(family, name, constraint):
    tensors = family.tensors()
    bad = tensors[name].clone()
    place = (0,) * (bad.dim() - 1) + (-1,)
    bad[place] = OUTSIDE[repr(constraint)]
    with pytest.raises(ValueError) as caught:
        family.of(**{**tensors, name: bad})
    text = str(caught.value)
    assert (f"parameter {name} " in text and "satisfy the constraint" in text) or "expected to be greater" in text
    if constraint.event_dim == 0:
        assert f"at index {(bad.shape[0] - 1,)}" in text
    if family.cls is not D.Wishart:
        assert f"of distribution {family.cls.__name__} " in text
    factorized = repr(constraint) == "PositiveDefinite()" or family.cls is D.LowRankMultivariateNormal
    if not (factorized and bad.dim() > 1):  # no Cholesky factor, checked or not
        family.of(**{**tensors, name: bad}, validate_args=False)


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
def test_values_that_do_not_fit_are_refused(make):
    d = make()
    if isinstance(d, D.Independent):
        d = d.base_dist
    x = d.sample()
    name = type(d).__name__
    with pytest.raises(ValueError, match="must be a Tensor, got 1.0"):
        if isinstance(d, D.Gamma):
            d.cdf(1.0)
        elif isinstance(d, D.MixtureSameFamily):
            d._validate_sample(1.0)
        else:
            d.log_prob(1.0)
    if d.event_shape:
        with pytest.raises(ValueError, match=f"{name}: the last dims of value must be the event shape"):
            d.log_prob(torch.cat([x, x], -1))
    if d.batch_shape:
        wrong = torch.ones(7, *d.batch_shape[1:], *d.event_shape, dtype=x.dtype)
        with pytest.raises(ValueError, match=f"{name}: value of shape .* does not broadcast with batch shape"):
            d.log_prob(wrong)


@pytest.mark.parametrize("cls", [D.Gamma, D.Chi2])
def test_some_take_numbers_as_values(cls):
    d = cls(*torch.tensor([[1.5, 2.0], [0.5, 3.0]][: 2 if cls is D.Gamma else 1], dtype=torch.float64))
    assert torch.equal(d.log_prob(0.7), d.log_prob(torch.tensor(0.7, dtype=torch.float64)))
    assert torch.equal(d.log_prob([0.7, 1]), d.log_prob(torch.tensor([0.7, 1.0], dtype=torch.float64)))
    with pytest.raises(ValueError, match="within the support"):
        d.log_prob(-1.0)


SUPPORTS = [
    (D.Bernoulli(torch.tensor([0.5, 0.5])), [1.0, 0.5]),
    (D.Beta(torch.ones(2), 1.0), [0.5, 1.5]),
    (D.Binomial(3, torch.tensor([0.5, 0.5])), [1.0, 4.0]),
    (D.Categorical(torch.ones(2, 3)), [1.0, 3.0]),
    (D.Exponential(torch.ones(2)), [1.0, -1.0]),
    (D.Gamma(torch.ones(2), 1.0), [1.0, -1.0]),
    (D.GeneralizedPareto(torch.zeros(2), 1.0, -0.5), [1.0, 2.5]),
    (D.Geometric(torch.tensor([0.5, 0.5])), [1.0, -1.0]),
    (D.LogNormal(torch.zeros(2), 1.0), [1.0, -1.0]),
    (D.Normal(torch.zeros(2), 1.0), [1.0, torch.nan]),
    (D.Pareto(torch.ones(2), 1.0), [1.0, 0.5]),
    (D.Poisson(torch.ones(2)), [1.0, 1.5]),
    (D.Uniform(torch.zeros(2), 1.0), [0.5, 1.5]),
    (D.Weibull(torch.ones(2), 1.0), [0.5, 0.0]),
]


@pytest.mark.parametrize("d, values", SUPPORTS, ids=lambda v: type(v).__name__ if isinstance(v, D.Distribution) else "")
def test_a_value_outside_the_support_is_named_with_its_place(d, values):
    with pytest.raises(ValueError, match="within the support .* of the distribution") as caught:
        d.log_prob(torch.tensor(values))
    shown = str(values[1]).removesuffix(".0")
    assert f"found invalid values: {shown}" in str(caught.value) and "at index (1,)" in str(caught.value)


def test_probabilities_are_shown_as_they_were_given():
    for family in (D.Categorical, D.OneHotCategorical, lambda probs: D.Multinomial(2, probs)):
        with pytest.raises(
            ValueError, match=r"Simplex\(\), but found invalid values: tensor\(\[-1.,  3.\]\) at index \(1,\)"
        ):
            family(torch.tensor([[1.0, 2.0], [-1.0, 3.0]]))
    with pytest.raises(ValueError, match="parameter logits .* OneHotCategorical"):
        D.OneHotCategorical(logits=torch.tensor([torch.nan, 1.0]))


def test_vectors_and_matrices_outside_the_support():
    with pytest.raises(ValueError, match=r"Simplex.*tensor\(\[0.5000, 0.6000\]\) at index \(1,\)"):
        D.Dirichlet(torch.ones(2)).log_prob(torch.tensor([[0.5, 0.5], [0.5, 0.6]]))
    with pytest.raises(ValueError, match=r"OneHot\(\)"):
        D.OneHotCategorical(torch.ones(2)).log_prob(torch.ones(2))
    with pytest.raises(ValueError, match="PositiveDefinite"):
        D.Wishart(torch.tensor(3.0), torch.eye(2)).log_prob(-torch.eye(2))
    with pytest.raises(ValueError, match="CorrCholesky"):
        D.LKJCholesky(2).log_prob(2 * torch.eye(2))
    with pytest.raises(ValueError, match=r"\(and 1 more of 3\)"):
        D.Exponential(torch.ones(3)).log_prob(torch.tensor([1.0, -1.0, -2.0]))


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: D.Bernoulli(), ValueError, "Bernoulli: Either `probs` or `logits` must be specified, but not both: got none"),
        (lambda: D.Categorical(torch.ones(2), torch.ones(2)), ValueError, "not both: got probs and logits"),
        (lambda: D.Categorical(torch.tensor(1.0)), ValueError, "`probs` parameter must be at least one-dimensional"),
        (lambda: D.Dirichlet(torch.tensor(1.0)), ValueError, "at least one-dimensional"),
        (lambda: D.Geometric(torch.tensor(0.0)), ValueError, "probs .* to be positive"),
        (lambda: D.Uniform(1.0, 1.0), ValueError, "parameter low .* LessThan"),
        (lambda: D.LKJCholesky(1), ValueError, "Found dim=1"),
        (lambda: D.Multinomial(torch.tensor([1, 2]), torch.ones(2)), NotImplementedError, "inhomogeneous total_count"),
        (lambda: D.Multinomial(-1, torch.ones(2)), ValueError, "must not be negative, got -1"),
        (lambda: D.Binomial(torch.tensor([1, 2]), torch.tensor(0.5)).entropy(), NotImplementedError, "Inhomogeneous total count"),
        (lambda: D.Binomial(torch.tensor([1, 2]), torch.tensor(0.5)).enumerate_support(), NotImplementedError, "Inhomogeneous"),
        (lambda: D.MultivariateNormal(torch.tensor(0.0), torch.eye(1)), ValueError, "loc must be at least one-dimensional"),
        (lambda: D.MultivariateNormal(torch.zeros(2)), ValueError, "MultivariateNormal: Either `covariance_matrix` or"),
        (lambda: D.MultivariateNormal(torch.zeros(2), torch.ones(2)), ValueError, "at least two-dimensional"),
        (lambda: D.MultivariateNormal(torch.zeros(2), torch.eye(3)), ValueError, r"shape \(3, 3\) does not fit loc of shape \(2,\)"),
        (lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), torch.ones(2)), ValueError, "2 x m"),
        (lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(3)), ValueError, r"shape \(2,\), got \(3,\)"),
        (
            lambda: D.LowRankMultivariateNormal(torch.zeros(4, 2), torch.ones(3, 2, 1), torch.ones(2)),
            ValueError,
            r"Incompatible batch shapes: loc \(4, 2\), cov_factor \(3, 2, 1\)",
        ),
        (lambda: D.Wishart(1.0, torch.eye(3)), ValueError, "expected to be greater than ndim - 1 = 2"),
        (lambda: D.Normal(torch.zeros(2), torch.ones(3)), RuntimeError, "broadcast"),
        (lambda: D.Normal("0", 1.0), ValueError, "loc must be a tensor or a number, got str"),
        (lambda: D.Independent(D.Normal(torch.zeros(2), 1.0), 2), ValueError, "actual 2 vs 1"),
        (lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)), ValueError, "must be a Categorical"),
        (lambda: D.MixtureSameFamily(D.Categorical(torch.ones(2)), 1), ValueError, "must be a Distribution, got 1"),
        (
            lambda: D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(3), 1.0)),
            ValueError,
            "chooses among 2 components, there are 3",
        ),
        (
            lambda: D.MixtureSameFamily(D.Categorical(torch.ones(4, 3)), D.Normal(torch.zeros(2, 3), 1.0)),
            ValueError,
            r"batch shape \(4,\) of the mixture distribution does not fit \(2,\)",
        ),
        (lambda: D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(0.0, 1.0)), ValueError, "needs a batch dim"),
        (lambda: D.Distribution.set_default_validate_args(3), ValueError, "expected True or False, got 3"),
        (lambda: D.Independent(D.Bernoulli(torch.ones(2)), 1).enumerate_support(), NotImplementedError, "cartesian product"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_what_a_family_lacks_is_named():
    d = D.Distribution(validate_args=False)
    for name in ("mean", "mode", "variance", "stddev", "support", "arg_constraints"):
        with pytest.raises(NotImplementedError, match=r"Distribution\.(variance|\w+)"):
            getattr(d, name)
    for name, arguments in (
        ("sample", ()), ("rsample", ()), ("log_prob", (1,)), ("cdf", (1,)), ("icdf", (1,)), ("entropy", ()), ("perplexity", ()),
        ("enumerate_support", ()), ("expand", ((2,),)),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match=r"Distribution\.\w+"):
            getattr(d, name)(*arguments)


def test_a_subclass_with_other_parameters_needs_an_expand_of_its_own():
    class Centred(D.Normal):
        def __init__(self, scale):
            super().__init__(0.0, scale)

    with pytest.raises(NotImplementedError, match="Centred has an __init__ of its own"):
        Centred(1.0).expand((2,))

    class Named(D.Normal):
        pass

    assert type(Named(0.0, 1.0).expand((2,))) is Named


def test_checks_can_be_switched_off():
    class Loose(D.Normal):
        _validate_args = False

    assert Loose(0.0, -1.0).scale == -1
    assert D.Normal(0.0, -1.0, validate_args=False).log_prob(torch.tensor(0.0)).isnan()
    before = D.Distribution._validate_args
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Normal(0.0, -1.0).scale == -1
        with pytest.raises(ValueError, match="parameter scale"):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(before)
    code = "import torch; print(torch.distributions.Normal(0., -1.).scale.item())"
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "-1.0"


def test_families_without_constraints_warn_once_asked_to_check():
    class Bare(D.Distribution):
        def log_prob(self, value):
            self._validate_sample(value)
            return value

    with pytest.warns(UserWarning, match="Bare does not define `arg_constraints`"):
        d = Bare()
    with pytest.warns(UserWarning, match="Bare does not define `support`"):
        d.log_prob(torch.ones(()))


def test_sample_n_is_deprecated():
    with pytest.warns(FutureWarning, match="sample_n"):
        assert D.Normal(torch.zeros(2), 1.0).sample_n(3).shape == (3, 2)


def test_importing_the_package_loads_no_family():
    code = (
        "import sys, torch.distributions as D\n"
        "print(len([m for m in sys.modules if m.startswith('torch.distributions.')]))\n"
        "D.Normal; print('torch.distributions.normal' in sys.modules, 'torch.distributions.wishart' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["0", "True", "False"], done.stderr
    with pytest.raises(AttributeError, match="torch.distributions' has no attribute 'Nomal'"):
        D.Nomal
    assert set(D.__all__) <= set(dir(D))


def test_libraries_find_the_families_in_the_dictionary_of_the_package():
    code = (
        "import torch\n"
        "D = torch.distributions\n"
        "found = [n for n, v in D.__dict__.items() if isinstance(v, type) and issubclass(v, D.Distribution)]\n"
        "print(len(found), len(vars(D)) == len(D.__dict__), 'Wishart' in found)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["45", "True", "True"], done.stdout + done.stderr
