"""The average of the ranks' parameters."""

import torch

from ... import _collectives as collectives
from ... import _world as world

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


@torch.no_grad()
def average_parameters(params, process_group) -> None:
    """Replace every parameter by its mean over the ranks of a group."""
    group = world.resolve(process_group)
    by_dtype: dict = {}
    for parameter in params:
        by_dtype.setdefault(parameter.dtype, []).append(parameter.detach())
    for alike in by_dtype.values():
        line = torch.cat([p.reshape(-1) for p in alike]).div_(group.size())
        collectives.all_reduce(line, group=group)
        for parameter, mean in zip(alike, line.split([p.numel() for p in alike]), strict=True):
            parameter.copy_(mean.view(parameter.shape))


def get_params_to_average(params) -> list:
    """Those that have a gradient, of parameters or of an optimizer's groups."""
    found = []
    for one in params:
        if isinstance(one, torch.Tensor):
            found += [one] if one.grad is not None else []
        elif isinstance(one, dict):
            found += [parameter for parameter in one["params"] if parameter.grad is not None]
        else:
            raise NotImplementedError(f"Parameter input of type {type(one)} is not supported")
    return found


def average_parameters_or_parameter_groups(params, process_group) -> None:
    """:func:`average_parameters` of those that have a gradient."""
    average_parameters(get_params_to_average(params), process_group)
