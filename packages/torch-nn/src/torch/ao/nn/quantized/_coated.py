"""Layers of floats in a coat: numbers out of integers, the layer as it is, and its result rounded."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ._layers import Rounds, numbers, observed
from ._weights import adopt

NAMES = (
    "BatchNorm2d", "BatchNorm3d", "ELU", "GroupNorm", "Hardswish", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LeakyReLU", "PReLU",
    "Sigmoid", "Softmax",
)  # fmt: skip


class _Coated(Rounds):
    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer with its own parameters, in a coat."""
        made = cls.__new__(cls)
        adopt(made, mod)
        made._rounds_to(*observed(mod))
        return made.eval()

    def forward(self, x: Tensor) -> Tensor:
        return self._rounded(super().forward(numbers(self, x)))

    def _get_name(self) -> str:
        return "Quantized" + type(self).__name__


def _coat(name: str) -> Any:
    layer = getattr(nn, name)

    def __init__(self: Any, *args: Any, scale: float = 1.0, zero_point: int = 0, **kwargs: Any) -> None:
        layer.__init__(self, *args, **kwargs)
        self._rounds_to(scale, zero_point)

    doc = f"``torch.nn.{name}`` of a quantized tensor, rounded to ``scale`` and ``zero_point``."
    return type(name, (_Coated, layer), {"__init__": __init__, "__doc__": doc, "__module__": "torch.ao.nn.quantized"})


globals().update({name: _coat(name) for name in NAMES})
