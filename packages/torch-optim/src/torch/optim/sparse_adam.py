"""Adam for sparse gradients: only the rows that occur in the gradient are touched."""

from __future__ import annotations

import math

import torch

from ._check import betas_in_range, not_negative
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam whose moments change only where the gradient has entries ("lazy" Adam).

    >>> table = torch.nn.Embedding(3, 2, sparse=True)
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> before = table.weight.detach().clone()
    >>> table(torch.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> (table.weight != before).any(dim=1)
    tensor([False,  True, False])
    """

    _has_count = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        not_negative(lr=lr)
        if not lr > 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        betas_in_range(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        if any(p.is_sparse for group in self.param_groups for p in group["params"]):
            raise ValueError("SparseAdam requires dense parameter tensors; the gradients are what is sparse")
        if any(p.is_complex() for group in self.param_groups for p in group["params"]):
            raise ValueError("SparseAdam does not support complex parameters; give it torch.view_as_real of them")

    def _check_gradient(self, p, g):
        if not g.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")

    def _update(self, p, g, state, group):
        beta1, beta2 = group["betas"]
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(p)
            state["exp_avg_sq"] = torch.zeros_like(p)
        t = state["step"] = int(state["step"]) + 1
        g = g.coalesce()
        values = g._values()
        if values.numel() == 0:
            return
        at = tuple(g._indices().unbind(0))
        m = state["exp_avg"][at].lerp_(values, 1 - beta1)
        v = state["exp_avg_sq"][at].mul_(beta2).addcmul_(values, values, value=1 - beta2)
        state["exp_avg"][at] = m
        state["exp_avg_sq"][at] = v
        step = float(group["lr"]) * math.sqrt(1 - beta2**t) / (1 - beta1**t)
        p[at] = p[at].addcdiv_(m, v.sqrt().add_(group["eps"]), value=-step)
