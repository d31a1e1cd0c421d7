"""Training with parameters, gradients and optimizer state spread over ranks (Rajbhandari 2020, stage 3).

:func:`fully_shard` puts it on a module, :class:`FullyShardedDataParallel` is its older face.
"""

from .._absent import absent_class
from . import wrap  # noqa: F401
from ._fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method, share_comm_ctx
from .api import *  # noqa: F403
from .api import __all__ as _settings
from .fully_sharded_data_parallel import FullyShardedDataParallel

__all__ = [
    *_settings, "FSDPModule", "FullyShardedDataParallel", "UnshardHandle", "fully_shard",
    "register_fsdp_forward_method", "share_comm_ctx",
]  # fmt: skip
FlatParameter = absent_class(__name__, "FlatParameter", "parameters keep their names and shapes")
