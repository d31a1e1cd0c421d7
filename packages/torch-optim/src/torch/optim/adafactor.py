"""Adafactor: second moments in the memory of two vectors for each matrix (Shazeer 2018)."""

from __future__ import annotations

import torch

from ._check import not_negative
from ._steps import begun, counted, steps_at
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["Adafactor"]


def _size(t):
    """The root of the mean square: on a device a tensor, for which nobody waits."""
    if t.is_cuda:
        return t.norm().double() / t.numel() ** 0.5
    return float(t.norm()) / t.numel() ** 0.5


def _at_least(least, x):
    return x.clamp(min=least) if isinstance(x, torch.Tensor) else max(least, x)


def _at_most(most, x):
    return x.clamp(max=most) if isinstance(x, torch.Tensor) else min(most, x)


class Adafactor(Optimizer):
    """Algorithms 4 and 5 of the paper: row and column means of ``g^2`` stand for the matrix of second moments.

    ``eps`` is (eps1 for ``g^2``, None for the dtype's; eps2 for the parameters' size); ``d`` clips the update. With
    ``capturable`` the device counts the steps, so that a CUDA graph can replay one.
    """

    _takes_complex = False  # a matrix of parts is not the matrix
    _has_count = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
    ) -> None:
        not_negative(lr=lr, weight_decay=weight_decay)
        if beta2_decay > 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and eps[0] < 0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if eps[1] < 0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if d < 1:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "capturable": capturable,
            },
        )

    def _update(self, p, g, state, group):
        eps1, eps2 = group["eps"]
        eps1 = torch.finfo(p.dtype).eps if eps1 is None else eps1
        if not state:
            state["step"] = begun(steps_at(0), p, group)
            if p.dim() > 1:
                state["row_var"] = g.new_zeros((*p.shape[:-1], 1))
                state["col_var"] = g.new_zeros((*p.shape[:-2], 1, p.shape[-1]))
            else:
                state["variance"] = torch.zeros_like(p)
        t = counted(state)
        one_minus_beta2 = t ** group["beta2_decay"]
        if isinstance(one_minus_beta2, torch.Tensor):
            one_minus_beta2 = one_minus_beta2.to(p.dtype)
        rho = _at_most(float(group["lr"]), 1 / t**0.5)
        alpha = _at_least(eps2, _size(p)) * rho
        if group["weight_decay"]:
            p.mul_(1 - float(group["lr"]) * group["weight_decay"])
        if p.dim() > 1:
            r = state["row_var"].lerp_((g * g).mean(-1, keepdim=True), one_minus_beta2)
            c = state["col_var"].lerp_((g * g).mean(-2, keepdim=True), one_minus_beta2)
            v = (r @ c).div_(r.mean(-2, keepdim=True).clamp_(min=eps1))
        else:
            v = state["variance"].lerp_(g * g, one_minus_beta2).clone()
        u = v.clamp_(min=eps1 * eps1).rsqrt_().mul_(g)
        scale = -alpha / _at_least(1.0, _size(u) / group["d"])
        if isinstance(scale, torch.Tensor):
            p.add_(u.mul_(scale))
        else:
            p.add_(u, alpha=scale)
