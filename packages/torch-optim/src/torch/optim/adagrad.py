"""Adagrad (Duchi 2011)."""

from __future__ import annotations

import torch

from ._check import not_negative
from ._steps import next_step, steps_at
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """``p <- p - lr g / (sqrt(sum of g^2) + eps)``, with the learning rate falling as ``lr / (1 + (t - 1) lr_decay)``.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    def _counts(self, group):
        return group["lr_decay"] != 0

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
            },
        )
        for group in self.param_groups:  # made here, so that share_memory has something to share
            for p in group["params"]:
                self._begin(p, group)

    def _begin(self, p, group):
        begin = group["initial_accumulator_value"]
        self.state[p]["step"] = steps_at(0)
        self.state[p]["sum"] = torch.full_like(p.detach(), complex(begin, begin) if p.is_complex() else begin)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        first = not self.state
        super().add_param_group(param_group)
        if not first:
            for p in self.param_groups[-1]["params"]:
                self._begin(p, self.param_groups[-1])

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

    def _update(self, p, g, state, group):
        t = next_step(state)
        if group["weight_decay"]:
            if g.is_sparse:
                raise RuntimeError("Adagrad: the weight_decay option is not compatible with sparse gradients")
            g = g.add(p, alpha=group["weight_decay"])
        lr = float(group["lr"]) / (1 + (t - 1) * group["lr_decay"])
        if g.is_sparse:
            g = g.coalesce()  # the square of a sum is not the sum of squares
            state["sum"].add_(g * g)
            std = state["sum"].sparse_mask(g)._values().sqrt_().add_(group["eps"])
            step = torch.sparse_coo_tensor(g._indices(), g._values() / std, g.shape, is_coalesced=True)
            p.add_(step, alpha=-lr)
            return
        state["sum"].addcmul_(g, g, value=1)
        p.addcdiv_(g, state["sum"].sqrt().add_(group["eps"]), value=-lr)
