"""Averaged stochastic gradient descent (Polyak 1992), in the form of Bottou's notes."""

from __future__ import annotations

import torch

from ._check import not_negative
from ._steps import begun, counted, held, hold, number, steps_at
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

    _has_count = True

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
            state["step"] = begun(steps_at(0), p, group)
            state["eta"] = begun(number(lr), p, group)
            state["mu"] = begun(number(1), p, group)
            state["ax"] = torch.zeros_like(p)
        t = counted(state)
        eta, mu = held(state, "eta", t), held(state, "mu", t)
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        if isinstance(t, torch.Tensor):
            p.mul_(1 - lambd * eta).sub_(g * eta)
            state["ax"].lerp_(p, mu.to(p.dtype))
            later = (t - group["t0"]).clamp_(min=1)
        else:
            p.mul_(1 - lambd * eta).add_(g, alpha=-eta)
            if mu == 1:
                state["ax"].copy_(p)
            else:
                state["ax"].lerp_(p, mu)
            later = max(1, t - group["t0"])
        hold(state, "eta", lr / (1 + lambd * lr * t) ** group["alpha"])
        hold(state, "mu", 1 / later)
