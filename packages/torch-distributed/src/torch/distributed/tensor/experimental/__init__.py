"""Not there."""

from ..._absent import fill
from .. import REASON

fill(globals(), REASON, functions=["implicit_replication", "local_map", "context_parallel", "register_sharding"])
