"""Sums, products and joins of quantized tensors as methods of a module, which holds the scale of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.quantized.modules.functional_modules import FloatFunctional

from . import _integers
from ._layers import observed


class QFunctional(nn.Module):
    """The methods of ``FloatFunctional`` for quantized tensors.

    >>> f, q = torch.ao.nn.quantized.QFunctional(), torch.quantize_per_tensor(torch.ones(1), 0.1, 0, torch.quint8)
    >>> f.scale = 0.5
    >>> f.add(q, q).int_repr()
    tensor([4], dtype=torch.uint8)
    """

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.zero_point = 1.0, 0
        self.activation_post_process = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """RuntimeError: the operations are the methods."""
        raise RuntimeError("QFunctional has no forward: call one of its operations, such as add()")

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def _rounded(self, x: Tensor) -> Tensor:
        return self.activation_post_process(torch.quantize_per_tensor(x, self.scale, self.zero_point, torch.quint8))

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        z = _integers.add(x, y, self.scale, self.zero_point, False)
        return self._rounded(x.dequantize() + y.dequantize()) if z is None else self.activation_post_process(z)

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        z = _integers.add(x, y, self.scale, self.zero_point, True)
        return (
            self._rounded(torch.relu(x.dequantize() + y.dequantize())) if z is None else self.activation_post_process(z)
        )

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        return self._rounded(x.dequantize() * y.dequantize())

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        return self._rounded(x.dequantize() @ y.dequantize())

    def cat(self, x: Sequence[Tensor], dim: int = 0) -> Tensor:
        return self._rounded(torch.cat([one.dequantize() for one in x], dim))

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """The same integers with another zero point, where there is one; the range of the result is that of ``x``, moved."""
        return self.activation_post_process(torch.ops.quantized.add_scalar(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """The same integers with another scale; those of a negative factor are in reverse order."""
        return self.activation_post_process(torch.ops.quantized.mul_scalar(x, y))

    @classmethod
    def from_float(cls, mod: FloatFunctional, use_precomputed_fake_quant: bool = False) -> Any:
        made = cls()
        made.scale, made.zero_point = observed(mod)
        return made

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = torch.tensor(self.scale, dtype=torch.float64)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        self.scale = float(state_dict.pop(prefix + "scale", self.scale))
        self.zero_point = int(state_dict.pop(prefix + "zero_point", self.zero_point))
        super()._load_from_state_dict(state_dict, prefix, *args)
