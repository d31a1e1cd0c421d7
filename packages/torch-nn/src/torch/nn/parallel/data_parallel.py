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
    return [_ordinal(device) for device in device_ids]


def _ordinal(device):
    """The number of a CUDA device, which programs compute with; "cuda" is the current one."""
    device = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    if device.type != "cuda":
        raise ValueError(f"DataParallel: expected CUDA devices in device_ids and output_device, got {device}")
    return torch.cuda.current_device() if device.index is None else device.index


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
        self.output_device = (self.device_ids or [None])[0] if output_device is None else _ordinal(output_device)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        first = torch.device(self.device_ids[0])
        for tensor in [*self.module.parameters(), *self.module.buffers()]:
            if tensor.device != first:
                raise RuntimeError(
                    f"module must have its parameters and buffers on device {first} (device_ids[0]) but found "
                    f"one of them on device: {tensor.device}"
                )
        parts, named = self.scatter(inputs, kwargs, self.device_ids)
        if not parts:
            parts, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*parts[0], **named[0])
        if len(parts) == 1:  # a batch that is too small to be cut
            return self.gather([self.module(*parts[0], **named[0])], self.output_device)
        replicas = self.replicate(self.module, self.device_ids[: len(parts)])
        return self.gather(self.parallel_apply(replicas, parts, named), self.output_device)

    # The steps, which classes of one's own override.

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Any) -> Any:
        """The pieces of the arguments for each device."""
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def replicate(self, module: Module, device_ids: Any) -> Any:
        """The module on each device."""
        return replicate(module, device_ids, detach=not torch.is_grad_enabled())

    def parallel_apply(self, replicas: Any, inputs: Any, kwargs: Any) -> Any:
        """The outputs of the copies."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """The outputs as one."""
        return gather(outputs, output_device, self.dim)


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
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))
