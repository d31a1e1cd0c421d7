"""The names of ``torch.distributed.rpc.api`` that programs import."""

from .._absent import fill
from . import REASON

fill(globals(), REASON, [], ["_all_gather", "_require_initialized", "_wait_all"])
