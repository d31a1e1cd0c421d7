"""What functions that write operators as ONNX are made with; libraries decorate theirs at import.

>>> from torch.onnx.symbolic_helper import parse_args
>>> @parse_args("v", "i")
... def twice(g, x, times):
...     return g.op("Mul", x, g.op("Constant", value_t=torch.tensor(float(times))))
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from . import TensorProtoDataType
from ._custom import Operand
from ._types import DTYPES, NUMBERS
from .errors import OnnxExporterError, SymbolicValueError

#: names of dtypes in 2018
NAMES = {
    torch.uint8: "Byte", torch.int8: "Char", torch.float64: "Double", torch.float32: "Float", torch.float16: "Half",
    torch.int32: "Int", torch.int64: "Long", torch.int16: "Short", torch.bool: "Bool", torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble", torch.bfloat16: "BFloat16",
}  # fmt: skip
#: scalar types by those names
cast_pytorch_to_onnx = {name: TensorProtoDataType(NUMBERS[dtype]) for dtype, name in NAMES.items()}
scalar_name_to_pytorch = {
    "uint8_t": "Byte", "int8_t": "Char", "double": "Double", "float": "Float", "half": "Half", "int": "Int",
    "int64_t": "Long", "int16_t": "Short", "bool": "Bool", "bfloat16": "BFloat16",
}  # fmt: skip
pytorch_name_to_type = {name: dtype for dtype, name in NAMES.items()}
#: PyTorch's numbers of dtypes, in their order
scalar_type_to_pytorch_type = [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64, None,
    torch.complex64, torch.complex128, torch.bool, None, None, None, torch.bfloat16,
]  # fmt: skip
scalar_type_to_onnx = [TensorProtoDataType(NUMBERS.get(d, 1)) for d in scalar_type_to_pytorch_type]

_PARSERS = {
    "i": int, "f": float, "b": bool, "s": str, "is": lambda v: [int(x) for x in v], "fs": lambda v: [float(x) for x in v],
    "t": lambda v: v if isinstance(v, torch.Tensor) else torch.tensor(v), "none": lambda v: v,
}  # fmt: skip


def _parse_arg(value: Any, desc: str, arg_name: str | None = None, node_name: str | None = None) -> Any:
    """An argument as a function wants it: "v" as it is, "i", "f", "is", ... as constants of Python."""
    if desc == "none" or desc == "v" or not isinstance(value, Operand):
        return value
    if not value.is_constant:
        if value.constant is None:
            raise SymbolicValueError(
                f"{node_name or 'a function that writes an operator'}: argument {arg_name or '?'} must be a constant "
                f"({desc!r}), and is computed: {value}"
            )
    if value.mustBeNone():
        return None
    constant = value.constant
    if isinstance(constant, list) and any(isinstance(v, Operand) for v in constant):
        constant = [_parse_arg(v, desc.rstrip("s"), arg_name, node_name) for v in constant]
    return _PARSERS[desc](constant)


def parse_args(*arg_descriptors: str) -> Any:
    """A decorator that says what the arguments of a function are: "v" a value, "i", "f", "is", "fs" constants, ..."""

    def decorate(function):
        function._arg_descriptors = list(arg_descriptors)

        @functools.wraps(function)
        def parsed(g, *args, **kwargs):
            if len(args) > len(arg_descriptors):
                raise OnnxExporterError(
                    f"{function.__name__} takes {len(arg_descriptors)} arguments, the operator has {len(args)}"
                )
            return function(
                g,
                *(
                    _parse_arg(a, d, str(i), function.__name__)
                    for i, (a, d) in enumerate(zip(args, arg_descriptors, strict=False))
                ),
                **kwargs,
            )

        return parsed

    return decorate


def quantized_args(
    *arg_q_descriptors: bool, scale: Any = None, zero_point: Any = None, quantize_output: bool = True
) -> Any:
    """A decorator that notes which arguments may be quantized; there are no quantized tensors."""
    return lambda function: function


# --- questions about values ---


def _is_value(x: Any) -> bool:
    return isinstance(x, Operand)


def _is_none(x: Any) -> bool:
    return x is None or (isinstance(x, Operand) and x.mustBeNone())


def _is_constant(value: Any) -> bool:
    return not isinstance(value, Operand) or value.is_constant or isinstance(value.constant, torch.Tensor)


def _maybe_get_const(value: Any, descriptor: str) -> Any:
    return _parse_arg(value, descriptor) if _is_constant(value) else value


def _get_const(value: Any, desc: str, arg_name: str) -> Any:
    if not _is_constant(value):
        raise SymbolicValueError(f"argument {arg_name} must be a constant, and is computed: {value}")
    return _parse_arg(value, desc, arg_name)


def _maybe_get_scalar(value: Any) -> Any:
    found = _maybe_get_const(value, "t")
    return found if isinstance(found, torch.Tensor) and found.dim() == 0 else value


def _get_tensor_sizes(x: Any, allow_nonstatic: bool = True) -> Any:
    return x.type().sizes()


def _get_tensor_dim_size(x: Any, dim: int) -> int | None:
    sizes = x.type().sizes()
    return sizes[dim] if sizes else None


def _get_tensor_rank(x: Any) -> int | None:
    return x.type().dim()


def _get_dim_for_cross(x: Any, dim: Any) -> int | None:
    if dim is not None and dim != -1:
        return dim
    return next((i for i, size in enumerate(x.type().sizes() or ()) if size == 3), None)


def _unpack_list(value: Any) -> list:
    return list(value.constant) if isinstance(value, Operand) else list(value)


def _is_packed_list(value: Any) -> bool:
    return isinstance(value, Operand) and isinstance(value.constant, (list, tuple))


def _is_fp(value: Any) -> bool:
    dtype = value.type().dtype() if isinstance(value, Operand) else getattr(value, "dtype", None)
    return dtype is not None and dtype.is_floating_point


def _is_bool(value: Any) -> bool:
    return value.type().dtype() == torch.bool


def _try_get_scalar_type(*args: Any) -> Any:
    for value in args:
        if isinstance(value, Operand) and value.type().dtype() is not None:
            return value.type().scalarType()
    return None


def _unimplemented(op: str, msg: str, value: Any = None) -> None:
    raise SymbolicValueError(f"{op}: {msg}")


def _onnx_unsupported(op_name: str, value: Any = None) -> Any:
    raise SymbolicValueError(f"operator {op_name} cannot be written as ONNX")


def _onnx_opset_unsupported(op_name: str, current_opset: int, supported_opset: int, value: Any = None) -> Any:
    raise SymbolicValueError(f"operator {op_name} needs opset {supported_opset}, the export is for {current_opset}")


# --- nodes that depend on the opset ---


def _constant(g, values):
    return g.op("Constant", value_t=torch.tensor(values, dtype=torch.int64))


def _unsqueeze_helper(g: Any, input: Any, axes_i: Any) -> Any:
    return g.op("Unsqueeze", input, _constant(g, list(axes_i)))


def _squeeze_helper(g: Any, input: Any, axes_i: Any) -> Any:
    return g.op("Squeeze", input, _constant(g, list(axes_i)))


def _reducesum_helper(
    g: Any, input: Any, axes_i: Any = None, keepdims_i: int = 1, noop_with_empty_axes_i: int = 0
) -> Any:
    if axes_i is None:
        return g.op("ReduceSum", input, keepdims_i=keepdims_i)
    return g.op("ReduceSum", input, _constant(g, list(axes_i)), keepdims_i=keepdims_i)


def _reshape_helper(g: Any, input: Any, shape: Any, allowzero: int = 0) -> Any:
    shape = shape if isinstance(shape, Operand) else _constant(g, list(shape))
    return g.op("Reshape", input, shape)


def _slice_helper(g: Any, input: Any, axes: Any, starts: Any, ends: Any, steps: Any = None) -> Any:
    parts = [
        p if isinstance(p, Operand) else _constant(g, list(p)) for p in (starts, ends, axes, steps) if p is not None
    ]
    return g.op("Slice", input, *parts)


def _size_helper(g: Any, self: Any, dim: Any) -> Any:
    return g.op("Gather", g.op("Shape", self), dim if isinstance(dim, Operand) else _constant(g, dim), axis_i=0)


def _if_scalar_type_as(self: Any, tensor: Any) -> Any:
    return self


def _dtype_of(number: int) -> torch.dtype:
    return DTYPES[number]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)

    def refuse(*args, **kwargs):
        raise NotImplementedError(f"torch.onnx.symbolic_helper.{name} is not part of this stack: write nodes by g.op")

    return refuse
