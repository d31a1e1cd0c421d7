"""`load`: the object in a file, whatever its format."""

from __future__ import annotations

import io
import mmap as mmap_module
import os
import pickle
from collections.abc import Callable
from typing import Any

from ._formats.dispatch import opened
from ._session import Session, Settings
from .sharded import is_index, load_shards

_IN_MEMORY = (io.BytesIO, bytes, bytearray, memoryview, mmap_module.mmap)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    arrays: str | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads what `save` wrote: files of PyTorch from 2016 to today, safetensors, ``.npy`` and ``.npz``, and with the path
    of a ``*.index.json`` a checkpoint in several files.

    A file is data: nothing in it is run. Classes beyond containers, numbers, text and tensors must be allowed by
    `add_safe_globals`, or all of them by ``weights_only=False``, which lets the file run any code.

    Args:
        f: path, binary file object, or bytes
        map_location: where tensors go: a device, ``{"cuda:0": "cpu"}``, or ``function(storage, location)``
        pickle_module: whose ``Unpickler`` reads the objects; needs ``weights_only=False``
        weights_only: True unless the file is trusted; where a call does not say, TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 in
            the environment does, and TORCH_FORCE_WEIGHTS_ONLY_LOAD=1 does in any case
        mmap: map the file instead of reading it: tensors come from disk when touched, writes stay in memory, and the
            file may be larger than memory. What comes through a pipe is first put into an unnamed temporary file
        progress: ``function(bytes done, bytes in all)``, True for a bar, False for none; None shows one on a terminal
            when a big file takes long and tqdm is installed
        arrays: "numpy" for ndarrays even where torch-core is installed
        pickle_load_args: ``encoding`` of the byte strings in files of Python 2

    Example:
        >>> import io
        >>> from torch.serialize import save
        >>> out = io.BytesIO()
        >>> save({"epoch": 3}, out)
        >>> load(io.BytesIO(out.getvalue()))
        {'epoch': 3}
    """
    weights_only = _weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("load: pickle_module runs code of the file, so it needs weights_only=False")
    if mmap and isinstance(f, _IN_MEMORY):
        raise ValueError(f"load: mmap=True needs a path or a file to map, got {type(f).__name__}")
    unknown = set(pickle_load_args) - {"encoding", "errors", "fix_imports", "buffers"}
    if unknown:
        raise TypeError(f"load: unexpected argument {sorted(unknown)[0]!r}")
    settings = Settings(arrays, map_location, weights_only, pickle_module or pickle, pickle_load_args, bool(mmap))
    if is_index(f):
        return load_shards(f, Session, progress, settings)
    return opened(f, Session, progress, settings)


def _weights_only(asked: bool | None, pickle_module) -> bool:
    """What a call asks for, as far as the variables of PyTorch's environment leave it the choice."""
    always, never = map(_is_set, ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"))
    if always and never:
        raise RuntimeError("load: TORCH_FORCE_WEIGHTS_ONLY_LOAD and TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD are both set")
    if always:
        return True
    return not never and pickle_module is None if asked is None else asked


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("1", "y", "yes", "true")
