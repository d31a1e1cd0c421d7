"""The default device for a block or a function, under the names that libraries take from PyTorch's own modules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

__all__ = ["DeviceContext", "device_decorator", "set_device"]

_MAKERS = (
    "arange", "asarray", "as_tensor", "bartlett_window", "blackman_window", "empty", "empty_strided", "eye", "full",
    "hamming_window", "hann_window", "kaiser_window", "linspace", "logspace", "ones", "rand", "randint", "randn",
    "randperm", "range", "scalar_tensor", "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor",
    "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor", "tensor", "tril_indices", "triu_indices", "zeros",
)  # fmt: skip


def _device_constructors() -> set[Any]:
    """The functions that make a tensor on the default device.

    >>> torch.zeros in _device_constructors()
    True
    """
    return {getattr(torch, name) for name in _MAKERS}


class DeviceContext:
    """``with DeviceContext(device):`` is ``with torch.device(device):``.

    >>> with DeviceContext("meta"):
    ...     torch.ones(2).device
    device(type='meta')
    """

    def __init__(self, device: Any) -> None:
        self.device = torch.device(device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self.device.__exit__(*error)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function with ``device`` as its default device."""

    @functools.wraps(func)
    def within(*args: Any, **kwargs: Any) -> Any:
        with torch.device(device):
            return func(*args, **kwargs)

    return within


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a function: within it, tensors are made on ``device``.

    >>> set_device("meta")(torch.ones)(2).device
    device(type='meta')
    """
    return lambda func: device_decorator(torch.device(device), func)
