"""Copies between several devices."""

from ._absent import functions, plugin

if plugin is not None and plugin.is_available():
    from torch._cuda.comm import *  # noqa: F403
else:
    functions(globals(), "broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter")
