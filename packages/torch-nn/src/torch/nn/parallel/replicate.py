"""Copies of a module on several devices, through which gradients reach the original."""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


__all__ = ["replicate"]


def replicate(network: Any, devices: Sequence[torch.device | str | int], detach: bool = False) -> Any:
    """One copy of ``network`` for each device; its parameters are copies that the original's gradients flow through.

    >>> torch.nn.parallel.replicate(torch.nn.ReLU(), ["cpu"])
    [ReLU()]
    """
    return [_copy_to(torch.device(device), network, detach) for device in devices]


def _broadcast_coalesced_reshape(tensors, devices, detach=False):
    """For each device a list of copies of the tensors, through which gradients reach them unless ``detach`` is set.

    >>> [[copy.tolist() for copy in copies] for copies in _broadcast_coalesced_reshape([torch.ones(2)], ["cpu", "cpu"])]
    [[[1.0, 1.0]], [[1.0, 1.0]]]
    """
    return [[_on(torch.device(device), tensor, detach) for tensor in tensors] for device in devices]


def _on(device, tensor, detach):
    source = tensor.detach() if detach else tensor
    return (
        source.expand_as(source) if tensor.device == device else source.to(device)
    )  # also of a gradient that is sparse


def _copy_to(device, network, detach):
    moved = {}

    def move(tensor):
        if tensor is not None and id(tensor) not in moved:
            moved[id(tensor)] = _on(device, tensor, detach)
        return None if tensor is None else moved[id(tensor)]

    replicas = {module: module._replicate_for_data_parallel() for module in network.modules()}
    for module, replica in replicas.items():
        for name, child in module._modules.items():
            replica._modules[name] = None if child is None else replicas[child]
        for name, parameter in module._parameters.items():
            # a plain attribute: the copy is a computed tensor, not a parameter of the replica
            replica.__dict__[name] = move(parameter)
        for name, buffer in module._buffers.items():
            replica._buffers[name] = move(buffer)
    return replicas[network]
