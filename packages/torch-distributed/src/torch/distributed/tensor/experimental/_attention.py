"""Attention over spread sequences: not there."""

from ..._absent import fill

fill(globals(), "sequences are whole on each rank", functions=["set_rotate_method", "context_parallel"])
