"""Computing in fewer bits than parameters are kept in, and sending gradients in fewer bits too."""

from dataclasses import dataclass

import torch
from torch._pytree import tree_map_only

from ..algorithms.ddp_comm_hooks.default_hooks import _compressed

__all__ = ["_MixedPrecision"]


@dataclass
class _MixedPrecision:
    """In which dtypes ``DistributedDataParallel`` computes; parameters, their gradients and optimizers keep their own.

    Args:
        param_dtype: of the parameters and inputs that forward and backward see
        reduce_dtype: in which gradients are sent and summed; ``param_dtype`` unless given
        buffer_dtype: of the module's buffers, from the start
        cast_forward_inputs: whether floating inputs are cast to ``param_dtype``

    >>> import torch, torch.distributed as dist
    >>> from torch.nn.parallel.distributed import _MixedPrecision
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> half = _MixedPrecision(param_dtype=torch.bfloat16)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1), mixed_precision=half)
    >>> out = model(torch.ones(4, 2))
    >>> out.sum().backward()
    >>> out.dtype, model.module.weight.grad.dtype
    (torch.bfloat16, torch.float32)
    >>> dist.destroy_process_group()
    """

    __module__ = "torch.nn.parallel.distributed"

    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    buffer_dtype: torch.dtype | None = None
    cast_forward_inputs: bool = True


def check(policy, ddp):
    """The policy's dtypes are floating ones; the buffers take theirs."""
    if not isinstance(policy, _MixedPrecision):
        raise TypeError(f"DistributedDataParallel: mixed_precision must be a _MixedPrecision, got {policy!r}")
    for name in ("param_dtype", "reduce_dtype", "buffer_dtype"):
        dtype = getattr(policy, name)
        if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise ValueError(f"DistributedDataParallel: mixed_precision.{name} must be a floating dtype, got {dtype!r}")
    if policy.buffer_dtype is not None:
        for buffer in ddp._buffers_to_sync():
            if buffer.is_floating_point():
                buffer.data = buffer.data.to(policy.buffer_dtype)


def hook(policy, group):
    """How gradients are sent, as a communication hook and its state; None where they keep their dtype."""
    dtype = policy.reduce_dtype or policy.param_dtype
    return None if dtype is None else (group, lambda state, bucket: _compressed(dtype, state, bucket))


def forward(ddp, inputs, kwargs):
    """The module's outputs, computed with casts of its parameters; gradients flow through the casts to the parameters."""
    policy = ddp.mixed_precision
    if policy.param_dtype is None:
        return ddp.module(*inputs, **kwargs)

    def cast(tensor):
        return tensor.to(policy.param_dtype) if tensor.is_floating_point() else tensor

    if policy.cast_forward_inputs:
        inputs, kwargs = tree_map_only(torch.Tensor, cast, (inputs, kwargs))
    parameters = {name: cast(p) for name, p in ddp.module.named_parameters() if name not in ddp.parameters_to_ignore}
    return torch.func.functional_call(ddp.module, parameters, inputs, kwargs)
