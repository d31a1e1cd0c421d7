"""The face of Apple's GPUs, for which this stack has no kernels.

>>> torch.mps.is_available(), torch.mps.device_count()
(False, 0)
"""

import sys

from ._absent_device import fill

fill(globals(), "Apple's GPUs")

sys.modules[__name__ + ".event"] = event = sys.modules[__name__]  # where PyTorch has Event
