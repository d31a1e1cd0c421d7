"""Distances and norms of vectors."""

from __future__ import annotations

import torch

from ._asking import asking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


__all__ = ["cosine_similarity", "normalize", "pairwise_distance", "pdist"]


@asking(2)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """``norm(x1 - x2 + eps, p)`` along the last dim; the others broadcast.

    >>> pairwise_distance(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    return torch.norm(x1 - x2 + eps, p=p, dim=-1, keepdim=keepdim)


@asking(2)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``x1 . x2 / (|x1| |x2|)`` along ``dim``, each norm at least ``eps``; shapes broadcast.

    >>> torch.nn.functional.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    x1, x2 = torch.broadcast_tensors(x1, x2)
    dtype = torch.promote_types(x1.dtype, x2.dtype)
    if not dtype.is_floating_point:
        raise RuntimeError(f"cosine_similarity: expected floating point tensors, got {x1.dtype} and {x2.dtype}")
    x1, x2 = x1.to(dtype), x2.to(dtype)

    def unit(x):  # below eps the norm has its gradient, as in PyTorch, though not its value
        norm = torch.norm(x, p=2, dim=dim, keepdim=True)
        return x / torch.where(norm < eps, norm - norm.detach() + eps, norm)

    return (unit(x1) * unit(x2)).sum(dim)


@asking(1)
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """``x / max(norm(x, p), eps)`` along ``dim``.

    >>> normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    norm = torch.norm(input, p=p, dim=dim, keepdim=True).clamp(min=eps)
    return input / norm if out is None else torch.div(input, norm, out=out)


pdist = torch.pdist
