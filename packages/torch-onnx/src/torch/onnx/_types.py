"""Element types: torch's, ONNX's and NumPy's."""

from __future__ import annotations

import torch

#: dtype: (number in onnx.proto, name in TensorProtoDataType)
NUMBERS = {
    torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.uint16: 4, torch.int16: 5, torch.int32: 6, torch.int64: 7,
    torch.bool: 9, torch.float16: 10, torch.float64: 11, torch.uint32: 12, torch.uint64: 13, torch.complex64: 14,
    torch.complex128: 15, torch.bfloat16: 16,
}  # fmt: skip
#: of files that are read
DTYPES = {
    **{number: dtype for dtype, number in NUMBERS.items()},
    17: torch.float8_e4m3fn, 18: torch.float8_e4m3fnuz, 19: torch.float8_e5m2, 20: torch.float8_e5m2fnuz,
}  # fmt: skip
#: integers of 4 and 2 bits, which are held in bytes: number -> (dtype, the least, the greatest)
NARROW = {
    21: (torch.uint8, 0, 15), 22: (torch.int8, -8, 7), 25: (torch.uint8, 0, 3), 26: (torch.int8, -2, 1),
}  # fmt: skip


def dtype_of(number: int) -> torch.dtype:
    """The dtype that a file means by a number; NotImplementedError where torch has none.

    >>> dtype_of(7)
    torch.int64
    """
    if number not in DTYPES:
        raise NotImplementedError(f"onnx.load: torch has no tensors of the element type {number}")
    return DTYPES[number]


def number(dtype: torch.dtype) -> int:
    """What ONNX calls a dtype; NotImplementedError when it has none.

    >>> number(torch.int64)
    7
    """
    if dtype not in NUMBERS:
        raise NotImplementedError(f"ONNX has no tensors of {dtype}")
    return NUMBERS[dtype]


def proto(tensor: torch.Tensor, name: str) -> object:
    """A TensorProto."""
    import onnx

    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        made = onnx.TensorProto(name=name, data_type=16, dims=list(tensor.shape))
        made.raw_data = tensor.view(torch.int16).numpy().tobytes()
        return made
    return onnx.numpy_helper.from_array(tensor.numpy(), name)
