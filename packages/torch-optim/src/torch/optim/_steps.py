"""The steps that a parameter has taken and other numbers, as the state of its algorithm holds them: each in a tensor, as
PyTorch's files and programs have it.
"""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["next_step", "number", "steps_at"]


def number(value: float) -> Tensor:
    """A number that an algorithm keeps for a parameter, as its state holds it, in float64 (PyTorch rounds it to float32)."""
    return torch.tensor(value, dtype=torch.float64)


def steps_at(count: int) -> Tensor:
    """The state of a parameter after ``count`` steps: float64 where that is the default dtype, else float32."""
    return torch.tensor(count, dtype=torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32)


def next_step(state) -> int:
    """Count one step more in ``state["step"]`` and return the number; what files of 2018 hold there is an int."""
    steps = state["step"]
    if not isinstance(steps, torch.Tensor):
        steps = state["step"] = steps_at(steps)
    return int(steps.add_(1).item())
