"""The face of Intel's GPUs, for which this stack has no kernels.

>>> torch.xpu.is_available(), torch.xpu.device_count()
(False, 0)
"""

from ._absent_device import fill

fill(globals(), "Intel's GPUs")
