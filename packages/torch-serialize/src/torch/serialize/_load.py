"""`load`: tells the format of a file by its first bytes and builds the object that it holds."""

from __future__ import annotations

import os
import pickle

from . import _legacy_load, _zip_load
from ._errors import FileFormatError
from ._session import Session
from ._source import DescriptorSource, MemorySource, Source, open_source
from ._zip_reader import is_zip
from .npy import read_npy
from .safetensors import is_safetensors, read_safetensors


def load(
    f,
    map_location=None,
    pickle_module=None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    arrays: str | None = None,
    **pickle_load_args,
):
    """Reads what `save` wrote: files of PyTorch from 2016 to today, safetensors, ``.npy`` and ``.npz``.

    A file is data: nothing in it is run. Classes beyond containers, numbers, text and tensors must be allowed by
    `add_safe_globals`, or all of them by ``weights_only=False``, which lets the file run any code.

    Args:
        f: path, binary file object, or bytes
        map_location: where tensors go: a device, ``{"cuda:0": "cpu"}``, or ``function(storage, location)``
        pickle_module: whose ``Unpickler`` reads the objects; needs ``weights_only=False``
        weights_only: True unless the file is trusted
        mmap: map the file instead of reading it: tensors come from disk when touched, writes stay in memory
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
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("load: pickle_module runs code of the file, so it needs weights_only=False")
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError(f"load: mmap=True needs a path to map, got {type(f).__name__}")
    unknown = set(pickle_load_args) - {"encoding", "errors", "fix_imports", "buffers"}
    if unknown:
        raise TypeError(f"load: unexpected argument {sorted(unknown)[0]!r}")
    source = open_source(f)
    try:
        session = Session(
            source,
            arrays,
            map_location,
            weights_only,
            pickle_module or pickle,
            pickle_load_args,
            bool(mmap),
        )
        with session:
            return session.finish(read(session))
    finally:
        _leave_at_end(f, source)
        source.close()


def read(session: Session):
    """The object of the session's source, whatever its format."""
    source = session.source
    if source.size == 0:
        raise EOFError(f"load: {source.name} is empty: it was never written, or the stream stands at its end")
    head = bytes(source.read(0, min(source.size, 512)))
    if is_zip(source):
        return _zip_load.load(session)
    if head.startswith(b"\x93NUMPY"):
        return read_npy(source, session)
    if is_safetensors(source, head):
        return read_safetensors(source, session)
    if _legacy_load.is_tar(head):
        return _legacy_load.load_tar(session)
    if head[:1] == b"\x80" or head[:1] in b"(]}c":
        return _legacy_load.load_stream(session)
    raise FileFormatError(
        f"load: {source.name} is not a file of torch.save, safetensors or NumPy; it starts with {head[:16]!r}"
    )


def _leave_at_end(f, source: Source) -> None:
    """A file object stands behind what was read, as after any read."""
    if isinstance(source, (DescriptorSource, MemorySource)) and not isinstance(f, (str, os.PathLike)):
        if hasattr(f, "seek") and hasattr(f, "tell"):
            try:
                f.seek(0, os.SEEK_END)
            except (OSError, ValueError, TypeError):
                pass
