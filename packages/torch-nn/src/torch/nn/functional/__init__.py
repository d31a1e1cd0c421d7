# ruff: noqa: F403
"""The functions behind the layers: ``import torch.nn.functional as F``.

Where an operator of the core has the right signature, the name here is the operator itself; nothing of Python stands
between the call and it.  The others are in one file for each family.
"""

from ._ops import ops
from .activation import *
from .attention import *
from .bilinear import *
from .ctc import *
from .distance import *
from .dropout import *
from .embedding import *
from .interpolate import *
from .loss import *
from .normalization import *
from .padding import *
from .pooling import *
from .sampling import *
from .shuffle import *
from .windows import *

# What is an operator as it stands, under its name there.
_OPERATORS = {
    name: name
    for name in (
        "linear", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
        "conv_transpose3d", "adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "sigmoid", "tanh", "gelu",
        "softplus", "softshrink", "hardshrink", "prelu", "relu_", "elu_", "selu_", "celu_", "leaky_relu_", "hardtanh_",
        "threshold_",
    )
} | {"logsigmoid": "log_sigmoid"}  # fmt: skip


def __getattr__(name):
    if name not in _OPERATORS:
        raise AttributeError(f"module 'torch.nn.functional' has no attribute {name!r}")
    operator = globals()[name] = getattr(ops, _OPERATORS[name])
    return operator


def __dir__():
    return sorted({*globals(), *_OPERATORS})
