"""Stochastic gradient descent, with momentum (Polyak 1964) and Nesterov's form of it (Sutskever 2013)."""

from __future__ import annotations

import torch
from torch import _seams

from ._check import not_negative
from ._joined import like_parameter
from .optimizer import Optimizer, required

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["SGD", "sgd"]


class SGD(Optimizer):
    """``p <- p - lr b`` with the momentum ``b <- momentum b + (1 - dampening) g``, and ``b = g`` in the first step.

    Sutskever 2013 writes ``v <- momentum v - lr g, p <- p + v``: there a change of lr acts on the gradients to come,
    here on all that are in ``b``.

    >>> p = torch.nn.Parameter(torch.tensor([1.0]))
    >>> (p * 3).sum().backward()
    >>> torch.optim.SGD([p], lr=0.1).step()
    >>> p.data
    tensor([0.7000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if lr is not required:
            not_negative(lr=lr)
        not_negative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                f"Nesterov momentum requires a momentum and zero dampening, got momentum={momentum}, dampening={dampening}"
            )
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def _check_gradient(self, p, g):
        pass  # sparse gradients can be added

    def _step_joined(self, pairs, group):
        mu = group["momentum"]
        calls = {True: [], False: []}  # by whether it is the first step
        for p, g in pairs:
            if not mu:
                calls[False].append((p, g, None))
                continue
            b = self.state.get(p, {}).get("momentum_buffer")
            if b is not None and not like_parameter(p, b):
                self._update(p, -g if group["maximize"] else g, self.state[p], group)
                continue
            calls[b is None].append((p, g, torch.empty_like(p) if b is None else b))
        for is_first, call in calls.items():
            if call:
                p, g, b = map(list, zip(*call, strict=True))
                _seams.fused_sgd(
                    p, g, b, weight_decay=group["weight_decay"], momentum=mu, lr=group["lr"], dampening=group["dampening"],
                    nesterov=group["nesterov"], maximize=group["maximize"], is_first_step=is_first,
                )  # fmt: skip
                for parameter, buffer in zip(p, b, strict=True) if is_first else ():
                    self.state[parameter]["momentum_buffer"] = buffer  # not before it is written

    def _update(self, p, g, state, group):
        mu, lr = group["momentum"], float(group["lr"])
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        if mu:
            b = state.get("momentum_buffer")
            if b is None:
                b = state["momentum_buffer"] = g.clone().detach()
            else:
                b.mul_(mu).add_(g, alpha=1 - group["dampening"])
            g = g.add(b, alpha=mu) if group["nesterov"] else b
        p.add_(g, alpha=-lr)


class SGDOfModels(SGD):
    """:class:`SGD` that knows the modules whose parameters it changes, as :func:`sgd` makes it."""

    def __init__(self, models: tuple[Any, ...], lr: float, momentum: float) -> None:
        super().__init__([p for m in models for p in m.parameters()], lr=lr, momentum=momentum)
        self.models = models

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "models": self.models}

    def step(self, input: Any = None, *targets: Any) -> Any:
        """A step by the gradients that are there, by those of a closure, or by those of the loss of an input: what the
        modules make of it one after the other, the last one with the targets. Gives the loss.

        Raises RuntimeError where that is more than one number.
        """
        if input is None or (callable(input) and not targets):
            return super().step(input)

        def loss_of_input():
            self.zero_grad()
            *layers, last = self.models
            value = input
            for layer in layers:
                value = layer(value)
            loss = last(value, *targets)
            if loss.numel() != 1:
                raise RuntimeError(
                    f"sgd: step(input) needs a loss, and {type(last).__name__} gave a tensor of shape {tuple(loss.shape)}: "
                    "make it of (model, criterion), and call step(input, target)"
                )
            loss.backward()
            return loss

        return super().step(loss_of_input)


def sgd(model: Any, lr: float, momentum: float = 0) -> Any:
    """:class:`SGD` as alpha-1 made it: for a module, or several modules, instead of their parameters. Its ``step`` takes
    an input as well, and the target of a criterion.

    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.sgd((model, torch.nn.MSELoss()), lr=0.1)
    >>> x, y = torch.eye(2), torch.ones(2, 1)
    >>> losses = [optimizer.step(x, y).item() for _ in range(20)]
    >>> losses[-1] < losses[0]
    True
    """
    return SGDOfModels(tuple(model) if isinstance(model, (tuple, list)) else (model,), lr, momentum)


sgd.SGDOfModels = SGDOfModels
sgd.SGD = SGD  # torch.optim.sgd.SGD, the class by the path of its file
