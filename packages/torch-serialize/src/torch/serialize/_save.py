"""`save`: one object graph into one file, in the zip format that PyTorch reads, or on request in its two older ones."""

from __future__ import annotations

import io
import os
import pickle

from . import _crc as crc
from . import _legacy_save
from ._arrays import arrays as choose
from ._dtypes import UNTYPED
from ._options import options
from ._pickler import Pickler
from ._tensors import Adapter, NumpyAdapter, TorchAdapter
from ._threads import PARALLEL_FROM, executor
from ._write import write_to
from ._zip_writer import ZipLayout

DEFAULT_PROTOCOL = 2
_JOIN = 1 << 18  # records up to this size are copied into one write


def save(
    obj,
    f,
    pickle_module=pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
    *,
    format: str | None = None,
    arrays: str | None = None,
) -> None:
    """Writes any object to a file; tensors that share memory share it in the file.

    A file at a path is replaced all at once: whatever happens meanwhile, the old one or the new one is there.

    Args:
        obj: what to save; a ``state_dict`` needs none of your classes to be loaded again
        f: path, or binary file object with ``write``
        pickle_module: whose ``Pickler`` writes what is not a tensor; other than `pickle` (dill, cloudpickle) makes
            files that load only with ``weights_only=False``
        pickle_protocol: 2; others only with another `pickle_module`
        arrays: "numpy" writes ndarrays as tensors even where torch-core is installed, as NumPy alone does
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
        raise AttributeError(f"save: expected a path or a binary file object with 'write', got {type(f).__name__}")
    if isinstance(f, io.TextIOBase):
        raise TypeError("save: the file is open in text mode; open it with mode 'wb'")
    if pickle_module is None:
        pickle_module = pickle
    adapter = _adapter(arrays)
    if format != "zip":
        parts = _legacy_save.parts(obj, adapter, format)
        write_to(f, "archive", lambda write, name: [write(part) for part in parts])
        return
    body = _dumps(obj, adapter, pickle_module, pickle_protocol)
    write_to(f, "archive", lambda write, name: _zip(write, name, body, adapter, not _disable_byteorder_record))


def _adapter(kind: str | None) -> Adapter:
    backend = choose(kind)
    return NumpyAdapter() if backend.name == "numpy" else TorchAdapter(backend.torch)


def _dumps(obj, adapter: Adapter, pickle_module, protocol: int) -> bytes:
    if pickle_module is pickle:
        return Pickler(adapter).dumps(obj)
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


def _zip(write, name: str, body: bytes, adapter: Adapter, byteorder: bool) -> None:
    layout, crc32 = ZipLayout(), crc.function() if options.compute_crc32 else _no_crc
    header = layout.header
    pending: list = []

    def record(title: str, data) -> None:
        pending.append(header(f"{name}/{title}", len(data), crc32(data)))
        pending.append(data)

    record("data.pkl", body)
    record(".format_version", b"1")
    record(".storage_alignment", b"64")
    if byteorder:
        record("byteorder", b"little")
    payloads = list(map(adapter.payload, adapter.storages))
    if sum(map(len, payloads)) <= _JOIN:
        for key, data in enumerate(payloads):
            pending.append(header(f"{name}/data/{key}", len(data), crc32(data)))
            pending.append(data)
    else:
        write(b"".join(pending))
        pending.clear()
        _stream_storages(write, f"{name}/data/", header, crc32, payloads)
    record("version", b"3\n")
    pending.append(layout.end())
    write(b"".join(pending))


def _no_crc(data) -> int:
    return 0


def _stream_storages(write, prefix: str, header, crc32, payloads: list) -> None:
    # One thread runs ahead with the checksums while this one writes.
    pool = executor()
    try:
        sums = [pool.submit(crc32, data) if len(data) >= PARALLEL_FROM else None for data in payloads]
        for key, (data, crc_job) in enumerate(zip(payloads, sums)):
            head = header(f"{prefix}{key}", len(data), crc_job.result() if crc_job else crc32(data))
            if len(data) <= _JOIN:
                write(head + data)
            else:
                write(head)
                write(data)
    finally:
        pool.shutdown(cancel_futures=True)
