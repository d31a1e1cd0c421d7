"""NAdam: Adam with Nesterov's momentum (Dozat 2016)."""

from __future__ import annotations

import torch

from ._check import betas_in_range, not_negative
from ._joined import step_together
from ._steps import add_quotient, begun, counted, held, hold, number, root_plus, steps_at
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["NAdam"]


class NAdam(Optimizer):
    """Adam that looks ahead: the step uses the momentum of the next step; ``mu`` warms up with ``momentum_decay``."""

    _has_count = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        betas_in_range(betas)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def _begin(self, p, state, group):
        if state:
            return
        state["step"] = begun(steps_at(0), p, group)
        state["mu_product"] = begun(number(1), p, group)
        state["exp_avg"] = torch.zeros_like(p)
        state["exp_avg_sq"] = torch.zeros_like(p)

    def _numbers(self, state, group):
        """Count a step; what corrects the second moment, and the factors of the gradient and of the momentum."""
        (beta1, beta2), lr, psi = group["betas"], float(group["lr"]), group["momentum_decay"]
        t = counted(state)
        mu = beta1 * (1 - 0.5 * 0.96 ** (t * psi))
        mu_next = beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * psi))
        product = held(state, "mu_product", t) * mu
        hold(state, "mu_product", product)
        return 1 - beta2**t, -lr * (1 - mu) / (1 - product), -lr * mu_next / (1 - product * mu_next)

    def _step_joined(self, pairs, group):
        beta1, beta2 = group["betas"]
        options = {name: group[name] for name in ("lr", "eps", "weight_decay", "decoupled_weight_decay")}
        step_together(
            self, "nadam", pairs, group, ("exp_avg", "exp_avg_sq"), self._numbers, beta1=beta1, beta2=beta2, **options
        )

    def _update(self, p, g, state, group):
        beta1, beta2 = group["betas"]
        lr, decay = float(group["lr"]), group["weight_decay"]
        self._begin(p, state, group)
        correction, of_gradient, of_momentum = self._numbers(state, group)
        m, v = state["exp_avg"], state["exp_avg_sq"]
        if decay:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * decay)
            else:
                g = g.add(p, alpha=decay)
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        root = root_plus(v.div(correction).sqrt_(), group["eps"])
        add_quotient(p, g, root, of_gradient)
        add_quotient(p, m, root, of_momentum)
