"""Tensors sorted by device and dtype, for functions that work on lists of them."""

import torch

__all__ = []


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Lists of equal length, cut into lists of one device and dtype: those of the first list decide.

    Gives for each (device, dtype) the lists and, with ``with_indices``, the places in the lists that were given.

    >>> _group_tensors_by_device_and_dtype([[torch.ones(1), torch.ones(1).int()]], with_indices=True)[torch.device("cpu"), torch.int32]
    ([[tensor([1], dtype=torch.int32)]], [1])
    """
    if len({len(one) for one in tensorlistlist}) > 1:
        raise RuntimeError(f"expected lists of one length, got {[len(one) for one in tensorlistlist]}")
    groups = {}
    for place, first in enumerate(tensorlistlist[0] if tensorlistlist else ()):
        if first is None:
            raise RuntimeError(f"the first list must hold tensors, got None at {place}")
        lists, places = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for into, one in zip(lists, tensorlistlist, strict=True):
            into.append(one[place])
        if with_indices:
            places.append(place)
    return groups


def _get_foreach_kernels_supported_devices():
    """Devices on which functions of lists are one call: none, they are loops here."""
    return []


def _get_fused_kernels_supported_devices():
    """Devices on which optimizers are one call: none."""
    return []


def __getattr__(name):
    if name == "_foreach_supported_types":  # when it is asked for: torch.nn is another distribution
        return [torch.Tensor, torch.nn.parameter.Parameter]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _has_foreach_support(tensors, device):
    """Whether functions of lists are one call for these tensors: they are loops here."""
    return False


def _device_has_foreach_support(device):
    """Whether functions of lists are one call on this device: they are loops here."""
    return False
