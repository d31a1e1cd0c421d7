"""What functions that write an operator as ONNX are made with; libraries decorate theirs at import."""

from . import TensorProtoDataType, refusals

#: scalar types by the names of 2018
cast_pytorch_to_onnx = {
    "Byte": TensorProtoDataType.UINT8,
    "Char": TensorProtoDataType.INT8,
    "Double": TensorProtoDataType.DOUBLE,
    "Float": TensorProtoDataType.FLOAT,
    "Half": TensorProtoDataType.FLOAT16,
    "Int": TensorProtoDataType.INT32,
    "Long": TensorProtoDataType.INT64,
    "Short": TensorProtoDataType.INT16,
    "Bool": TensorProtoDataType.BOOL,
    "ComplexFloat": TensorProtoDataType.COMPLEX64,
    "ComplexDouble": TensorProtoDataType.COMPLEX128,
    "BFloat16": TensorProtoDataType.BFLOAT16,
}


def parse_args(*arg_descriptors):
    """A decorator that notes what the arguments of a function are: "v" a value, "i", "f", "is", "fs" constants, ..."""

    def decorate(function):
        function._arg_descriptors = list(arg_descriptors)
        return function

    return decorate


def quantized_args(*arg_q_descriptors, scale=None, zero_point=None, quantize_output=True):
    """A decorator that notes which arguments may be quantized."""
    return lambda function: function


__getattr__ = refusals("torch.onnx.symbolic_helper")
