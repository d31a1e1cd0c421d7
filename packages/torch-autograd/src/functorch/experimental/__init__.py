"""Functions that functorch tried out before ``torch.func`` had them; ``control_flow`` has branches and loops over tensors."""

from torch._pytree import _broadcast_to_and_flatten, tree_flatten
from torch._seams import need as _need
from torch.func import functionalize, hessian, jacfwd, jvp, vmap

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]


def chunk_vmap(func, in_dims=0, out_dims=0, randomness="error", chunks=2):
    """:func:`torch.vmap` in so many turns, each for a part of the examples.

    >>> import torch
    >>> chunk_vmap(torch.sin, chunks=3)(torch.zeros(4))
    tensor([0., 0., 0., 0.])
    """
    if chunks < 1:
        raise ValueError(f"chunk_vmap: chunks must be 1 or more, got {chunks}")

    def in_turns(*args, **kwargs):
        leaves, structure = tree_flatten(args)
        dims = _broadcast_to_and_flatten(tuple(in_dims) if isinstance(in_dims, list) else in_dims, structure)
        size = next(leaf.size(dim) for leaf, dim in zip(leaves, dims, strict=True) if dim is not None)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=max(1, -(-size // chunks)))(*args, **kwargs)

    return in_turns


def replace_all_batch_norm_modules_(root):
    """Batch norms of a module let go of their running statistics, so that they work within transforms.

    >>> import torch
    >>> replace_all_batch_norm_modules_(torch.nn.BatchNorm1d(2)).running_mean is None
    True
    """
    _need("nn")
    import torch

    return torch.func.replace_all_batch_norm_modules_(root)
