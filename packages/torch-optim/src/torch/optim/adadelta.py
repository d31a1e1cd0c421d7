"""Adadelta (Zeiler 2012)."""

from __future__ import annotations

import torch

from ._check import not_negative
from ._joined import step_together
from ._steps import next_step, steps_at
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Algorithm 1 of the paper: steps in the units of the parameters, with no learning rate to choose (lr scales them).

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adadelta([w], lr=1.0)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w < 1
    tensor([True])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def _begin(self, p, state, group):
        if state:
            return
        state["step"] = steps_at(0)
        state["square_avg"] = torch.zeros_like(p)
        state["acc_delta"] = torch.zeros_like(p)

    def _numbers(self, state, group):
        next_step(state)
        return ()

    def _step_joined(self, pairs, group):
        options = {name: group[name] for name in ("lr", "rho", "eps", "weight_decay")}
        step_together(self, "adadelta", pairs, group, ("square_avg", "acc_delta"), self._numbers, **options)

    def _update(self, p, g, state, group):
        rho, eps = group["rho"], group["eps"]
        self._begin(p, state, group)
        self._numbers(state, group)
        g2, dx2 = state["square_avg"], state["acc_delta"]  # E[g^2], E[dx^2]
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        g2.mul_(rho).addcmul_(g, g, value=1 - rho)  # step 4
        above, below = dx2.add(eps).sqrt_(), g2.add(eps).sqrt_()
        dx = above.div(below).mul(g) if below.requires_grad else above.div_(below).mul_(g)  # step 5
        dx2.mul_(rho).addcmul_(dx, dx, value=1 - rho)  # step 6
        p.add_(dx, alpha=-float(group["lr"]))  # step 7
