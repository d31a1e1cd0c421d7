"""gpytorch and linear_operator: Gaussian processes."""

import gpytorch
import linear_operator
import torch
from common import numbers, reload
from gpytorch import kernels, likelihoods, means

DISTRIBUTIONS = ("gpytorch", "linear-operator")


class _Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean, self.kernel = means.ConstantMean(), kernel

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def _model(kernel=None):
    x = torch.linspace(0, 1, 12)
    likelihood = likelihoods.GaussianLikelihood()
    return _Exact(x, torch.sin(6 * x), likelihood, kernel or kernels.ScaleKernel(kernels.RBFKernel())), likelihood, x


def likelihood_and_gradient():
    model, likelihood, x = _model()
    loss = -gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(x), model.train_targets)
    loss.backward()
    return loss, {name: p.grad for name, p in model.named_parameters()}


def training():
    model, likelihood, x = _model()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.1), []
    for _ in range(5):
        optimizer.zero_grad()
        loss = -mll(model(x), model.train_targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def prediction():
    model, likelihood, _ = _model()
    model.eval(), likelihood.eval()
    with torch.no_grad():
        found = likelihood(model(torch.linspace(0.1, 1.2, 5)))
        return found.mean, found.variance, found.confidence_region()


def kernels_of_many_kinds():
    x = numbers(5, 2)
    kinds = (
        kernels.MaternKernel(nu=2.5),
        kernels.PeriodicKernel(),
        kernels.LinearKernel(),
        kernels.RQKernel(),
        kernels.PolynomialKernel(2),
    )
    with torch.no_grad():
        return [kind(x).to_dense() for kind in kinds]


def variational():
    class Approximate(gpytorch.models.ApproximateGP):
        def __init__(self, points):
            found = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
            super().__init__(gpytorch.variational.VariationalStrategy(self, points, found))
            self.mean, self.kernel = means.ConstantMean(), kernels.ScaleKernel(kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.linspace(0, 1, 10)
    model, likelihood = Approximate(x[::3, None].clone()), likelihoods.GaussianLikelihood()
    model.variational_strategy.variational_params_initialized.fill_(1)
    elbo = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=10)
    loss = -elbo(model(x[:, None]), torch.sin(6 * x))
    loss.backward()
    return loss, model.variational_strategy.inducing_points.grad


def lazy_matrices():
    a = linear_operator.to_linear_operator(numbers(4, 4) @ numbers(4, 4).T + 4 * torch.eye(4))
    return (
        a.solve(numbers(4)),
        a.logdet(),
        a.cholesky().to_dense(),
        (a + linear_operator.operators.DiagLinearOperator(torch.ones(4))).to_dense(),
    )


def saved_and_loaded():
    model, _, _ = _model()
    model.kernel.base_kernel.lengthscale = 0.3
    other = reload(model, _model()[0])
    return other.kernel.base_kernel.lengthscale
