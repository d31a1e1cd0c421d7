# ruff: noqa: F403
"""Running a module on several devices of one machine."""

from torch import _seams

from .data_parallel import *
from .parallel_apply import *
from .replicate import *
from .scatter_gather import *

TYPE_CHECKING = False
if TYPE_CHECKING:  # of another part, which does not have to be there
    from torch.distributed import DistributedDataParallel as DistributedDataParallel

__getattr__, __dir__ = _seams.later(
    globals(), names=dict.fromkeys(("DistributedDataParallel", "DistributedDataParallelCPU"), "distributed")
)
