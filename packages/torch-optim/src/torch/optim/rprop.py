"""Resilient backpropagation (Riedmiller 1993)."""

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


__all__ = ["Rprop"]


class Rprop(Optimizer):
    """Steps by the sign of the gradient; each parameter's step grows while the sign stays and shrinks when it turns.

    ``etas`` are the factors for shrinking and growing, ``step_sizes`` the least and greatest step.  For full batches.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Rprop([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _begin(self, p, state, group):
        if state:
            return
        state["step"] = steps_at(0)
        state["prev"] = torch.zeros_like(p)
        state["step_size"] = torch.full_like(p, float(group["lr"]))

    def _numbers(self, state, group):
        next_step(state)
        return ()

    def _step_joined(self, pairs, group):
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        step_together(
            self,
            "rprop",
            pairs,
            group,
            ("prev", "step_size"),
            self._numbers,
            shrink=shrink,
            grow=grow,
            least=least,
            most=most,
        )

    def _update(self, p, g, state, group):
        shrink, grow = group["etas"]
        self._begin(p, state, group)
        self._numbers(state, group)
        delta = state["step_size"]
        turn = (g * state["prev"]).sign()
        factor = torch.where(turn > 0, torch.full_like(g, grow), torch.where(turn < 0, shrink, torch.ones_like(g)))
        delta.mul_(factor).clamp_(*group["step_sizes"])
        g = torch.where(turn < 0, torch.zeros_like(g), g)  # after a turn: no step, and no memory of this gradient
        p.addcmul_(g.sign(), delta, value=-1)
        state["prev"].copy_(g)
