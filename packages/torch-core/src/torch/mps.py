"""The face of Apple's GPUs, for which this stack has no kernels.

>>> torch.mps.is_available(), torch.mps.device_count()
(False, 0)
"""

import sys

from ._absent_device import fill

TYPE_CHECKING = False
if TYPE_CHECKING:  # what is filled in, for type checkers
    from typing import Any

    def __getattr__(name: str) -> Any: ...


fill(globals(), "Apple's GPUs")

sys.modules[__name__ + ".event"] = event = sys.modules[__name__]  # where PyTorch has Event
