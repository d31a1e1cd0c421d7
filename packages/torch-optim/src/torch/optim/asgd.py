"""Averaged stochastic gradient descent (Polyak 1992), in the form of Bottou's notes."""

from __future__ import annotations

import torch

from ._check import not_negative
from ._joined import step_together
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

    def _begin(self, p, state, group):
        if state:
            return
        state["step"] = begun(steps_at(0), p, group)
        state["eta"] = begun(number(float(group["lr"])), p, group)
        state["mu"] = begun(number(1), p, group)
        state["ax"] = torch.zeros_like(p)

    def _numbers(self, state, group):
        """Count a step; its eta and mu, in whose place the state holds the next ones."""
        lambd, lr = group["lambd"], float(group["lr"])
        t = counted(state)
        eta, mu = held(state, "eta", t), held(state, "mu", t)
        if isinstance(t, torch.Tensor):
            eta, mu, later = eta.clone(), mu.clone(), (t - group["t0"]).clamp_(min=1)
        else:
            later = max(1, t - group["t0"])
        hold(state, "eta", lr / (1 + lambd * lr * t) ** group["alpha"])
        hold(state, "mu", 1 / later)
        return eta, mu

    def _step_joined(self, pairs, group):
        options = {name: group[name] for name in ("lambd", "weight_decay")}
        step_together(self, "asgd", pairs, group, ("ax",), self._numbers, **options)

    def _update(self, p, g, state, group):
        lambd = group["lambd"]
        self._begin(p, state, group)
        eta, mu = self._numbers(state, group)
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        if isinstance(eta, torch.Tensor):
            p.mul_(1 - lambd * eta).sub_(g * eta)
            state["ax"].lerp_(p, mu.to(p.dtype))
        else:
            p.mul_(1 - lambd * eta).add_(g, alpha=-eta)
            if mu == 1:
                state["ax"].copy_(p)
            else:
                state["ax"].lerp_(p, mu)
