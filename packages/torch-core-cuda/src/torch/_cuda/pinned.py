"""Pinned memory: tensors of the CPU whose memory stays in place, which CUDA copies without a copy of its own."""

from __future__ import annotations

import torch

from . import _native

__all__ = ["is_pinned", "pinned"]


def is_pinned(tensor: torch.Tensor) -> bool:
    """Whether a tensor lies in pinned memory."""
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        return False
    return _native.is_pinned(tensor.untyped_storage().data_ptr())


def pinned(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in pinned memory: a copy, or itself when it is there or has no elements."""
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        raise RuntimeError(
            f"pin_memory: only dense CPU tensors can be pinned, and this one is {tensor.type()!r} on {tensor.device}"
        )
    if tensor.numel() == 0 or is_pinned(tensor):
        return tensor
    memory = _native.PinnedMemory(tensor.numel() * tensor.element_size())
    there = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    stride = torch.empty_like(tensor).stride()
    return torch.empty(0, dtype=tensor.dtype).set_(there, 0, tensor.shape, stride).copy_(tensor)
