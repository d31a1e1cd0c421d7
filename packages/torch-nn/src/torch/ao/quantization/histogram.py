"""The observer that may clip: it keeps a histogram and takes the range whose quantization loses least."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .observer import MinMaxObserver


class HistogramObserver(MinMaxObserver):
    """The range whose mean squared error is least, rounding and clipping together.

    The histogram covers all numbers seen; its bins are shared out anew when the range grows. Candidates clip a fraction of either side.

    >>> observer = torch.ao.quantization.HistogramObserver()
    >>> _ = observer(torch.linspace(-1, 1, 1001))
    >>> scale, zero_point = observer.calculate_qparams()
    >>> round(scale.item() * 255, 1), zero_point.item()
    (2.0, 128)
    """

    def __init__(
        self,
        bins: int = 2048,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        *args: Any,
        **kwargs: Any,
    ):
        super().__init__(dtype, qscheme, *args, **kwargs)
        if bins < 2:
            raise ValueError(f"HistogramObserver: expected two bins or more, got {bins}")
        self.bins = bins
        self.register_buffer("histogram", torch.zeros(bins))

    def forward(self, x_orig: Tensor) -> Tensor:
        x = x_orig.detach().to(torch.float32).reshape(-1)
        x = x[torch.isfinite(x)]
        if not x.numel():
            return x_orig
        least, most = x.amin(), x.amax()
        if not torch.isinf(self.min_val).any():
            grown = torch.minimum(self.min_val, least), torch.maximum(self.max_val, most)
            if grown[0] < self.min_val or grown[1] > self.max_val:
                self.histogram = self.shared_out(*grown)
            least, most = grown
        self.min_val, self.max_val = least, most
        self.histogram += self.counts(x, least, most)
        return x_orig

    def counts(self, x: Tensor, least: Tensor, most: Tensor, weights: Tensor | None = None) -> Tensor:
        width = max(((most - least) / self.bins).item(), 1e-38)
        places = ((x - least) / width).to(torch.int64).clamp(0, self.bins - 1)
        return torch.bincount(places, weights=weights, minlength=self.bins).to(torch.float32)

    def shared_out(self, least: Tensor, most: Tensor, parts: int = 8) -> Tensor:
        """The counts in bins of a larger range: each old bin is cut into parts that lie at their middles."""
        width = (self.max_val - self.min_val) / self.bins
        middles = self.min_val + width * (torch.arange(self.bins * parts) + 0.5) / parts
        return self.counts(middles, least, most, self.histogram.repeat_interleave(parts) / parts)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        if torch.isinf(self.min_val).any() or not self.histogram.sum() or self.min_val == self.max_val:
            return super().calculate_qparams()
        low, high = self.best()
        return self._calculate_qparams(torch.tensor([low]), torch.tensor([high]))

    def best(self) -> tuple[float, float]:
        """A search by turns: shrink either side while the error falls, in ever smaller steps."""
        low, high = self.min_val.item(), self.max_val.item()
        whole, error = high - low, self.error(low, high)
        step = 0.25
        while step > 1e-3:
            moved = False
            for side in (0, 1):
                candidate = (low + step * whole, high) if side == 0 else (low, high - step * whole)
                if candidate[0] >= candidate[1]:
                    continue
                tried = self.error(*candidate)
                if tried < error:
                    (low, high), error, moved = candidate, tried, True
            if not moved:
                step /= 2
        return low, high

    def error(self, low: float, high: float) -> float:
        """Squared error of all numbers: a step rounded evenly loses step^2 / 12, one clipped its distance."""
        low, high = min(low, 0.0), max(high, 0.0)
        if self.qscheme is torch.per_tensor_symmetric:
            low, high = -max(-low, high), max(-low, high)
        width = (self.max_val - self.min_val).item() / self.bins
        middles = self.min_val + width * (torch.arange(self.bins) + 0.5)
        beyond = (middles - high).clamp(min=0) + (low - middles).clamp(min=0)
        step = (high - low) / (self.quant_max - self.quant_min)
        inside = (beyond == 0).to(torch.float32) * step * step / 12
        return float((self.histogram * (beyond * beyond + inside)).sum())

    def reset_min_max_vals(self) -> None:
        super().reset_min_max_vals()
        self.histogram = torch.zeros(self.bins)
