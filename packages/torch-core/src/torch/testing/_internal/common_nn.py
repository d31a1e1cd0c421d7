"""Losses in plain steps, as references, and tables of modules (``module_tests``, ``criterion_tests``); there is no ``NNTestCase``."""

from __future__ import annotations

from torch._lazy import later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def get_reduction(m: Any) -> str:
    """The ``reduction`` of a loss module."""
    reduction = getattr(m, "reduction", None)
    if reduction is None:
        raise AttributeError(f"get_reduction: {type(m).__name__} has no reduction")
    return reduction


def get_weight(m: Any) -> Any:
    """The ``weight`` of a module, or None."""
    return getattr(m, "weight", None)


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Losses as ``reduction`` says: mean, sum or none."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction must be mean, sum or none, got {reduction!r}")
    return losses if reduction == "none" else getattr(losses, reduction)()


def smoothl1loss_reference(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Smooth L1: half squares over ``beta`` below it, differences less half of it above."""
    d = (input - target).abs()
    return reduced((d - 0.5 * beta).where(d >= beta, 0.5 * d**2 / beta if beta else d), reduction)


def huberloss_reference(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Huber: half squares below ``delta``, ``delta`` times the difference less half of it above."""
    d = (input - target).abs()
    return reduced((delta * (d - 0.5 * delta)).where(d >= delta, 0.5 * d**2), reduction)


def hingeembeddingloss_reference(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """The input for targets of 1, what it lacks of ``margin`` for others."""
    return reduced(input.where(target == 1, (margin - input).clamp(min=0)), reduction)


def softmarginloss_reference(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))``."""
    return reduced((1 + (-target * input).exp()).log(), reduction)


def marginrankingloss_reference(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: str = "mean"
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``."""
    return reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


def kldivloss_reference(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """``target * (log(target) - input)``; targets of 0 add nothing; ``batchmean`` divides by the first size."""
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = (target * (target.log() - input)).where(target > 0, 0.0)
    return losses.sum() / input.shape[0] if reduction == "batchmean" else reduced(losses, reduction)


_TABLES = ("criterion_tests", "get_new_module_tests", "module_tests", "new_module_tests")
__getattr__, __dir__ = later(globals(), names=dict.fromkeys(_TABLES, "_module_tables"), base="torch.testing._internal")
