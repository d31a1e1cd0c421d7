"""Norms of lists of tensors in a few launches: ``torch_cuda::norms``, which ``torch._foreach_norm`` asks on CUDA."""

import math

import torch
from torch import library

from . import _native
from .attention import _library

_library.define("norms(Tensor[] tensors, float ord) -> Tensor")
_library.impl("norms", _native.norms, "CUDA")
library.register_fake("torch_cuda::norms", lambda tensors, ord: tensors[0].new_empty(len(tensors)))

DTYPES = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))


def norms(tensors, ord):
    """The norm of each tensor as one tensor, or None where the kernels do not take them, or a gradient is recorded."""
    first = tensors[0]
    if isinstance(ord, torch.Tensor) or float(ord) not in (1.0, 2.0, math.inf) or first.dtype not in DTYPES:
        return None
    if not all(
        t.is_cuda and t.device == first.device and t.dtype is first.dtype and t.is_contiguous() for t in tensors
    ):
        return None
    if float(ord) == math.inf and not all(t.numel() for t in tensors):
        return None  # the operator names what has no greatest element
    if any(t.requires_grad for t in tensors) and torch.is_grad_enabled():
        return None
    return torch.ops.torch_cuda.norms(list(tensors), float(ord))
