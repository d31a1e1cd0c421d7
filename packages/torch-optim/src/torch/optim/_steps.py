"""The steps that a parameter has taken and other numbers, as the state of its algorithm holds them: each in a tensor, as
PyTorch's files and programs have it.
"""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["add_quotient", "begun", "counted", "held", "hold", "next_step", "number", "steps_at"]


def number(value: float) -> Tensor:
    """A number that an algorithm keeps for a parameter, as its state holds it, in float64 (PyTorch rounds it to float32)."""
    return torch.tensor(value, dtype=torch.float64)


def steps_at(count: int) -> Tensor:
    """The state of a parameter after ``count`` steps: float64 where that is the default dtype, else float32."""
    return torch.tensor(count, dtype=torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32)


def begun(value: Tensor, p: Tensor, group) -> Tensor:
    """What a state begins with: on the parameter's device where ``capturable`` asks for numbers that a graph can count on."""
    return value.to(p.device) if group.get("capturable") and p.is_cuda else value


def counted(state) -> int | Tensor:
    """:func:`next_step`, or where a device counts the steps, a tensor of it that a formula takes in the place of the number."""
    steps = state["step"]
    if isinstance(steps, torch.Tensor) and steps.is_cuda:
        return steps.add_(1).double()
    return next_step(state)


def held(state, name: str, steps: int | Tensor) -> float | Tensor:
    """A number that the state holds, as the steps are counted: a tensor where a device does."""
    return state[name] if isinstance(steps, torch.Tensor) else float(state[name])


def hold(state, name: str, value: float | Tensor) -> None:
    """Change it; on a device in its place, which a graph writes to."""
    if isinstance(value, torch.Tensor):
        state[name].copy_(value)
    else:
        state[name] = number(value)


def add_quotient(p: Tensor, above: Tensor, below: Tensor, scale: float | Tensor) -> None:
    """``p += scale above / below``."""
    if isinstance(scale, torch.Tensor):
        p.add_(above.div(below).mul_(scale))
    else:
        p.addcdiv_(above, below, value=scale)


def root_plus(root: Tensor, eps: float) -> Tensor:
    """``root + eps``, in place where no gradient asks for the root: that of a square root does, where steps are differentiated."""
    return root.add(eps) if root.requires_grad else root.add_(eps)


def next_step(state) -> int:
    """Count one step more in ``state["step"]`` and return the number; what files of 2018 hold there is an int."""
    steps = state["step"]
    if not isinstance(steps, torch.Tensor):
        steps = state["step"] = steps_at(steps)
    return int(steps.add_(1).item())
