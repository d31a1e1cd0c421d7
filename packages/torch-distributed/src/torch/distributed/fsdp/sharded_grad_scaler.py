"""Scaled gradients of spread parameters: not there."""

from .._absent import fill
from . import REASON

fill(globals(), REASON, ["ShardedGradScaler"])
