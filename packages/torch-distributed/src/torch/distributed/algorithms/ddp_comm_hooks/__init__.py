# ruff: noqa: F401
"""Ways to send the gradients of a ``DistributedDataParallel`` (``register_comm_hook``)."""

import enum
from functools import partial

from . import ddp_zero_hook, debugging_hooks, default_hooks, post_localSGD_hook, powerSGD_hook, quantization_hooks
from .default_hooks import allreduce_hook, bf16_compress_hook, fp16_compress_hook

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class DDPCommHookType(enum.Enum):
    """The hooks by name."""

    ALLREDUCE = "ALLREDUCE"
    FP16_COMPRESS = "FP16_COMPRESS"
    BF16_COMPRESS = "BF16_COMPRESS"
    QUANTIZE_PER_TENSOR = "QUANTIZE_PER_TENSOR"
    QUANTIZE_PER_CHANNEL = "QUANTIZE_PER_CHANNEL"
    POWER_SGD = "POWER_SGD"
    POWER_SGD_RANK2 = "POWER_SGD_RANK2"
    BATCHED_POWER_SGD = "BATCHED_POWER_SGD"
    BATCHED_POWER_SGD_RANK2 = "BATCHED_POWER_SGD_RANK2"
    NOOP = "NOOP"


_PLAIN = {
    "ALLREDUCE": default_hooks.allreduce_hook,
    "FP16_COMPRESS": default_hooks.fp16_compress_hook,
    "BF16_COMPRESS": default_hooks.bf16_compress_hook,
    "QUANTIZE_PER_TENSOR": quantization_hooks.quantization_pertensor_hook,
    "QUANTIZE_PER_CHANNEL": quantization_hooks.quantization_perchannel_hook,
    "NOOP": debugging_hooks.noop_hook,
}
_POWER = {
    "POWER_SGD": (powerSGD_hook.powerSGD_hook, 1),
    "POWER_SGD_RANK2": (powerSGD_hook.powerSGD_hook, 2),
    "BATCHED_POWER_SGD": (powerSGD_hook.batched_powerSGD_hook, 1),
    "BATCHED_POWER_SGD_RANK2": (powerSGD_hook.batched_powerSGD_hook, 2),
}


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model, state=None) -> None:
    """Register the hook of a name; ``state`` is the group."""
    if comm_hook_type.name in _PLAIN:
        model.register_comm_hook(state, _PLAIN[comm_hook_type.name])
        return
    hook, rank = _POWER[comm_hook_type.name]
    make = partial(powerSGD_hook.PowerSGDState, matrix_approximation_rank=rank)
    model.register_comm_hook(make(state), hook)
