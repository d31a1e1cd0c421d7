"""Biases of a quantized model without the mean error of its layers (Nagel et al., arXiv:1906.04721, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.ao.nn import quantized as nnq
from torch.ao.ns import _numeric_suite as ns

__all__ = ["bias_correction"]

_SUPPORTED = (nn.Linear, nn.Conv2d)
_QUANTIZED = (nnq.Linear, nnq.Conv2d)


class MeanShadowLogger(ns.Logger):
    """The mean of all results of a quantized layer and of its shadow: ``stats["quantized"]`` and ``stats["float"]``."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Forget what was seen."""
        self.stats: dict[str, Any] = {"float": None, "quantized": None}
        self.count = 0

    def forward(self, x: Tensor, y: Tensor) -> None:
        """Take both into the means."""
        self.count += 1
        for name, value in (("quantized", x.dequantize() if x.is_quantized else x), ("float", y)):
            mean = self.stats[name]
            self.stats[name] = value.detach() if mean is None else mean + (value.detach() - mean) / self.count


def bias_correction(
    float_model: nn.Module,
    quantized_model: nn.Module,
    img_data: Iterable[tuple[Tensor, Any]],
    target_modules: Iterable[type] = _QUANTIZED,
    neval_batches: int | None = None,
) -> None:
    """Take the mean difference of a quantized layer from the one in floats, channel by channel, from its bias; one layer after the other, in place.

    ``img_data`` gives batches of inputs and labels, all of one size, of which up to ``neval_batches`` are looked at. Layers are linear ones and
    convolutions that have no relu joined to them.
    """
    ns.prepare_model_with_stubs(float_model, quantized_model, _SUPPORTED, MeanShadowLogger)
    shadows = [(path, m) for path, m in quantized_model.named_modules() if isinstance(m, ns.Shadow)]
    for path, shadow in shadows:
        layer = shadow.orig_module
        bias = layer.bias() if type(layer) in tuple(target_modules) else None
        if bias is None:
            continue
        with torch.no_grad():
            for i, (data, *_) in enumerate(img_data):
                if neval_batches is not None and i >= neval_batches:
                    break
                quantized_model(data)
        seen = shadow.logger.stats
        if seen["float"] is None:
            raise ValueError(
                f"bias_correction: {path} was not called; img_data gives no batches, or the model does not use it"
            )
        error = seen["quantized"] - seen["float"]
        channels = 1 if isinstance(layer, nnq.Conv2d) else error.dim() - 1
        mean = error.mean([i for i in range(error.dim()) if i != channels])
        layer.set_weight_bias(layer.weight(), bias - mean)
        for _, each in shadows:
            each.logger.clear()
