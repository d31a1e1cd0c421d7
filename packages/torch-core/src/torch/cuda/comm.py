"""Copies between several devices."""

from ._absent import functions

functions(globals(), "broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter")
