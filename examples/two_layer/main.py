"""A network of two layers, written four times: by hand, with gradients from the tape, with nn, and with optim.

    python main.py                 # all four
    python main.py --stage nn      # one of them: tensors, autograd, nn, optim

Each fits ``y = w2 relu(w1 x)`` to random data by gradient descent and ends near the same loss, because each does the
same computation; only who writes the gradients and the updates differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import Tensor, nn, optim

N, IN, HIDDEN, OUT = 64, 1000, 100, 10


def data() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Inputs, targets, and the weights that all four begin with."""
    torch.manual_seed(0)
    return torch.randn(N, IN), torch.randn(N, OUT), torch.randn(IN, HIDDEN), torch.randn(HIDDEN, OUT)


def with_tensors(steps: int, lr: float) -> list[float]:
    """Only tensors: the gradients are written out by the chain rule."""
    x, y, w1, w2 = data()
    losses = []
    for _ in range(steps):
        h = x.mm(w1)
        h_relu = h.clamp(min=0)
        y_pred = h_relu.mm(w2)
        losses.append(float((y_pred - y).pow(2).sum()))

        grad_y_pred = 2.0 * (y_pred - y)
        grad_w2 = h_relu.t().mm(grad_y_pred)
        grad_h = grad_y_pred.mm(w2.t())
        grad_h[h < 0] = 0
        grad_w1 = x.t().mm(grad_h)

        w1 -= lr * grad_w1
        w2 -= lr * grad_w2
    return losses


def with_autograd(steps: int, lr: float) -> list[float]:
    """The tape writes the gradients: only the forward computation is ours."""
    x, y, w1, w2 = data()
    w1.requires_grad_()
    w2.requires_grad_()
    losses = []
    for _ in range(steps):
        loss = (x.mm(w1).clamp(min=0).mm(w2) - y).pow(2).sum()
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for w in (w1, w2):
                assert w.grad is not None
                w -= lr * w.grad
                w.grad = None
    return losses


def model() -> tuple[Tensor, Tensor, nn.Sequential]:
    """The same network as modules, with the same first weights."""
    x, y, w1, w2 = data()
    first, second = nn.Linear(IN, HIDDEN, bias=False), nn.Linear(HIDDEN, OUT, bias=False)
    with torch.no_grad():
        first.weight.copy_(w1.t())
        second.weight.copy_(w2.t())
    return x, y, nn.Sequential(first, nn.ReLU(), second)


def with_nn(steps: int, lr: float) -> list[float]:
    """Modules hold the weights, and a loss function compares."""
    x, y, net = model()
    loss_function = nn.MSELoss(reduction="sum")
    losses = []
    for _ in range(steps):
        loss = loss_function(net(x), y)
        losses.append(loss.item())
        net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in net.parameters():
                assert parameter.grad is not None
                parameter -= lr * parameter.grad
    return losses


def with_optim(steps: int, lr: float) -> list[float]:
    """An optimizer updates the weights."""
    x, y, net = model()
    loss_function = nn.MSELoss(reduction="sum")
    optimizer = optim.SGD(net.parameters(), lr=lr)
    losses = []
    for _ in range(steps):
        loss = loss_function(net(x), y)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


STAGES: dict[str, Callable[[int, float], list[float]]] = {
    "tensors": with_tensors,
    "autograd": with_autograd,
    "nn": with_nn,
    "optim": with_optim,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stage", choices=STAGES, help="run one of the four (default: all)")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--lr", type=float, default=1e-6)
    args = parser.parse_args()
    for name in [args.stage] if args.stage else STAGES:
        losses = STAGES[name](args.steps, args.lr)
        print(f"{name:8}  loss {losses[0]:12.1f} -> {losses[-1]:.6g}")


if __name__ == "__main__":
    main()
