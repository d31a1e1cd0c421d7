"""Data parallelism over the GPUs of one machine."""

from __future__ import annotations

import torch

from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


__all__ = ["DataParallel", "data_parallel"]


def _available():
    cuda = getattr(torch, "cuda", None)
    return list(range(cuda.device_count())) if cuda is not None and cuda.is_available() else []


def _devices(device_ids):
    """The devices to use: the given ones, else all GPUs; none at all means to run the module as it is."""
    available = _available()
    if device_ids is None:
        device_ids = available
    if device_ids and not available:
        raise RuntimeError(
            f"DataParallel: device_ids={list(device_ids)} asks for CUDA devices, and there are none (install "
            "torch-core-cuda on a machine with a GPU); device_ids=[] runs the module on the CPU"
        )
    return [f"cuda:{i}" if isinstance(i, int) else i for i in device_ids]


class DataParallel(Module):
    """Splits each batch over the GPUs, runs copies of ``module`` on the parts, and joins the outputs.

    Gradients are summed into ``module``.  Without GPUs it runs ``module`` itself.

    >>> torch.nn.DataParallel(torch.nn.Linear(2, 3))(torch.zeros(4, 2)).shape
    torch.Size([4, 3])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[torch.device | str | int] | None = None,
        output_device: torch.device | str | int | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        self.device_ids = _devices(device_ids)
        self.output_device = output_device if output_device is not None else (self.device_ids or [None])[0]

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        return _run(self.module, inputs, kwargs, self.device_ids, self.output_device, self.dim)


def _run(module, inputs, kwargs, devices, output_device, dim):
    for tensor in [*module.parameters(), *module.buffers()]:
        if tensor.device != torch.device(devices[0]):
            raise RuntimeError(
                f"module must have its parameters and buffers on device {devices[0]} (device_ids[0]) but found one of "
                f"them on device: {tensor.device}"
            )
    inputs, kwargs = scatter_kwargs(inputs, kwargs, devices, dim)
    if not inputs:
        inputs, kwargs = ((),), ({},)
    if len(devices) == 1:
        return module(*inputs[0], **kwargs[0])
    if len(inputs) == 1:  # a batch that is too small to be cut
        return gather([module(*inputs[0], **kwargs[0])], output_device, dim)
    replicas = replicate(module, devices[: len(inputs)], detach=not torch.is_grad_enabled())
    return gather(parallel_apply(replicas, inputs, kwargs, devices), output_device, dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[torch.device | str | int] | None = None,
    output_device: torch.device | str | int | None = None,
    dim: int = 0,
    module_kwargs: Any | None = None,
) -> Tensor:
    """One call of :class:`DataParallel`.

    >>> torch.nn.parallel.data_parallel(torch.nn.ReLU(), torch.tensor([-1.0, 2.0]), device_ids=[])
    tensor([0., 2.])
    """
    inputs = () if inputs is None else inputs if isinstance(inputs, tuple) else (inputs,)
    devices = _devices(device_ids)
    if not devices:
        return module(*inputs, **(module_kwargs or {}))
    output_device = devices[0] if output_device is None else output_device
    return _run(module, inputs, module_kwargs or {}, devices, output_device, dim)
