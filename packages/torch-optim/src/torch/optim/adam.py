"""Adam (Kingma 2014) and AMSGrad (Reddi 2018)."""

from __future__ import annotations

import math

import torch
from torch import _seams

from ._check import betas_in_range, not_negative
from ._joined import like_parameter
from ._steps import begun, next_step, root_plus, steps_at
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

    from .optimizer import ParamsT


__all__ = ["Adam"]


class Adam(Optimizer):
    """Algorithm 1 of the paper: steps of size about lr, against the ratio of the mean gradient and its root mean square.

    ``weight_decay`` adds the decay to the gradient; with ``decoupled_weight_decay`` the parameters shrink themselves.
    ``amsgrad`` divides by the largest second moment so far.

    >>> p = torch.nn.Parameter(torch.tensor([1.0]))
    >>> (p * 3).sum().backward()
    >>> torch.optim.Adam([p], lr=0.1).step()
    >>> p.data
    tensor([0.9000])
    """

    _has_count = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        betas_in_range(betas)
        are_tensors = [isinstance(beta, torch.Tensor) for beta in betas]
        if any(are_tensors) and not all(are_tensors):
            raise ValueError("betas must be either both floats or both Tensors")
        for name, is_tensor in (("lr", isinstance(lr, torch.Tensor)), ("betas[0]", are_tensors[0])):
            if is_tensor and foreach and not capturable:
                raise ValueError(
                    f"{name} as a Tensor is not supported for capturable=False and foreach=True; leave foreach out"
                )
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def _begin(self, p, state, group):
        if state:
            return
        state["step"] = begun(steps_at(0), p, group)
        state["exp_avg"] = torch.zeros_like(p)
        state["exp_avg_sq"] = torch.zeros_like(p)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = torch.zeros_like(p)

    def _step_joined(self, pairs, group):
        step = _seams.fused_adamw if group["decoupled_weight_decay"] else _seams.fused_adam
        names = ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if group["amsgrad"] else ()))
        calls = {True: [], False: []}  # by whether the device counts the steps, which a graph can replay
        for p, _ in pairs:  # before any step is counted: there may be no memory for all
            if not self.state.get(p):
                state = {}
                self._begin(p, state, group)
                self.state[p] = state
        for p, g in pairs:
            state = self.state[p]
            if not all(like_parameter(p, state[name]) for name in names):
                self._update(p, -g if group["maximize"] else g, state, group)
                continue
            on_device = isinstance(state["step"], torch.Tensor) and state["step"].is_cuda
            if on_device:
                state["step"].add_(1)
            count = state["step"] if on_device else next_step(state)
            calls[on_device].append((p, g, count, *(state[name] for name in names)))
        for call in filter(None, calls.values()):
            p, g, counts, m, v, *largest = map(list, zip(*call, strict=True))
            beta1, beta2 = map(float, group["betas"])
            step(
                p, g, m, v, largest[0] if largest else [], counts, lr=group["lr"], beta1=beta1, beta2=beta2,
                weight_decay=group["weight_decay"], eps=group["eps"], amsgrad=group["amsgrad"], maximize=group["maximize"],
            )  # fmt: skip

    def _update(self, p, g, state, group):
        beta1, beta2 = map(float, group["betas"])
        alpha, decay = float(group["lr"]), group["weight_decay"]
        self._begin(p, state, group)
        m, v = state["exp_avg"], state["exp_avg_sq"]
        t = next_step(state)
        if decay:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - alpha * decay)
            else:
                g = g.add(p, alpha=decay)
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            if v.requires_grad:
                v = largest.copy_(torch.maximum(largest.clone(), v))
            else:
                v = torch.maximum(largest, v, out=largest)
        # The bias corrections of both moments, moved to the step size as in section 2 of the paper.
        root, correction = v.sqrt(), math.sqrt(1 - beta2**t)
        denominator = root_plus(root.div(correction) if root.requires_grad else root.div_(correction), group["eps"])
        p.addcdiv_(m, denominator, value=-alpha / (1 - beta1**t))
