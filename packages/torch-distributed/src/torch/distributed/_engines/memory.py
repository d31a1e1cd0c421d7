"""Tensors as flat memory that can be sent and received."""

import torch

DTYPES = (
    None, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
    torch.float32, torch.float64, torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.uint64,
)  # fmt: skip
CODES = {dtype: code for code, dtype in enumerate(DTYPES)}

COMBINE = {
    "SUM": torch.add, "AVG": torch.add, "PREMUL_SUM": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum,
    "MAX": torch.maximum, "BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor,
}  # fmt: skip


def code(what: str, tensor, device: str = "cpu") -> int:
    """The number of a tensor's dtype; an error when its memory cannot be sent by what carries tensors of a device."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{what}: expected a tensor, got {type(tensor).__name__}")
    if tensor.layout != torch.strided:
        raise NotImplementedError(f"{what}: sparse tensors are not sent; use .to_dense()")
    if tensor.device.type != device:
        whose = "the CPU" if device == "cpu" else device
        raise ValueError(f"{what}: the tensor is on {tensor.device}; this group carries tensors of {whose}")
    if tensor.dtype not in CODES:
        raise TypeError(f"{what}: tensors of {tensor.dtype} are not sent")
    return CODES[tensor.dtype]


def flat(tensor):
    """A line of the tensor's elements without history: its own memory where that is contiguous, else a copy."""
    tensor = tensor.detach()
    return tensor.view(-1) if tensor.is_contiguous() else tensor.contiguous().view(-1)


def put_back(tensor, line):
    """Write the elements of a line that was a copy into the tensor."""
    tensor = tensor.detach()
    if tensor.numel() and tensor.data_ptr() != line.data_ptr():
        tensor.copy_(line.view(tensor.shape))


def octets(line) -> memoryview:
    """The bytes of a line."""
    if line.numel() == 0:
        return memoryview(b"")
    return memoryview(line.view(torch.uint8)).cast("B")
