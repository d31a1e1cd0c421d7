"""Writing and reading archives, under the name of PyTorch's module."""

from __future__ import annotations

from typing import Any

import torch
from torch.jit import load, save

__all__ = ["load", "save", "validate_map_location"]


def validate_map_location(map_location: Any = None) -> Any:
    """A device for a device or its name, None for None; ValueError for others.

    >>> torch.jit._serialization.validate_map_location("cpu")
    device(type='cpu')
    """
    if isinstance(map_location, str):
        return torch.device(map_location)
    if map_location is not None and not isinstance(map_location, torch.device):
        raise ValueError(
            f"map_location should be either None, string or torch.device, but got type: {type(map_location).__name__}"
        )
    return map_location
