"""Quantization of modules: layers that hold small integers with a scale, and what is needed to get there.

Three ways lead there. ``quantize_dynamic`` turns the weights of linear and recurrent layers into 8-bit integers. ``prepare`` lets a
model watch examples, and ``convert`` then lets integers pass between layers too, from a ``QuantStub`` to a ``DeQuantStub``. ``prepare_qat`` trains
with the rounding in place.
"""
# ruff: noqa: F401, F403

import sys

from torch import _seams

from .fake_quantize import *
from .fake_quantize import Partial as _PartialWrapper
from .fuse_modules import *
from .fuser_method_mappings import *
from .histogram import HistogramObserver as HistogramObserver
from .observer import *
from .qconfig import *
from .qconfig_mapping import *
from .quant_type import *
from .quantization_mappings import *
from .quantize import *
from .stubs import *


def _refusing(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"torch.ao.quantization.{name}: programs are not quantized; prepare_fx and convert_fx quantize graphs, prepare and convert modules"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in (
    "convert_dynamic_jit", "convert_jit", "convert_pt2e", "fuse_conv_bn_jit", "prepare_dynamic_jit", "prepare_jit", "prepare_pt2e", "prepare_qat_pt2e",
    "quantize_dynamic_jit", "quantize_jit",
):  # fmt: skip
    globals()[_name] = _refusing(_name)


# convert_fx and its like need torch.fx
__getattr__, __dir__ = _seams.later(
    globals(),
    names=dict.fromkeys(("convert_fx", "fuse_fx", "prepare_fx", "prepare_qat_fx"), "quantize_fx"),
    modules=("backend_config", "fx", "quantize_fx", "utils"),
)

# torch.quantization is this module; its modules are these, not read once more under that name
for _name in (
    "fake_quantize",
    "fuse_modules",
    "fuser_method_mappings",
    "observer",
    "qconfig",
    "quant_type",
    "quantization_mappings",
    "quantize",
    "stubs",
):
    sys.modules[f"torch.quantization.{_name}"] = sys.modules[f"{__name__}.{_name}"]
