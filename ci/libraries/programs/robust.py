"""Attacks, Bayesian layers, conditional random fields, tables and steps of optimizers without schedules."""

import torch
from common import fill, gradients, numbers, train, whole

DISTRIBUTIONS = [
    "torchattacks",
    "torchbnn",
    "pytorch-crf",
    "pytorch-tabnet",
    "schedulefree",
    "prodigyopt",
    "dadaptation",
    "adan-pytorch",
]


def _classifier():
    return fill(
        torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 3))
    )


def attacks():
    import torchattacks

    model = _classifier().eval()
    x, y = torch.sigmoid(numbers(2, 3, 8, 8)), whole(3, 2)
    return [
        torchattacks.FGSM(model, eps=0.03)(x, y),
        torchattacks.PGD(model, eps=0.03, alpha=0.01, steps=3, random_start=False)(x, y),
        torchattacks.MIFGSM(model, eps=0.03, steps=3)(x, y),
    ]


def bayesian_layers():
    import torchbnn

    layer = fill(torchbnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=4, out_features=2))
    layer.freeze()
    value = torchbnn.BKLLoss()(layer)
    value.sum().backward()
    return value, gradients(layer)


def conditional_random_field():
    from torchcrf import CRF

    crf = fill(CRF(4, batch_first=True))
    scores, tags = numbers(2, 5, 4).requires_grad_(), whole(4, 2, 5)
    value = crf(scores, tags)
    value.backward()
    return value, scores.grad, gradients(crf), crf.decode(scores)


def table_network():
    from pytorch_tabnet.tab_network import TabNet

    net = fill(TabNet(5, 2, n_d=4, n_a=4, n_steps=2, virtual_batch_size=8, group_attention_matrix=torch.eye(5)))
    out, loss = net(numbers(8, 5))
    (out.sum() + loss).backward()
    return out, loss, gradients(net)


def _steps(make):
    model = fill(torch.nn.Linear(4, 2))
    x, y = numbers(6, 4), numbers(6, 2)
    return train(model, lambda: torch.nn.functional.mse_loss(model(x), y), make, steps=4)


def schedule_free():
    import schedulefree

    def make(parameters):
        optimizer = schedulefree.AdamWScheduleFree(parameters, lr=0.01, foreach=False)
        optimizer.train()
        return optimizer

    return _steps(make)


def prodigy():
    import prodigyopt

    return _steps(prodigyopt.Prodigy)


def d_adaptation():
    import dadaptation

    return _steps(dadaptation.DAdaptAdam)


def adan():
    from adan_pytorch import Adan

    return _steps(lambda p: Adan(p, lr=0.01))
