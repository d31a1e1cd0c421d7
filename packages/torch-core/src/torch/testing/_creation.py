"""Tensors to test with."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def make_tensor(
    *shape: int | torch.Size | list[int] | tuple[int, ...],
    dtype: torch.dtype,
    device: str | torch.device | int,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: torch.memory_format | None = None,
) -> Tensor:
    """A tensor of random values from [low, high): by default -9 to 9, or what the dtype can hold of that.

    >>> torch.testing.make_tensor(2, 3, dtype=torch.int8, device="cpu").shape
    torch.Size([2, 3])
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor: noncontiguous and memory_format exclude each other")
    if dtype == torch.bool:
        low, high = 0, 2
    elif dtype == torch.uint8:
        low, high = 0 if low is None else low, 10 if high is None else high
    else:
        low, high = (
            -9 if low is None else low,
            10 if high is None and not dtype.is_floating_point else 9 if high is None else high,
        )
    if not low < high:
        raise ValueError(f"make_tensor: low must be less than high, got low={low} and high={high}")
    drawn = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape else shape
    if dtype.is_complex:
        real = dtype.to_real()
        values = torch.complex(*(torch.rand(drawn, dtype=real) * (high - low) + low for _ in range(2)))
    elif dtype.is_floating_point:
        values = (torch.rand(drawn, dtype=torch.float64) * (high - low) + low).to(dtype)
    else:
        values = torch.randint(math.ceil(low), math.ceil(high), drawn, dtype=torch.int64).to(dtype)
    if exclude_zero:
        values[values == 0] = 1 if not dtype.is_floating_point else torch.finfo(dtype).tiny
    values = values.to(device)
    if noncontiguous and shape:
        values = values[..., ::2]
    if memory_format is not None:
        values = values.contiguous(memory_format=memory_format)
    return values.requires_grad_() if requires_grad else values


def get_all_dtypes() -> list[torch.dtype]:
    """The dtypes of 2018.

    >>> torch.float32 in torch.testing.get_all_dtypes()
    True
    """
    return [
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
    ]  # fmt: skip


def make_non_contiguous(tensor: Tensor) -> Any:
    """The same values in memory with gaps, after an offset.

    >>> torch.testing.make_non_contiguous(torch.ones(2, 2)).is_contiguous()
    False
    """
    if tensor.numel() <= 1:
        return tensor.clone()
    room = tensor.new_zeros([n + 2 for n in tensor.shape])
    inner = room[tuple(slice(1, 1 + n) for n in tensor.shape)]
    return inner.copy_(tensor)
