"""The face of Meta's accelerators, for which this stack has no kernels.

>>> torch.mtia.is_available(), torch.mtia.device_count()
(False, 0)
"""

from ._absent_device import fill

fill(globals(), "Meta's accelerators")
