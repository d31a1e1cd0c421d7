"""Adagrad (Duchi 2011)."""

from __future__ import annotations

import torch

from ._check import not_negative
from ._joined import step_together
from ._steps import add_quotient, begun, counted, root_plus, steps_at
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """``p <- p - lr g / (sqrt(sum of g^2) + eps)``, with the learning rate falling as ``lr / (1 + (t - 1) lr_decay)``.

    With ``capturable`` the device counts the steps, so that a CUDA graph can replay one.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    def _counts(self, group):
        return group["lr_decay"] != 0

    def _check_capture(self, group):
        if self._counts(group):  # else the rate is the same in every step
            super()._check_capture(group)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        capturable: bool = False,
    ) -> None:
        not_negative(
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
                "capturable": capturable,
            },
        )
        for group in self.param_groups:  # made here, so that share_memory has something to share
            for p in group["params"]:
                self._begin(p, self.state[p], group)

    def _begin(self, p, state, group):
        begin = group["initial_accumulator_value"]
        state["step"] = begun(steps_at(0), p, group)
        state["sum"] = torch.full_like(p.detach(), complex(begin, begin) if p.is_complex() else begin)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        first = not self.state
        super().add_param_group(param_group)
        if not first:
            for p in self.param_groups[-1]["params"]:
                self._begin(p, self.state[p], self.param_groups[-1])

    def share_memory(self) -> None:
        """Move the sums into memory that other processes can map.

        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.Adagrad([w])
        >>> optimizer.share_memory()
        >>> optimizer.state[w]["sum"].is_shared()
        True
        """
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _check_gradient(self, p, g):
        pass  # sparse ones change only their own rows

    def _rate(self, state, group):
        """Count a step, which has this rate."""
        t = counted(state)
        return (-float(group["lr"]) / (1 + (t - 1) * group["lr_decay"]),)

    def _step_joined(self, pairs, group):
        step_together(
            self, "adagrad", pairs, group, ("sum",), self._rate, eps=group["eps"], weight_decay=group["weight_decay"]
        )

    def _update(self, p, g, state, group):
        (rate,) = self._rate(state, group)
        if group["weight_decay"]:
            if g.is_sparse:
                raise RuntimeError("Adagrad: the weight_decay option is not compatible with sparse gradients")
            g = g.add(p, alpha=group["weight_decay"])
        if g.is_sparse:
            g = g.coalesce()  # the square of a sum is not the sum of squares
            state["sum"].add_(g * g)
            std = state["sum"].sparse_mask(g)._values().sqrt_().add_(group["eps"])
            step = torch.sparse_coo_tensor(g._indices(), g._values() / std, g.shape, is_coalesced=True)
            p.add_(step * rate)
            return
        state["sum"].addcmul_(g, g, value=1)
        add_quotient(p, g, root_plus(state["sum"].sqrt(), group["eps"]), rate)
