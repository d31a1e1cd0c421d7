"""Adamax (Kingma 2014, section 7.1)."""

import torch

from ._check import betas_in_range, not_negative
from .optimizer import Optimizer

__all__ = ["Adamax"]


class Adamax(Optimizer):
    """Algorithm 2 of the paper: Adam with the infinity norm in the place of the second moment."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        betas_in_range(betas)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _update(self, p, g, state, group):
        beta1, beta2 = group["betas"]
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(p)
            state["exp_inf"] = torch.zeros_like(p)
        t = state["step"] = int(state["step"]) + 1
        m, u = state["exp_avg"], state["exp_inf"]
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        m.lerp_(g, 1 - beta1)
        torch.maximum(u.mul_(beta2), g.abs().add_(group["eps"]), out=u)
        p.addcdiv_(m, u, value=-float(group["lr"]) / (1 - beta1**t))
