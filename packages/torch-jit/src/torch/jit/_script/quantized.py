"""Operators of quantized tensors in scripts: calls of Python when they run, and PyTorch's operators in archives; weights that are packed for them."""

from __future__ import annotations

import functools
import re

import torch

from .. import _ir as ir
from .. import _native
from .._quantized import dtype_of
from . import integers, types
from .library import FUNCTIONS, on
from .values import TupleOf

__all__ = ["emit", "function_of", "has", "name_of", "packed_type", "type_of_packed"]

CLASSES = "__torch__.torch.classes."
_CLASSES = frozenset(
    {
        "quantized.LinearPackedParamsBase", "quantized.Conv2dPackedParamsBase", "quantized.Conv3dPackedParamsBase", "quantized.EmbeddingPackedParamsBase",
        "rnn.CellParamsBase",
    }
)  # fmt: skip


@functools.cache
def packed_type(name):
    """The type of packed weights under the name of their class, such as ``quantized.LinearPackedParamsBase``; None where there is no such class."""
    name = name.removeprefix(CLASSES)
    return _native.host_type(CLASSES + name) if name in _CLASSES else None


def type_of_packed(value):
    """The type of a value that holds packed weights, or None."""
    name = getattr(type(value), "script_class", None)
    if isinstance(name, property):
        name = value.script_class
    return packed_type(name) if isinstance(name, str) else None


_LINEAR, _CONV2D, _CONV3D, _TABLE, _CELL = map(packed_type, (
    "quantized.LinearPackedParamsBase", "quantized.Conv2dPackedParamsBase", "quantized.Conv3dPackedParamsBase", "quantized.EmbeddingPackedParamsBase",
    "rnn.CellParamsBase",
))  # fmt: skip
_UNPACKED = ir.TupleType([types.TENSOR, ir.OptionalType(types.TENSOR)])
_INTS = ir.ListType(types.INT)

#: what operators of ``quantized`` give that is no tensor
_RESULTS = [
    (re.compile(pattern).fullmatch, result)
    for pattern, result in (
        (r"linear_prepack(_fp16)?", _LINEAR),
        (r"conv(_transpose)?[12]d_prepack", _CONV2D),
        (r"conv(_transpose)?3d_prepack", _CONV3D),
        (r"embedding_bag_prepack", _TABLE),
        (r"make_quantized_cell_params(_dynamic|_fp16)?", _CELL),
        (r"(linear|conv\dd|conv_transpose\dd)_unpack(_fp16)?", _UNPACKED),
        (r"conv(_transpose)?\dd_(stride|padding|dilation|output_padding)", _INTS),
        (r"conv(_transpose)?\dd_(groups|transpose)", types.INT),
        (r"quantized_lstm_cell_dynamic", ir.TupleType([types.TENSOR] * 2)),
    )
]
#: operators of ``aten`` that are about quantized tensors, and what they give
_ATEN = {
    **dict.fromkeys(
        (
            "quantize_per_tensor", "quantize_per_channel", "quantize_per_tensor_dynamic", "dequantize", "int_repr", "q_per_channel_scales", "q_per_channel_zero_points",
            "_make_per_tensor_quantized_tensor", "_make_per_channel_quantized_tensor",

        ),
        types.TENSOR,
    ),
    "q_scale": types.FLOAT, "q_zero_point": types.INT, "q_per_channel_axis": types.INT,
    "_choose_qparams_per_tensor": ir.TupleType([types.FLOAT, types.INT]),
    "quantized_lstm": ir.TupleType([types.TENSOR] * 3), "quantized_gru": ir.TupleType([types.TENSOR] * 2),
}  # fmt: skip
_OF_LAYERS = frozenset(name for name in _ATEN if name.startswith("quantized_"))


@functools.cache
def _function(kind):
    """The function of Python that an operator is, or None."""
    space, _, name = kind.partition("::")
    if space == "quantized":  # what the packet calls, which would look for stand-ins of fx first
        return getattr(getattr(torch.ops.quantized, name, None), "_function", None)
    if space != "aten" or name not in _ATEN:
        return None
    if name in _OF_LAYERS:
        return getattr(torch.ops.quantized, name)
    function = getattr(torch, name)
    if not name.startswith("quantize"):
        return function

    def quantize(*args, dtype=None, **kwargs):
        place = {"quantize_per_tensor": 3, "quantize_per_channel": 4, "quantize_per_tensor_dynamic": 1}[name]
        if len(args) > place:
            args = (*args[:place], dtype_of(args[place]), *args[place + 1 :])
        else:
            kwargs["dtype"] = dtype_of(dtype)
        return function(*args, **kwargs)

    return quantize


def function_of(kind):
    """What programs call for an operator of quantized tensors."""
    return _function(kind)


def has(kind):
    """Whether there is such an operator: ``quantized::linear``, ``aten::quantize_per_tensor``."""
    return _function(kind) is not None


def name_of(fn):
    """The operator that a Python object is, as ``quantized::linear``; or None."""
    if isinstance(fn, torch._ops.OpOverload):  # torch.ops.quantized.linear.default
        fn = fn.overloadpacket
    kind = getattr(fn, "_qualified_op_name", None)
    return kind if isinstance(kind, str) and kind.startswith("quantized::") and has(kind) else None


def _result(kind):
    space, _, name = kind.partition("::")
    if space == "aten":
        return _ATEN[name]
    return next((result for matches, result in _RESULTS if matches(name)), types.TENSOR)


def emit(emitter, kind, args, kwargs):
    """A call of an operator of quantized tensors."""
    named = list(kwargs)
    values = [emitter.argument(each) for each in (*args, *kwargs.values())]
    return _call(emitter, kind, values, named)


def _call(emitter, kind, values, named):
    if (row := integers.read(emitter, kind, values, named)) is not None:
        return row
    function, wanted = _function(kind), _result(kind)
    if kind == "aten::dequantize" and values and values[0].type().kind() == "ListType":
        wanted = ir.ListType(types.TENSOR)
    made = emitter.node("prim::PythonOp", values, [wanted])

    def call(*given):
        at = len(given) - len(named)
        return function(*given[:at], **dict(zip(named, given[at:])))

    made.ival_("pyobj", call if named else function)
    made.s_("name", kind.removeprefix("aten::"))
    made.s_("operator", ",".join([kind.removeprefix("aten::"), *named]))
    output = made.output()
    return TupleOf(emitter.elements(output)) if wanted.kind() == "TupleType" else output


def _registered(name):
    fn = getattr(torch, name)

    def handler(emitter, *args, **kwargs):
        return emit(emitter, f"aten::{name}", args, kwargs)

    FUNCTIONS[id(fn)] = fn, handler
    if hasattr(torch.Tensor, name):
        on("TensorType", name)(handler)


for _name in _ATEN:
    if _name not in _OF_LAYERS:
        _registered(_name)


#: methods of packed weights: the operator that does the same, by their class
_METHODS = {
    ("quantized.LinearPackedParamsBase", "unpack"): "linear_unpack",
    ("quantized.EmbeddingPackedParamsBase", "unpack"): "embedding_bag_unpack",
    **{
        (f"quantized.Conv{n}dPackedParamsBase", name): f"conv{n}d_{name}"
        for n in (2, 3)
        for name in ("unpack", "stride", "padding", "dilation", "output_padding", "groups", "transpose")
    },
}


def _of_packed(name):
    @on("PyObjectType", name)
    def handler(emitter, value, *args):
        operator = _METHODS.get((value.type().qualified_name().removeprefix(CLASSES), name))
        if operator is None or args:
            raise emitter.error(f"{value.type().annotation_str} has no method {name!r} for these arguments")
        return emit(emitter, f"quantized::{operator}", [value], {})


for _name in sorted({name for _, name in _METHODS}):
    _of_packed(_name)
