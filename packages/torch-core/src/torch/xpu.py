"""The face of Intel's GPUs, for which this stack has no kernels.

>>> torch.xpu.is_available(), torch.xpu.device_count()
(False, 0)
"""

from ._absent_device import fill

TYPE_CHECKING = False
if TYPE_CHECKING:  # what is filled in, for type checkers
    from typing import Any

    def __getattr__(name: str) -> Any: ...


fill(globals(), "Intel's GPUs")
