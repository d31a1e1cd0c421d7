"""`save`: one object graph into one file, in the zip format that PyTorch reads, or on request in its two older ones."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable
from typing import Any

from ._arrays.adapters import Adapter, NumpyAdapter, TorchAdapter
from ._arrays.backends import arrays as choose
from ._arrays.dtypes import UNTYPED
from ._descriptor import Descriptor
from ._formats import legacy_save
from ._formats.zip_save import write_parts, write_zip
from ._pickles.pickler import Pickler
from ._storage.progress import progress as telling
from ._storage.write import write_to

DEFAULT_PROTOCOL = 2


def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
    *,
    format: str | None = None,
    arrays: str | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
) -> None:
    """Writes any object to a file; tensors that share memory share it in the file.

    A file at a path is replaced all at once: whatever happens meanwhile, the old one or the new one is there.

    Args:
        obj: what to save; a ``state_dict`` needs none of your classes to be loaded again
        f: path, or binary file object with ``write``
        pickle_module: whose ``Pickler`` writes what is not a tensor; other than `pickle` (dill, cloudpickle) makes
            files that load only with ``weights_only=False``
        pickle_protocol: 2 to 5; PyTorch's safe reader knows 2
        arrays: "numpy" writes ndarrays as tensors even where torch-core is installed, as it does with only NumPy
        progress: ``function(bytes done, bytes in all)``, True for a bar, False for none; None shows one on a terminal
            when a big file takes long and tqdm is installed
        format: "zip", or one of the formats of before 2020: "stream" and "tar"

    Example:
        >>> import numpy as np, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "weights.pt")
        >>> save({"weight": np.ones(2), "epoch": 3}, path, arrays="numpy")
        >>> from torch.serialize import load
        >>> load(path, arrays="numpy")
        {'weight': array([1., 1.]), 'epoch': 3}
    """
    format = format or ("zip" if _use_new_zipfile_serialization else "stream")
    if format not in ("zip", "stream", "tar"):
        raise ValueError(f"save: format must be 'zip', 'stream' or 'tar', got {format!r}")
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        if not hasattr(f, "fileno"):
            raise AttributeError(f"save: expected a path or a binary file object with 'write', got {type(f).__name__}")
        f = Descriptor(f)
    if isinstance(f, io.TextIOBase):
        raise TypeError("save: the file is open in text mode; open it with mode 'wb'")
    if pickle_module is None:
        pickle_module = pickle
    if type(pickle_protocol) is not int or not 2 <= pickle_protocol <= pickle.HIGHEST_PROTOCOL:
        raise ValueError(f"save: pickle_protocol must be 2 to {pickle.HIGHEST_PROTOCOL}, got {pickle_protocol!r}")
    adapter = _adapter(arrays)
    if format != "zip":
        parts = legacy_save.parts(obj, adapter, format, pickle_protocol)
        with telling(progress, sum(map(len, parts)), "save") as told:
            write_to(f, "archive", lambda sink: write_parts(sink, parts, told))
        return
    body = _dumps(obj, adapter, pickle_module, pickle_protocol)
    write_to(f, "archive", lambda sink: write_zip(sink, body, adapter, not _disable_byteorder_record, progress))


def _adapter(kind: str | None) -> Adapter:
    backend = choose(kind)
    return NumpyAdapter() if backend.name == "numpy" else TorchAdapter(backend.torch)


def _dumps(obj, adapter: Adapter, pickle_module, protocol: int) -> bytes:
    if pickle_module is pickle:
        return Pickler(adapter, protocol).dumps(obj)
    out = io.BytesIO()
    pickler = _foreign_pickler(pickle_module, adapter)(out, protocol=protocol)
    pickler.dump(obj)
    return out.getvalue()


def _foreign_pickler(pickle_module, adapter: Adapter):
    class ForeignPickler(pickle_module.Pickler):
        def persistent_id(self, obj):
            # torch-core hands its storages to any pickler in this wrapper; here they become records of the archive.
            if type(obj).__name__ != "PickledStorage":
                return None
            return "storage", UNTYPED, str(adapter.register(obj.storage)), "cpu", len(obj.storage)

    return ForeignPickler
