"""RMSprop (Hinton 2012, lecture 6e of his course), and its centred form (Graves 2013)."""

from __future__ import annotations

import torch

from ._check import not_negative
from ._joined import step_together
from ._steps import next_step, root_plus, steps_at
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """``p <- p - lr g / (sqrt(n) + eps)`` with ``n`` the running mean of ``g^2``.

    ``centered`` subtracts the square of the running mean of ``g`` from ``n`` (Graves 2013, equation 40); ``momentum``
    lets the steps add up.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.RMSprop([w], lr=0.01)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def _begin(self, p, state, group):
        if state:
            return
        state["step"] = steps_at(0)
        state["square_avg"] = torch.zeros_like(p)
        if group["momentum"] > 0:
            state["momentum_buffer"] = torch.zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = torch.zeros_like(p)

    def _numbers(self, state, group):
        next_step(state)
        return ()

    def _step_joined(self, pairs, group):
        names = (
            "square_avg",
            "grad_avg" if group["centered"] else None,
            "momentum_buffer" if group["momentum"] > 0 else None,
        )
        options = {name: group[name] for name in ("lr", "alpha", "eps", "weight_decay", "momentum", "centered")}
        step_together(self, "rmsprop", pairs, group, names, self._numbers, **options)

    def _update(self, p, g, state, group):
        alpha, lr = group["alpha"], float(group["lr"])
        self._begin(p, state, group)
        self._numbers(state, group)
        n = state["square_avg"]
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        n.mul_(alpha).addcmul_(g, g, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(g, 1 - alpha)
            n = n.addcmul(mean, mean, value=-1)
        root = root_plus(n.sqrt(), group["eps"])
        if group["momentum"] > 0:
            b = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(g, root)
            p.add_(b, alpha=-lr)
        else:
            p.addcdiv_(g, root, value=-lr)
