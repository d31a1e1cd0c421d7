"""The face of Apple's GPUs, for which this stack has no kernels.

>>> torch.mps.is_available(), torch.mps.device_count()
(False, 0)
"""

from ._absent_device import fill

fill(globals(), "Apple's GPUs")
