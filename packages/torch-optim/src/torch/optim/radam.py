"""RAdam: Adam that waits until its second moment means something (Liu 2019)."""

from __future__ import annotations

import torch

from ._check import betas_in_range, not_negative
from ._joined import step_together
from ._steps import begun, counted, root_plus, steps_at
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["RAdam"]


def _rectifier(rho, rho_inf):
    return ((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)) ** 0.5


class RAdam(Optimizer):
    """Algorithm 2 of the paper: only momentum while the variance of the adaptive step is unbounded, then Adam, rectified."""

    _has_count = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def _begin(self, p, state, group):
        if state:
            return
        state["step"] = begun(steps_at(0), p, group)
        state["exp_avg"] = torch.zeros_like(p)
        state["exp_avg_sq"] = torch.zeros_like(p)

    def _numbers(self, state, group):
        """Count a step; its factor, and 1 where the root of the second moment divides, 0 where its variance is unbounded."""
        beta1, beta2 = group["betas"]
        t = counted(state)
        alpha = float(group["lr"]) / (1 - beta1**t)
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * t * beta2**t / (1 - beta2**t)
        # the paper says 4; 5 keeps r away from the pole
        if isinstance(t, torch.Tensor):  # both ways, of which the device chooses
            r = torch.where(rho > 5, _rectifier(rho, rho_inf) * (1 - beta2**t) ** 0.5, 1.0)
            return -alpha * r, (rho > 5).double()
        if rho > 5:
            return -alpha * _rectifier(rho, rho_inf) * (1 - beta2**t) ** 0.5, 1.0
        return -alpha, 0.0

    def _step_joined(self, pairs, group):
        beta1, beta2 = group["betas"]
        options = {name: group[name] for name in ("lr", "eps", "weight_decay", "decoupled_weight_decay")}
        step_together(
            self, "radam", pairs, group, ("exp_avg", "exp_avg_sq"), self._numbers, beta1=beta1, beta2=beta2, **options
        )

    def _update(self, p, g, state, group):
        beta1, beta2 = group["betas"]
        lr, decay = float(group["lr"]), group["weight_decay"]
        self._begin(p, state, group)
        factor, is_rectified = self._numbers(state, group)
        m, v = state["exp_avg"], state["exp_avg_sq"]
        if decay:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * decay)
            else:
                g = g.add(p, alpha=decay)
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        if isinstance(factor, torch.Tensor):
            root = root_plus(v.sqrt(), group["eps"])
            p.add_(torch.where(is_rectified > 0, m.div(root), m).mul_(factor))
        elif is_rectified:
            p.addcdiv_(m, root_plus(v.sqrt(), group["eps"]), value=factor)
        else:
            p.add_(m, alpha=factor)
