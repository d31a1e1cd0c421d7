"""Attention over spread sequences: not there."""

from ..._absent import fill
from .. import REASON

fill(globals(), REASON, functions=["set_rotate_method", "context_parallel"])
