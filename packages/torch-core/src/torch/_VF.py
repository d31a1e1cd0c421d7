"""Functions of ``torch`` under the name that PyTorch's own modules call them by.

>>> torch._VF.einsum is torch.einsum
True
"""

import torch


def __getattr__(name):
    return getattr(torch, name)
