"""Splitting arguments over devices and joining results."""

from __future__ import annotations

import torch

from ._functions import Gather

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


__all__ = ["gather", "scatter", "scatter_kwargs"]


def _like(original, values):
    """``values`` in a container of the type of ``original``."""
    return type(original)(*values) if hasattr(original, "_fields") else type(original)(values)


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """Cut every tensor in ``inputs`` into one part for each device; other objects are repeated.

    >>> torch.nn.parallel.scatter(torch.arange(4), ["cpu", "cpu"])
    [tensor([0, 1]), tensor([2, 3])]
    """
    devices = list(target_gpus)

    def cut(x):
        if isinstance(x, torch.Tensor):
            parts = x.chunk(len(devices), dim) if x.dim() else [x] * len(devices)
            return [part.to(device) for part, device in zip(parts, devices)]
        if isinstance(x, (tuple, list)) and x:
            return [_like(x, parts) for parts in zip(*map(cut, x))]
        if isinstance(x, dict) and x:
            return [type(x)(zip(x, parts)) for parts in zip(*map(cut, x.values()))]
        return [x] * len(devices)

    return cut(inputs)


def scatter_kwargs(
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    target_gpus: Sequence[torch.device | str | int],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Positional and keyword arguments for each device; the shorter list is filled with empty ones.

    >>> torch.nn.parallel.scatter_kwargs((torch.arange(2),), {"scale": 3}, ["cpu", "cpu"])
    (((tensor([0]),), (tensor([1]),)), ({'scale': 3}, {'scale': 3}))
    """
    inputs = scatter(tuple(inputs), target_gpus, dim) if inputs else []
    kwargs = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(inputs), len(kwargs))
    inputs = list(inputs) + [()] * (count - len(inputs))
    kwargs = list(kwargs) + [{}] * (count - len(kwargs))
    return tuple(inputs), tuple(kwargs)


def gather(outputs: Any, target_device: torch.device | str | int, dim: int = 0) -> Any:
    """Join what the devices computed: tensors along ``dim``, numbers as a vector, containers element by element.

    >>> torch.nn.parallel.gather([torch.ones(1), torch.zeros(1)], "cpu")
    tensor([1., 0.])
    """
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        return Gather.apply(target_device, dim, *outputs)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(x) != len(first) for x in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([x[key] for x in outputs], target_device, dim)) for key in first)
    return _like(first, [gather(parts, target_device, dim) for parts in zip(*outputs)])
