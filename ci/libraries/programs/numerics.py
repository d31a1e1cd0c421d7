"""Wavelets, quadrature, minimization, several losses at once, searches, forecasts."""

import numpy as np
import optuna
import torch
from common import fill, gradients, numbers, train, whole
from gluonts.torch.model.deepar.module import DeepARModel
from muon import SingleDeviceMuon
from pytorch_fid.fid_score import calculate_frechet_distance
from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWTForward, DWTInverse, ScatLayer
from torch import nn
from torch_fourier_shift import fourier_shift_image_2d
from torchjd import autojac
from torchjd.aggregation import MGDA, Mean
from torchmin import minimize
from torchquad import Boole, Simpson, Trapezoid

DISTRIBUTIONS = (
    "pytorch-wavelets", "torchquad", "pytorch-minimize", "torchjd", "optuna", "gluonts", "muon-optimizer", "pytorch-fid",
    "torch-fourier-shift",
)  # fmt: skip


def wavelets():
    x = numbers(1, 2, 16, 16).requires_grad_()
    low, high = DWTForward(J=2, wave="db2")(x)
    again = DWTInverse(wave="db2")((low, high))
    again.pow(2).sum().backward()
    parts = DTCWTForward(J=2)(numbers(1, 1, 16, 16))
    return low, high, again, x.grad, parts, DTCWTInverse()(parts), ScatLayer()(numbers(1, 3, 16, 16))


def quadrature():
    domain = {"dim": 2, "N": 625, "integration_domain": [[0, 1], [0, 2]], "backend": "torch"}
    return [
        rule().integrate(lambda x: torch.sin(x[:, 0]) + x[:, 1] ** 2, **domain) for rule in (Simpson, Trapezoid, Boole)
    ]


def minimization():
    def valley(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    found = []
    for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg", "trust-exact", "dogleg"):
        result = minimize(valley, torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64), method=method)
        found += [result.x.round(decimals=3), bool(result.success)]
    return found


def several_losses():
    net = fill(nn.Linear(4, 2))
    y = net(numbers(3, 4))
    autojac.backward([y[:, 0].pow(2).mean(), y[:, 1].abs().mean()])
    found = {n: p.jac for n, p in net.named_parameters()} if hasattr(net.weight, "jac") else gradients(net)
    return found, MGDA()(numbers(2, 5)), Mean()(numbers(2, 5))


def search():
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial):
        rate, net, x = trial.suggest_float("rate", 1e-3, 1e-1, log=True), fill(nn.Linear(3, 1)), numbers(8, 3)
        return train(net, lambda: net(x).pow(2).mean(), lambda p: torch.optim.Adam(p, lr=rate))[0][-1]

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(objective, n_trials=6)
    return study.best_value


def forecasts():
    sizes = {"num_feat_dynamic_real": 1, "num_feat_static_real": 1, "num_feat_static_cat": 1, "cardinality": [2]}
    net = DeepARModel(freq="D", context_length=8, prediction_length=4, hidden_size=8, lags_seq=[1, 2], **sizes)
    past = whole(2, 2, 1), numbers(2, 1), numbers(2, 10, 1), numbers(2, 10).abs(), torch.ones(2, 10)
    return fill(net).eval()(*past, numbers(2, 4, 1), num_parallel_samples=3).shape


def orthogonal_steps():
    net, x = fill(nn.Linear(6, 4, bias=False)), numbers(5, 6)
    return train(net, lambda: net(x).pow(2).mean(), lambda p: SingleDeviceMuon(p, lr=0.02))[0]


def distance_of_distributions():
    rows = np.random.RandomState(0).randn(20, 4)
    spread = np.cov(rows.T)
    return calculate_frechet_distance(rows.mean(0), spread, rows.mean(0) + 1, spread * 2)


def shifted_images():
    return fourier_shift_image_2d(numbers(8, 8), shifts=torch.tensor([1.0, 2.5]))
