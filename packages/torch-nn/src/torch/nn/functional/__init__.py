# ruff: noqa: F403
"""The functions behind the layers: ``import torch.nn.functional as F``.

Where an operator of the core has the right signature, the name here is the operator itself; nothing of Python stands
between the call and it.  The others are in one file for each family.
"""

from __future__ import annotations

from ._linear_cross_entropy import *
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
from .margin import *
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

# What programs of 2018 reach through here: the module, and the name in it (None: the module itself).
_ELSEWHERE = {
    "grad": ("torch.nn.grad", None),
    "_Reduction": ("torch.nn._reduction", None),
    "utils": ("torch.nn.modules.utils", None),
    **{
        name: ("torch.nn.functional.attention", name)
        for name in (
            "_canonical_mask",
            "_check_key_padding_mask",
            "_in_projection",
            "_in_projection_packed",
            "_mha_shape_check",
            "_none_or_dtype",
        )
    },
    "_verify_batch_size": ("torch.nn.functional.normalization", "_verify_batch_size"),
    "_parse_to": ("torch._internals", "_parse_to"),
    **{
        name: ("torch.overrides", name)
        for name in (
            "handle_torch_function",
            "has_torch_function",
            "has_torch_function_unary",
            "has_torch_function_variadic",
        )
    },
    **{
        name: ("torch.nn.functional._scaled", name)
        for name in ("ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm")
    },
    **{name: ("torch.nn.modules.utils", name) for name in ("_single", "_pair", "_triple", "_list_with_default")},
}


TYPE_CHECKING = False
if TYPE_CHECKING:  # what type checkers see
    from torch import Tensor
    from torch import adaptive_avg_pool1d as adaptive_avg_pool1d
    from torch import avg_pool1d as avg_pool1d
    from torch import avg_pool2d as avg_pool2d
    from torch import avg_pool3d as avg_pool3d
    from torch import celu_ as celu_
    from torch import conv1d as conv1d
    from torch import conv2d as conv2d
    from torch import conv3d as conv3d
    from torch import conv_tbc as conv_tbc
    from torch import conv_transpose1d as conv_transpose1d
    from torch import conv_transpose2d as conv_transpose2d
    from torch import conv_transpose3d as conv_transpose3d
    from torch import elu_ as elu_
    from torch import gelu as gelu
    from torch import hardshrink as hardshrink
    from torch import hardtanh_ as hardtanh_
    from torch import leaky_relu_ as leaky_relu_
    from torch import prelu as prelu
    from torch import relu_ as relu_
    from torch import selu_ as selu_
    from torch import sigmoid as sigmoid
    from torch import softplus as softplus
    from torch import softshrink as softshrink
    from torch import tanh as tanh
    from torch import threshold_ as threshold_
    from torch.nn import grad as grad

    from ._scaled import ScalingType as ScalingType
    from ._scaled import SwizzleType as SwizzleType
    from ._scaled import grouped_mm as grouped_mm
    from ._scaled import scaled_grouped_mm as scaled_grouped_mm
    from ._scaled import scaled_mm as scaled_mm

    def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor: ...
    def logsigmoid(input: Tensor) -> Tensor: ...

else:

    def __getattr__(name):
        if name in _OPERATORS:
            value = getattr(ops, _OPERATORS[name])
        elif name in _ELSEWHERE:
            import importlib

            module, inside = _ELSEWHERE[name]
            value = importlib.import_module(module)
            value = value if inside is None else getattr(value, inside)
        else:
            from ..modules.module import _did_you_mean

            raise AttributeError(
                f"module 'torch.nn.functional' has no attribute {name!r}{_did_you_mean(name, __dir__())}"
            )
        globals()[name] = value
        return value


def __dir__():
    return sorted({*globals(), *_OPERATORS})
