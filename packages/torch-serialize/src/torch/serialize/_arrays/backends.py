"""What a stored tensor becomes: an ndarray with only NumPy, a tensor with torch-core. Both backends answer the same questions."""

from __future__ import annotations

import importlib
import sys

from .numpy_arrays import NumpyArrays, RawArrays
from .torch_arrays import TorchArrays

_chosen: dict[str, object] = {}


def arrays(kind: str | None = None) -> NumpyArrays | TorchArrays:
    """The backend called `kind`, which may be one already, or tensors when torch-core is installed and ndarrays when not."""
    if kind is None:
        # Without torch-core `torch` is a namespace package that holds the installed parts and has no Tensor.
        torch = sys.modules.get("torch") or importlib.import_module("torch")
        kind = "torch" if hasattr(torch, "Tensor") else "numpy"
    if not isinstance(kind, str):
        return kind
    if kind not in _chosen:
        if kind == "numpy":
            _chosen[kind] = NumpyArrays()
        elif kind == "raw":
            _chosen[kind] = RawArrays()
        elif kind == "torch":
            _chosen[kind] = TorchArrays(importlib.import_module("torch"))
        else:
            raise ValueError(f"arrays must be 'numpy', 'torch' or None, got {kind!r}")
    return _chosen[kind]
