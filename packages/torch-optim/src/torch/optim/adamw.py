"""Adam with decoupled weight decay (Loshchilov 2017)."""

from __future__ import annotations

from .adam import Adam

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["AdamW"]


class AdamW(Adam):
    """:class:`Adam` whose parameters shrink by ``lr * weight_decay`` in each step, apart from the gradient."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
