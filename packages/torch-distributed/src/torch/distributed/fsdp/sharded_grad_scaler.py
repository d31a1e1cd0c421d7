"""Scaled gradients of spread parameters: not there."""

from .._absent import fill

fill(globals(), "use bfloat16, which needs no scaling", ["ShardedGradScaler"])
