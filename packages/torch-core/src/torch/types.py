"""Names for annotations: what counts as a number, a device, a file."""

import builtins
import os
from typing import IO, TypeAlias

from ._C import Size, Tensor, UntypedStorage, device, dtype, layout

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number: TypeAlias = builtins.int | builtins.float | builtins.bool
Device: TypeAlias = device | builtins.str | builtins.int | None
FileLike: TypeAlias = builtins.str | os.PathLike | IO[bytes]
Storage: TypeAlias = UntypedStorage

_TensorOrTensors: TypeAlias = "Tensor | tuple[Tensor, ...]"
_int, _float, _bool, _str, _dtype, _device, _layout = (
    builtins.int,
    builtins.float,
    builtins.bool,
    str,
    dtype,
    device,
    layout,
)
_size: TypeAlias = Size | list[builtins.int] | tuple[builtins.int, ...]
