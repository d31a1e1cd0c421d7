"""``Tensor.__cuda_array_interface__``: what Numba, CuPy and others read to share the memory of a CUDA tensor; and tensors
over the memory of theirs (``torch.as_tensor``).

The protocol is Numba's: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, version 2 given, 0 to 3 taken.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._C import Tensor

KINDS = {"bool": "|b1", "uint8": "|u1", "int8": "|i1"}


def _typestr(tensor: Tensor) -> str:
    name = str(tensor.dtype).removeprefix("torch.")
    if name in KINDS:
        return KINDS[name]
    if name == "bfloat16" or name.startswith(("float8", "float4")):
        raise TypeError(f"__cuda_array_interface__: NumPy has no {name}; share a view, x.view(torch.uint8)")
    return f"<{name[0]}{tensor.element_size()}"


def interface(tensor: Tensor) -> dict[str, Any]:
    """The dict of the protocol; AttributeError for other than dense CUDA tensors, so that ``hasattr`` is False."""
    if not tensor.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {tensor.type()} "
            "If CUDA data is required use tensor.cuda() to copy tensor to device memory."
        )
    if str(tensor.layout) != "torch.strided":
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on sparse type: {tensor.type()} Use Tensor.to_dense()."
        )
    if tensor.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    size = tensor.element_size()
    strides = None if tensor.is_contiguous() else tuple(s * size for s in tensor.stride())
    data = (tensor.data_ptr() if tensor.numel() else 0, False)
    return {"typestr": _typestr(tensor), "shape": tuple(tensor.shape), "strides": strides, "data": data, "version": 2}


def _dtype_of(typestr: str):
    from . import _C

    for dtype in (_C.bool, _C.uint8, _C.int8):
        if typestr == KINDS[str(dtype).removeprefix("torch.")]:
            return dtype
    kinds = {"f": "float", "i": "int", "u": "uint", "c": "complex"}
    if typestr[:1] == "<" and typestr[1:2] in kinds and typestr[2:].isdigit():
        dtype = getattr(_C, f"{kinds[typestr[1]]}{8 * int(typestr[2:])}", None)
        if dtype is not None:
            return dtype
    raise TypeError(
        f"__cuda_array_interface__: there is no dtype for {typestr!r}; elements must be numbers, lowest byte first"
    )


def _sizes(numbers, name: str) -> tuple[int, ...]:
    if not isinstance(numbers, tuple) or not all(isinstance(n, int) for n in numbers):
        raise ValueError(f"__cuda_array_interface__: {name} must be a tuple of sizes, got {numbers!r}")
    return numbers


def tensor_over(array: Any) -> Tensor:
    """The tensor over the memory of another library's array, which it keeps."""
    from . import _C
    from .cuda._absent import need_device

    need_device("__cuda_array_interface__")
    from torch._cuda import _native
    from torch._cuda.streams import ExternalStream, current_stream

    facts = array.__cuda_array_interface__
    if facts.get("mask") is not None:
        raise NotImplementedError("__cuda_array_interface__: masked arrays are not taken; fill what is masked first")
    dtype, shape, strides = _dtype_of(facts["typestr"]), _sizes(facts["shape"], "shape"), facts.get("strides")
    if any(n < 0 for n in shape):
        raise ValueError(f"__cuda_array_interface__: shape must be a tuple of sizes, got {shape}")
    size = dtype.itemsize
    if strides is None:
        strides = _C._operator("empty")(shape, dtype=dtype, device="meta").stride()
    else:
        strides = _sizes(strides, "strides")
        if len(strides) != len(shape):
            raise ValueError(f"__cuda_array_interface__: expected as many strides as sizes, got {strides} and {shape}")
        if any(s % size for s in strides):
            raise ValueError(f"__cuda_array_interface__: strides must be multiples of {size} bytes, got {strides}")
        if any(s < 0 for s in strides):
            raise ValueError(
                f"__cuda_array_interface__: negative strides are not taken, got {strides}; copy the array first"
            )
        strides = tuple(s // size for s in strides)
    address, _ = facts["data"]
    if 0 in shape:
        return _C._operator("empty")(shape, dtype=dtype, device="cuda")
    if not address:
        raise ValueError(f"__cuda_array_interface__: an array of shape {shape} lies at address 0")
    device = _native.device_of_pointer(address)
    if device < 0:
        raise ValueError(f"__cuda_array_interface__: the address {address:#x} is no memory of a CUDA device")
    stream = facts.get("stream")
    if stream is not None:
        if stream == 0:
            raise ValueError("__cuda_array_interface__: stream 0 is ambiguous; 1 is the legacy default stream")
        current_stream(device).wait_stream(ExternalStream(0 if stream == 1 else stream, device))
    reach = 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    storage = _C._storage_over(address, reach * size, f"cuda:{device}", array)
    return _C._tensor_over(storage, dtype, 0, shape, strides)
