"""Not there."""

from ..._absent import fill

REASON = "DTensors meet other tensors by from_local and to_local"
fill(globals(), REASON, functions=["implicit_replication", "local_map", "context_parallel", "register_sharding"])
