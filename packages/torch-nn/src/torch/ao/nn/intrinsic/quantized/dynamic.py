"""Joined layers that hold small integers, and take and give floats."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.ao.nn.quantized import dynamic as nnqd

__all__ = ["LinearReLU"]


class LinearReLU(nnqd.Linear):
    """``relu(x @ weight^T + bias)``: ``x`` is rounded to bytes as it comes."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).relu()

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a linear one that is joined to a relu."""
        linear = mod[0]
        linear.qconfig = mod.qconfig
        return super().from_float(linear)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinearReLU"


__path__: list[str] = []  # a package, all files of which are this module (torch._parts)
