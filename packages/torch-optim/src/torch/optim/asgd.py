"""Averaged stochastic gradient descent (Polyak 1992), in the form of Bottou's notes."""

from __future__ import annotations

import torch

from ._check import not_negative
from ._steps import next_step, number, steps_at
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["ASGD"]


class ASGD(Optimizer):
    """SGD with the step ``eta = lr / (1 + lambd lr t)^alpha``, and the mean ``state[p]["ax"]`` of the parameters since ``t0``.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.ASGD([w], lr=0.1, lambd=0.0)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.8000])
    """

    _counts_here = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        not_negative(lr=lr, weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _update(self, p, g, state, group):
        lambd, lr = group["lambd"], float(group["lr"])
        if not state:
            state["step"] = steps_at(0)
            state["eta"] = number(lr)
            state["mu"] = number(1)
            state["ax"] = torch.zeros_like(p)
        t = next_step(state)
        eta, mu = float(state["eta"]), float(state["mu"])
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        p.mul_(1 - lambd * eta).add_(g, alpha=-eta)
        if mu == 1:
            state["ax"].copy_(p)
        else:
            state["ax"].lerp_(p, mu)
        state["eta"] = number(lr / (1 + lambd * lr * t) ** group["alpha"])
        state["mu"] = number(1 / max(1, t - group["t0"]))
