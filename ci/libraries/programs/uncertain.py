"""Layers and posteriors of weights, calibration, and inference by simulation."""

import torch
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss
from blitz.modules import BayesianConv2d, BayesianLinear, BayesianLSTM
from common import fill, numbers, whole
from laplace import Laplace
from sbi.inference import NPE
from torch import nn
from torch_uncertainty.metrics import CalibrationError
from torch_uncertainty.models.classification.lenet import packed_lenet

DISTRIBUTIONS = ("laplace-torch", "blitz-bayesian-pytorch", "bayesian-torch", "torch-uncertainty", "sbi")


def laplace():
    net = fill(nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1)), 0.5)
    rows = torch.utils.data.TensorDataset(numbers(12, 2), numbers(12, 1, seed=1))
    found = []
    for structure in ("full", "kron", "diag"):
        posterior = Laplace(net, "regression", subset_of_weights="all", hessian_structure=structure)
        posterior.fit(torch.utils.data.DataLoader(rows, batch_size=4))
        found += [*posterior(numbers(3, 2, seed=5)), posterior.log_marginal_likelihood()]
    return found


def sampled_weights():
    line, image, row = BayesianLinear(4, 3), BayesianConv2d(1, 2, (3, 3)), BayesianLSTM(3, 4)
    values = line(numbers(2, 4)), image(numbers(1, 1, 6, 6)), row(numbers(2, 5, 3))[0]
    sum(v.sum() for v in values).backward()
    return [v.shape for v in values], line.log_prior is not None, line.weight_sampler.mu.grad.shape


def a_net_becomes_bayesian():
    net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    settings = {"prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.0, "posterior_rho_init": -3.0}
    dnn_to_bnn(net, settings | {"type": "Reparameterization", "moped_enable": False, "moped_delta": 0.5})
    result, divergence = net(numbers(3, 4)), get_kl_loss(net)
    (result.sum() + divergence).backward()
    return result.shape, divergence.shape, type(net[0]).__name__


def calibration():
    error = CalibrationError(task="multiclass", num_classes=3)
    net = fill(packed_lenet(1, 3, num_estimators=2)).eval()
    return net(numbers(2, 1, 28, 28)), error(numbers(8, 3).softmax(1), whole(3, 8))


def inference_by_simulation():
    prior = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    parameters = numbers(60, 2)
    results = parameters + 0.1 * numbers(60, 2, seed=3)
    estimate = NPE(prior, density_estimator="maf", show_progress_bars=False).append_simulations(parameters, results)
    estimate.train(max_num_epochs=2, training_batch_size=20)
    return estimate.build_posterior().sample((5,), x=results[:1], show_progress_bars=False).shape
