"""botorch: Bayesian optimization."""

import torch
from botorch.acquisition import ExpectedImprovement, LogExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.test_functions import Branin, Hartmann
from botorch.utils.transforms import normalize, standardize
from common import numbers
from gpytorch.mlls import ExactMarginalLogLikelihood

DISTRIBUTIONS = ("botorch",)
TOLERANCE = 1e-3


def _model():
    x = numbers(8, 2, dtype=torch.float64).sigmoid()
    return SingleTaskGP(x, standardize(Branin()(x * 10).unsqueeze(-1)))


def functions():
    x = numbers(4, 2, dtype=torch.float64).sigmoid() * 10
    return (
        Branin()(x),
        Hartmann()(numbers(3, 6, dtype=torch.float64).sigmoid()),
        normalize(x, torch.stack([x.min(0)[0], x.max(0)[0]])),
    )


def posterior():
    found = _model().posterior(numbers(3, 2, seed=4, dtype=torch.float64).sigmoid())
    return found.mean, found.variance


def acquisitions():
    model, x = _model(), numbers(3, 1, 2, seed=4, dtype=torch.float64).sigmoid().requires_grad_()
    values = [
        ExpectedImprovement(model, 0.1)(x),
        LogExpectedImprovement(model, 0.1)(x),
        UpperConfidenceBound(model, 2.0)(x),
    ]
    sum(v.sum() for v in values).backward()
    return values, x.grad


def fit():
    model = _model()
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return list(model.parameters())


def best_point():
    from botorch.optim import optimize_acqf

    acquisition = UpperConfidenceBound(_model(), 2.0)
    start = numbers(3, 1, 2, seed=2, dtype=torch.float64).sigmoid()
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    return optimize_acqf(acquisition, bounds, 1, 3, batch_initial_conditions=start)
