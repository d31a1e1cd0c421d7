"""Operations as methods of a module, whose results pass through ``activation_post_process``."""

from __future__ import annotations

import torch

from ...modules.linear import Identity
from ...modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

__all__ = ["FXFloatFunctional", "FloatFunctional"]


class FXFloatFunctional(Module):
    """Sums, products and joins of tensors as methods, which mark the places where a model would be quantized.

    >>> f = FXFloatFunctional()
    >>> f.add_relu(torch.tensor([-3.0, 1.0]), torch.tensor([1.0, 1.0]))
    tensor([0., 2.])
    """

    def forward(self, x: Tensor) -> Tensor:
        """RuntimeError: the operations are the methods."""
        raise RuntimeError(f"{type(self).__name__} has no forward: call one of its operations, such as add()")

    def _passed(self, result):
        return result

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """``x + y``."""
        return self._passed(torch.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x + y`` with a number."""
        return torch.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x * y``."""
        return self._passed(torch.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x * y`` with a number."""
        return torch.mul(x, y)

    def cat(self, x: Sequence[Tensor], dim: int = 0) -> Tensor:
        """The tensors one after another along a dim."""
        return self._passed(torch.cat(x, dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """``relu(x + y)``."""
        return self._passed(torch.relu(torch.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x @ y``."""
        return self._passed(torch.matmul(x, y))


class FloatFunctional(FXFloatFunctional):
    """The same with a module ``activation_post_process`` that every result passes through: at first the identity.

    >>> f = FloatFunctional()
    >>> f.activation_post_process = torch.nn.ReLU()
    >>> f.mul(torch.tensor([2.0, -2.0]), torch.tensor([3.0, 3.0]))
    tensor([6., 0.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process: Module = Identity()

    def _passed(self, result):
        return self.activation_post_process(result)
