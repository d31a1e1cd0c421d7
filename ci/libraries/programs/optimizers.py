"""torch_optimizer, pytorch_optimizer, lion_pytorch, adabelief: optimizers beside those of torch.optim."""

import io

import lion_pytorch
import pytorch_optimizer
import torch
import torch_optimizer
from common import fill, numbers
from torch import nn

DISTRIBUTIONS = ("torch-optimizer", "pytorch-optimizer", "lion-pytorch")


def _run(kind, **settings):
    net = fill(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), 0.5)
    optimizer = kind(net.parameters(), **settings)
    losses = []

    def loss():
        optimizer.zero_grad()
        value = net(numbers(6, 3)).square().mean()
        value.backward(create_graph="hess" in kind.__name__.lower())
        return value

    for _ in range(5):
        losses.append(float(loss().detach()))
        optimizer.step()
    return losses, list(net.parameters())


def _many(module, names, **settings):
    return {name: _run(getattr(module, name), lr=1e-2, **settings) for name in names}


def first_library():
    return _many(
        torch_optimizer,
        ("AccSGD", "AdaBound", "AdaMod", "AggMo", "DiffGrad", "Lamb", "NovoGrad", "PID", "QHAdam", "QHM"),
    )


def first_library_more():
    return _many(
        torch_optimizer,
        ("RAdam", "Ranger", "RangerQH", "RangerVA", "SGDP", "AdamP", "SGDW", "SWATS", "Yogi", "AdaBelief"),
    )


def shampoo_goes_down():
    losses, weights = _run(torch_optimizer.Shampoo, lr=1e-2)  # by powers of a matrix near a singular one
    return losses[-1] < losses[0], losses[:2]


def lookahead():
    wrapped = lambda p, lr: torch_optimizer.Lookahead(torch_optimizer.Yogi(p, lr=lr), k=2)
    return _run(wrapped, lr=1e-2)


def second_library():
    return _many(pytorch_optimizer, ("AdaBelief", "AdaNorm", "Adan", "Lion", "MADGRAD", "Tiger"))


def soap_goes_down():
    losses, _ = _run(pytorch_optimizer.SOAP, lr=1e-2)  # along eigenvectors of a singular matrix, which are not unique
    return losses[-1] < losses[0]


def lion():
    return _run(lion_pytorch.Lion, lr=1e-2, weight_decay=1e-2)


def state_saved_and_loaded():
    net = fill(nn.Linear(3, 2))
    optimizer = lion_pytorch.Lion(net.parameters(), lr=1e-2)
    net(numbers(4, 3)).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    other = lion_pytorch.Lion(net.parameters(), lr=1.0)
    other.load_state_dict(torch.load(file))
    return other.param_groups[0]["lr"], [s["exp_avg"] for s in other.state.values()]
