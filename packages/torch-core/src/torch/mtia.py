"""The face of Meta's accelerators, for which this stack has no kernels.

>>> torch.mtia.is_available(), torch.mtia.device_count()
(False, 0)
"""

from ._absent_device import fill

TYPE_CHECKING = False
if TYPE_CHECKING:  # what is filled in, for type checkers
    from typing import Any

    def __getattr__(name: str) -> Any: ...


fill(globals(), "Meta's accelerators")
