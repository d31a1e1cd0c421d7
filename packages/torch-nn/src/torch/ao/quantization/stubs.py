"""Marks of where numbers are quantized and made floats again; ``convert`` puts layers in their place."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(nn.Module):
    """Marks where numbers are quantized; before that they pass as they are.

    >>> torch.ao.quantization.QuantStub()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, qconfig: Any = None):
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(QuantStub):
    """Marks where numbers are floats again; before that they pass as they are."""


class QuantWrapper(nn.Module):
    """A module between the two marks."""

    def __init__(self, module: nn.Module):
        super().__init__()
        config = getattr(module, "qconfig", None)
        self.quant, self.dequant, self.module = QuantStub(config), DeQuantStub(config), module
        self.train(module.training)

    def forward(self, X: Tensor) -> Tensor:
        return self.dequant(self.module(self.quant(X)))
