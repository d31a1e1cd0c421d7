"""Modules that compute their activations again in backward: torch.utils.checkpoint does it function by function."""

from ..._absent import fill

fill(
    globals(),
    "call torch.utils.checkpoint.checkpoint(module, *inputs) in forward",
    ["CheckpointWrapper", "OffloadWrapper"],
    ["checkpoint_wrapper", "offload_wrapper", "apply_activation_checkpointing"],
    {"CheckpointImpl": ["REENTRANT", "NO_REENTRANT"]},
)
