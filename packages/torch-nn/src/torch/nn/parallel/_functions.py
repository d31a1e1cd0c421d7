"""The pieces of :mod:`torch.nn.parallel` by the names of PyTorch's functions with a gradient; here they are operators that
have one.
"""

from __future__ import annotations

import torch

__all__ = ["Broadcast", "Gather", "ReduceAddCoalesced", "Scatter"]


def _device(which):
    if isinstance(which, int):
        return torch.device("cpu") if which < 0 else torch.device("cuda", which)
    return torch.device(which)


class Broadcast:
    """Copies of tensors on each device, device by device."""

    @staticmethod
    def apply(target_gpus, *inputs):
        """
        >>> from torch.nn.parallel._functions import Broadcast
        >>> Broadcast.apply(["cpu", "cpu"], torch.ones(1))
        (tensor([1.]), tensor([1.]))
        """
        return tuple(x.to(_device(device)) for device in target_gpus for x in inputs)


class ReduceAddCoalesced:
    """Sums, on one device, of as many tensors of each of several devices."""

    @staticmethod
    def apply(destination, num_inputs, *grads):
        """
        >>> from torch.nn.parallel._functions import ReduceAddCoalesced
        >>> ReduceAddCoalesced.apply("cpu", 1, torch.ones(1), torch.ones(1))
        (tensor([2.]),)
        """
        if num_inputs < 1 or len(grads) % num_inputs:
            raise ValueError(f"ReduceAddCoalesced: {len(grads)} tensors are not {num_inputs} of each device")
        moved = [grad.to(_device(destination)) for grad in grads]
        return tuple(sum(moved[i + num_inputs :: num_inputs], moved[i]) for i in range(num_inputs))


class Scatter:
    """The parts of a tensor along ``dim``, each on its device."""

    @staticmethod
    def apply(target_gpus, chunk_sizes, dim, input):
        """
        >>> from torch.nn.parallel._functions import Scatter
        >>> Scatter.apply(["cpu", "cpu"], [1, 2], 0, torch.arange(3))
        (tensor([0]), tensor([1, 2]))
        """
        devices = list(target_gpus)
        parts = input.chunk(len(devices), dim) if chunk_sizes is None else input.split(list(chunk_sizes), dim)
        if len(parts) > len(devices):
            raise ValueError(f"Scatter: {len(parts)} parts {[p.shape[dim] for p in parts]} for {len(devices)} devices")
        return tuple(part.to(_device(device)) for part, device in zip(parts, devices))


class Gather:
    """Tensors of several devices, joined along ``dim`` on one."""

    @staticmethod
    def apply(target_device, dim, *inputs):
        """
        >>> from torch.nn.parallel._functions import Gather
        >>> Gather.apply("cpu", 0, torch.ones(1), torch.zeros(1))
        tensor([1., 0.])
        """
        parts = [x.to(_device(target_device)) for x in inputs]
        return torch.stack(parts) if all(x.dim() == 0 for x in parts) else torch.cat(parts, dim)


def _get_stream(device):
    """The stream on which parts are copied to a device; copies here go by the current one."""
    return
