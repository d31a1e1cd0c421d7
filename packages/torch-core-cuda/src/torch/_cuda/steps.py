"""Steps of the algorithms of torch.optim for many parameters in a launch (core/src/cuda/steps.h)."""

from __future__ import annotations

from . import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["step"]


def step(
    algorithm: str, lists: list[list[Tensor]], numbers: list[list[float] | list[Tensor]], **options: float
) -> None:
    """One step of the algorithm of that file for parameters, gradients and states; an empty list is a state that is not used.

    ``numbers`` are those of which each parameter has its own: floats, or tensors of the device that have them, all of one
    kind. Raises RuntimeError where lists do not fit each other.
    """
    on_device = any(type(n) is not float for of_all in numbers for n in of_all)
    _native.fused_step(algorithm, lists, [] if on_device else numbers, numbers if on_device else [], options)
