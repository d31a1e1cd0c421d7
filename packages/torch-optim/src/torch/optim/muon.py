"""Muon: momentum whose matrices are made orthogonal (Jordan 2024)."""

from __future__ import annotations

import torch

from ._check import not_negative
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .optimizer import ParamsT


__all__ = ["Muon"]


class Muon(Optimizer):
    """For the matrices of hidden layers: the momentum's singular values are brought near 1 by Newton-Schulz steps.

    ``adjust_lr_fn``: 'original' scales by ``sqrt(max(1, rows / columns))``, 'match_rms_adamw' by ``0.2 sqrt(max(rows,
    columns))``.  ValueError for parameters that are not matrices.
    """

    _takes_complex = False  # a matrix of parts is not the matrix

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        not_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        if ns_steps >= 100:
            raise ValueError(f"Number of steps must be less than 100 for computational efficiency, got {ns_steps}")
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.shape}"
                    )

    def _update(self, p, g, state, group):
        lr, mu = float(group["lr"]), group["momentum"]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(g)
        b = state["momentum_buffer"].lerp_(g, 1 - mu)
        update = g.lerp(b, mu) if group["nesterov"] else b
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = p.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            scale = 0.2 * max(rows, columns) ** 0.5
        else:
            scale = max(1, rows / columns) ** 0.5
        p.mul_(1 - lr * group["weight_decay"]).add_(update, alpha=-lr * scale)


def _orthogonal(g, coefficients, steps, eps):
    """Five or so steps of ``X <- a X + (b A + c A^2) X`` with ``A = X X^T``, which drive the singular values towards 1."""
    a, b, c = coefficients
    x = g.bfloat16()
    tall = g.shape[0] > g.shape[1]
    x = x.t() if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.t()
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.t() if tall else x).to(g.dtype)
