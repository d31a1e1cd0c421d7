"""The steps that a parameter has taken, as the state of its algorithm holds them: a number in a tensor, as PyTorch's files
and programs have it.
"""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["next_step", "steps_at"]


def steps_at(count: int) -> Tensor:
    """The state of a parameter after ``count`` steps: float64 where that is the default dtype, else float32."""
    return torch.tensor(count, dtype=torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32)


def next_step(state) -> int:
    """Count one step more in ``state["step"]`` and return the number; what files of 2018 hold there is an int."""
    steps = state["step"]
    if not isinstance(steps, torch.Tensor):
        steps = state["step"] = steps_at(steps)
    return int(steps.add_(1).item())
