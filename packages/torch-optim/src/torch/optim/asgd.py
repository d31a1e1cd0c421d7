"""Averaged stochastic gradient descent (Polyak 1992), in the form of Bottou's notes."""

import torch

from ._check import not_negative
from .optimizer import Optimizer

__all__ = ["ASGD"]


class ASGD(Optimizer):
    """SGD with the step ``eta = lr / (1 + lambd lr t)^alpha``, and the mean ``state[p]["ax"]`` of the parameters since ``t0``."""

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
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
            state["step"] = 0
            state["eta"] = lr
            state["mu"] = 1.0
            state["ax"] = torch.zeros_like(p)
        t = state["step"] = int(state["step"]) + 1
        eta, mu = float(state["eta"]), float(state["mu"])
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        p.mul_(1 - lambd * eta).add_(g, alpha=-eta)
        if mu == 1:
            state["ax"].copy_(p)
        else:
            state["ax"].lerp_(p, mu)
        state["eta"] = lr / (1 + lambd * lr * t) ** group["alpha"]
        state["mu"] = 1 / max(1, t - group["t0"])
