"""Sparse gradients: ranks tell each other which rows they have, and what is in them."""

import torch
from torch import nn

from .. import _collectives as collectives

__all__ = ["averaged", "parameters_of_sparse_layers"]


def parameters_of_sparse_layers(module) -> set:
    """The ids of parameters whose gradients will be sparse."""
    layers = (part for part in module.modules() if isinstance(part, (nn.Embedding, nn.EmbeddingBag)) and part.sparse)
    return {id(layer.weight) for layer in layers}


def averaged(parameter, group, divisor):
    """The sum of all ranks' sparse gradients over ``divisor``, or None if no rank has one; the same bits on each."""
    grad = parameter.grad
    if grad is None:
        rows, values = torch.empty(0, dtype=torch.int64), parameter.detach().new_empty((0, *parameter.shape[1:]))
    else:
        grad = grad.coalesce()
        rows, values = grad.indices()[0], grad.values()
    counts = [torch.zeros(2, dtype=torch.int64) for _ in range(group.size())]
    collectives.all_gather(counts, torch.tensor([len(rows), grad is not None]), group)
    if not any(int(there) for _, there in counts):
        return None
    lengths = [int(length) for length, _ in counts]
    all_rows = [rows.new_empty(length) for length in lengths]
    all_values = [values.new_empty((length, *parameter.shape[1:])) for length in lengths]
    collectives.all_gather(all_rows, rows.contiguous(), group)
    collectives.all_gather(all_values, values.contiguous(), group)
    total = torch.cat(all_values) / divisor
    return torch.sparse_coo_tensor(torch.cat(all_rows).unsqueeze(0), total, parameter.shape).coalesce()
