"""Tensors of other libraries without copies, by the DLPack protocol."""

from __future__ import annotations

import enum

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


class DLDeviceType(enum.IntEnum):
    """Kinds of devices, as the specification of DLPack numbers them."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor's memory, which one consumer may take.

    >>> torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2)))
    tensor([1., 1.])
    """
    return tensor.__dlpack__()


def from_dlpack(ext_tensor: Any, *, device: torch.device | str | int | None = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of an array with ``__dlpack__``, or of a capsule.

    >>> import numpy
    >>> a = numpy.zeros(2)
    >>> t = from_dlpack(a)
    >>> a[0] = 5
    >>> t
    tensor([5., 0.], dtype=torch.float64)
    """
    tensor = torch.from_dlpack(ext_tensor)
    if device is not None and tensor.device != torch.device(device):
        if copy is False:
            raise ValueError(
                f"from_dlpack: the array is on {tensor.device}, and copy=False forbids to move it to {device}"
            )
        return tensor.to(device)
    return tensor.clone() if copy else tensor
