"""Adamax (Kingma 2014, section 7.1)."""

from __future__ import annotations

import torch

from ._check import betas_in_range, not_negative
from ._joined import step_together
from ._steps import add_quotient, begun, counted, steps_at
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["Adamax"]


class Adamax(Optimizer):
    """Algorithm 2 of the paper: Adam with the infinity norm in the place of the second moment.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adamax([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    _has_count = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
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

    def _begin(self, p, state, group):
        if state:
            return
        state["step"] = begun(steps_at(0), p, group)
        state["exp_avg"] = torch.zeros_like(p)
        state["exp_inf"] = torch.zeros_like(p)

    def _factor(self, state, group):
        """Count a step, which is the quotient of both states times this."""
        return (-float(group["lr"]) / (1 - group["betas"][0] ** counted(state)),)

    def _step_joined(self, pairs, group):
        beta1, beta2 = group["betas"]
        step_together(
            self, "adamax", pairs, group, ("exp_avg", "exp_inf"), self._factor, beta1=beta1, beta2=beta2, eps=group["eps"],
            weight_decay=group["weight_decay"],
        )  # fmt: skip

    def _update(self, p, g, state, group):
        beta1, beta2 = group["betas"]
        self._begin(p, state, group)
        (factor,) = self._factor(state, group)
        m, u = state["exp_avg"], state["exp_inf"]
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        m.lerp_(g, 1 - beta1)
        least = g.abs().add_(group["eps"])
        if least.requires_grad or u.requires_grad:
            u.copy_(torch.maximum(u.mul(beta2), least))
        else:
            torch.maximum(u.mul_(beta2), least, out=u)
        add_quotient(p, m, u, factor)
