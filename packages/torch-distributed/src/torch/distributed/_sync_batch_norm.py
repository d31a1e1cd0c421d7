"""Batch norm over the batches of all ranks: the statistics are those of all batches together, also in backward."""

import torch

from . import _world as world
from .nn.functional import all_reduce


def sync_batch_norm(input, weight, bias, running_mean, running_var, eps, momentum, group):
    """Normalise (N, C, *) by mean and variance of all ranks' batches; the running statistics move by ``momentum``."""
    group = world.resolve(group)
    dims = [0, *range(2, input.dim())]
    shape = [1, -1] + [1] * (input.dim() - 2)
    rows = input.new_tensor([input.numel() // input.shape[1]], dtype=torch.float64)
    totals = all_reduce(torch.cat([input.sum(dims).double(), rows]), group=group)
    count = totals[-1].detach()
    if count <= 1:
        raise ValueError(f"SyncBatchNorm: expected more than 1 value per channel over all ranks, got {int(count)}")
    mean = (totals[:-1] / count).to(input.dtype)
    centred = input - mean.view(shape)
    # Squares of what is left, rather than of the values: no digits are lost where the mean is large.
    variance = (all_reduce(centred.square().sum(dims).double(), group=group) / count).to(input.dtype)
    if running_mean is not None:
        with torch.no_grad():
            running_mean.lerp_(mean.detach().to(running_mean.dtype), momentum)
            running_var.lerp_(
                (variance.detach() * (count / (count - 1)).to(input.dtype)).to(running_var.dtype), momentum
            )
    result = centred * (variance + eps).rsqrt().view(shape)
    if weight is not None:
        result = result * weight.view(shape)
    return result if bias is None else result + bias.view(shape)
