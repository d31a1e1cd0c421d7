"""``Tensor.__cuda_array_interface__``: what Numba, CuPy and others read to share the memory of a CUDA tensor.

The protocol is Numba's: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, version 2.
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
