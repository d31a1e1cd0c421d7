"""The dtypes of NumPy and ours, one for the other; both dictionaries are empty without NumPy."""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    import numpy as np
except ImportError:
    numpy_to_torch_dtype_dict: dict[Any, torch.dtype] = {}
    torch_to_numpy_dtype_dict: dict[torch.dtype, Any] = {}
else:
    _SAME = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
             "complex64", "complex128")  # fmt: skip
    numpy_to_torch_dtype_dict = {
        np.bool_: torch.bool,
        **{getattr(np, name): getattr(torch, name) for name in _SAME},
    }
    torch_to_numpy_dtype_dict = {ours: theirs for theirs, ours in numpy_to_torch_dtype_dict.items()}
    torch_to_numpy_dtype_dict |= {torch.bfloat16: np.float32, torch.complex32: np.complex64}


def numpy_to_torch_dtype(np_dtype: Any) -> torch.dtype:
    """Our dtype for one of NumPy, given as the type ``np.float32`` or as ``np.dtype("float32")``; else KeyError."""
    known = numpy_to_torch_dtype_dict.get(np_dtype)
    return known if known is not None else numpy_to_torch_dtype_dict[getattr(np_dtype, "type", np_dtype)]


def has_corresponding_torch_dtype(np_dtype: Any) -> bool:
    """Whether we have the dtype."""
    try:
        numpy_to_torch_dtype(np_dtype)
    except KeyError:
        return False
    return True
