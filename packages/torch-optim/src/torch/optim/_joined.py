"""Parameters whose step is one launch: plain tensors on CUDA that lie in memory without gaps, as their gradients and states do."""

from __future__ import annotations

import collections

import torch
from torch import _seams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

__all__ = ["joined_of", "like_parameter", "may_join"]

#: what the kernels compute
DTYPES = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))
#: of classes that are no wrappers
PLAIN = (torch.Tensor.__torch_function__, _seams.no_torch_function)


def joined_of(group: dict[str, Any]) -> dict[Any, list[tuple[Tensor, Tensor]]] | None:
    """A place for pairs of parameters and gradients, by device and dtype; None where the group says not to."""
    if group.get("differentiable") or (group.get("foreach") is False and not group.get("fused")):
        return None
    return collections.defaultdict(list)


def is_plain(t: Tensor) -> bool:
    return (
        t.__torch_function__ in PLAIN
        and type(t).__torch_dispatch__ is _seams.no_torch_dispatch
        and t.layout is torch.strided
        and (t.is_contiguous() or (t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last)))
    )


def like_parameter(p: Tensor, t: Any) -> bool:
    """Whether a gradient or a state lies as its parameter does."""
    return t.dtype is p.dtype and t.device == p.device and t.stride() == p.stride() and t.shape == p.shape


def may_join(p: Tensor, g: Tensor) -> bool:
    return p.is_cuda and p.dtype in DTYPES and is_plain(p) and is_plain(g) and like_parameter(p, g)
