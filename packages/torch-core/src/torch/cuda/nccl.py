"""NCCL's collectives between the devices of this process."""

from __future__ import annotations

from ._absent import functions, kind, plugin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class NcclError(RuntimeError):
    """NCCL reports an error.

    >>> issubclass(torch.cuda.nccl.NcclError, RuntimeError)
    True
    """


if plugin is not None and plugin.is_available():
    from torch._cuda.nccl import *  # noqa: F403
else:
    NcclComm, NcclCommList, communicator = (
        kind(n, module=__name__) for n in ("NcclComm", "NcclCommList", "communicator")
    )
    cudaStream = kind("cudaStream", module=__name__)

    def is_available(tensors: Any) -> Any:
        """Whether NCCL can work on these tensors: it cannot without devices.

        >>> torch.cuda.nccl.is_available([])
        False
        """
        return False

    functions(
        globals(),
        *(
            "all_gather",
            "all_reduce",
            "broadcast",
            "check_error",
            "init_rank",
            "reduce",
            "reduce_scatter",
            "unique_id",
            "version",
        ),
    )
