"""How :func:`torch.nn.functional.linear_cross_entropy` cuts its batch."""

from __future__ import annotations

import dataclasses

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

__all__ = ["LinearCrossEntropyOptions"]

_ACCUMULATE = (None, torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclasses.dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """Asks :func:`torch.nn.functional.linear_cross_entropy` to hold the scores of a few rows of the batch at a time.

    A chunk has ``batch_chunk_size`` rows; without one, so many that its scores have at most ``R`` times the elements of
    the batch, with ``R`` from ``chunking_method="aspect_ratio:R"`` (``"auto"``: 2; None: one chunk). The gradients of
    weight and bias are added up in ``acc_dtype`` (None: float32 for half types, else their own). ``acc_policy`` and
    ``allow_retain_graph`` are accepted: chunks are computed again in the backward pass, which may run more than once.

    >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
    64
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: torch.dtype | None = None

    def __post_init__(self) -> None:
        size = self.batch_chunk_size
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"LinearCrossEntropyOptions: batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(
                f"LinearCrossEntropyOptions: invalid acc_policy: {self.acc_policy!r}; it is 'accurate', 'balanced', "
                "'compact' or 'auto'"
            )
        if not any(self.acc_dtype is d for d in _ACCUMULATE):
            raise ValueError(
                f"LinearCrossEntropyOptions: acc_dtype must be a floating dtype or None, got {self.acc_dtype}"
            )
        self._ratio()

    def _ratio(self) -> float | None:
        if self.chunking_method in (None, "auto"):
            return None if self.chunking_method is None else 2.0
        head, _, ratio = str(self.chunking_method).partition(":")
        try:
            number = float(ratio)
        except ValueError:
            number = 0.0
        if head != "aspect_ratio" or not 0 < number < float("inf"):
            raise ValueError(
                f"LinearCrossEntropyOptions: invalid chunking_method: {self.chunking_method!r}; it is 'auto', None or "
                "'aspect_ratio:R' with a positive number R"
            )
        return number

    def rows(self, batch: int, features: int, classes: int) -> int:
        """The rows of a chunk of ``batch`` rows of ``features`` elements with ``classes`` scores each."""
        ratio = self._ratio()
        if self.batch_chunk_size is not None:
            return self.batch_chunk_size
        return max(1, batch if ratio is None else int(ratio * batch * features / max(classes, 1)))
