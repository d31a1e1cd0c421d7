"""The observer that may clip: it keeps a histogram and takes the range whose quantization loses least."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .observer import MinMaxObserver


class HistogramObserver(MinMaxObserver):
    """The range whose squared error is small, rounding and clipping together.

    The histogram covers all numbers seen; its bins are shared out anew when the range grows. Candidates clip a fraction of either
    side, until the error rises.

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
        low, high = self._non_linear_param_search()
        return self._calculate_qparams(low.reshape(1), high.reshape(1))

    def _non_linear_param_search(self) -> tuple[Tensor, Tensor]:
        """The range after the last cut that lost nothing: a hundred-thousandth of the numbers is taken from either side at a
        time, and of the two cuts the one that moves over more bins is made."""
        width, whole = (self.max_val - self.min_val) / self.bins, self.histogram.sum()
        below = torch.cumsum(self.histogram, dim=0)
        first, last, lower, upper = 0, self.bins - 1, 0.0, 1.0
        best, share = float("inf"), 1e-5
        while lower < upper:
            left, right = first, last
            while left < last and below[left] < (lower + share) * whole:
                left += 1
            while right > first and below[right] > (upper - share) * whole:
                right -= 1
            if left - first > last - right:
                tried, lower = (left, last), lower + share
            else:
                tried, upper = (first, right), upper - share
            if tried == (first, last):
                continue
            error = self._compute_quantization_error(*tried)
            if error > best:
                break
            best, (first, last) = error, tried
        return self.min_val + width * first, self.min_val + width * (last + 1)

    def _compute_quantization_error(self, first: int, last: int) -> float:
        """Squared error of all numbers when the range is that of these bins: each bin is spread evenly, cut where
        quantized values change, and each piece stands off the middle of its step."""
        steps = 2 ** (32 if self.dtype in (torch.qint32, torch.int32) else 8)
        width = ((self.max_val - self.min_val) / self.bins).item()
        step = width * (last - first + 1) / steps
        if step == 0.0:
            return 0.0
        begin = (torch.arange(self.bins) - first) * width
        end = begin + width
        from_step, to_step = ((x / step).floor().clamp(0, steps - 1) for x in (begin, end))

        def off(x: Tensor, at: Tensor) -> Tensor:
            return (x - (at + 0.5) * step) ** 3 / 3

        half = (step / 2) ** 3 / 3
        spread = (half - off(begin, from_step)) + (to_step - from_step - 1) * 2 * half + (off(end, to_step) + half)
        return float((self.histogram / width * spread).sum())

    def reset_min_max_vals(self) -> None:
        super().reset_min_max_vals()
        self.histogram = torch.zeros(self.bins)
