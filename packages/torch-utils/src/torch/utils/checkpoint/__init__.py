"""Trades time for memory: what a part of a network saves for its backward pass is thrown away and computed again.

The part runs under hooks that keep a placeholder in place of each saved tensor. When the backward pass asks for the first
of them, the part runs once more, from the same inputs and random state, until it has saved as many tensors as before.
(T. Chen, B. Xu, C. Zhang, C. Guestrin, Training deep nets with sublinear memory cost, arXiv:1604.06174.)
"""

from .calls import (
    checkpoint,
    checkpoint_sequential,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from .devices import DefaultDeviceType, get_device_states, set_device_states
from .part import CheckpointError
from .reentrant import CheckpointFunction, check_backward_validity, detach_variable
from .selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SAC_IGNORED_OPS",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]
