"""Tensor Comprehensions under the name of their package of 2018; the same objects as in ``torch.tc``.

>>> import tensor_comprehensions as tc, torch.tc
>>> tc.define is torch.tc.define
True
"""

import sys

import torch.tc
from torch.tc import *  # noqa: F403
from torch.tc import __all__ as __all__

sys.modules[__name__ + ".options"] = torch.tc.options
