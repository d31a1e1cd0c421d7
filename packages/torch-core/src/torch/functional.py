"""Functions of ``torch`` that programs also import from here: ``torch.functional.einsum``."""

from operator import attrgetter

import torch

NAMES = (
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod", "cdist",
    "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "split", "stft", "tensordot", "unique", "unique_consecutive",
    "unravel_index",
)  # fmt: skip

__all__ = list(NAMES)

#: What PyTorch's module imports for itself, and libraries from it.
BESIDE = {"F": "nn.functional", "Tensor": "Tensor"}


def __getattr__(name):
    if name in NAMES:
        return getattr(torch, name)
    if name in BESIDE:
        return attrgetter(BESIDE[name])(torch)
    raise AttributeError(f"module 'torch.functional' has no attribute {name!r}")


def __dir__():
    return list(NAMES)
