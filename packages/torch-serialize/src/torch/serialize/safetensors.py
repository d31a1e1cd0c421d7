"""The safetensors format: eight bytes of header length, a JSON header, then the tensors' bytes.

Specification: https://github.com/huggingface/safetensors#format. Tensors may not overlap and must fill the file.
"""

from __future__ import annotations

import math

from ._arrays.dtypes import BY_SAFETENSORS
from ._arrays.numpy_arrays import is_numpy_array, row_of_numpy
from ._arrays.stored import MAX_DIMS
from ._arrays.torch_arrays import row_of_dtype, tensor_bytes
from ._errors import FileFormatError, brief
from ._formats.zip_save import write_parts
from ._storage.progress import progress as telling
from ._storage.source import Source, open_source
from ._storage.write import write_to

_MAX_HEADER = 100_000_000


def is_safetensors(source: Source, head: bytes) -> bool:
    size = int.from_bytes(head[:8], "little")
    return len(head) > 9 and 2 <= size <= source.size - 8 and head[8:9] == b"{"


def load_safetensors(f, map_location=None, mmap: bool = False, arrays: str | None = None) -> dict:
    """The tensors of a safetensors file by name.

    Example:
        >>> import io, numpy
        >>> out = io.BytesIO()
        >>> save_safetensors({"bias": numpy.zeros(2, numpy.float32)}, out)
        >>> load_safetensors(out.getvalue(), arrays="numpy")
        {'bias': array([0., 0.], dtype=float32)}
    """
    from ._session import Session, Settings

    source = open_source(f, "load_safetensors")
    try:
        with Session(source, Settings(arrays, map_location, mapped=mmap)) as session:
            return read_safetensors(source, session)
    finally:
        source.close()


def read_header(source: Source) -> tuple[dict, dict, int]:
    """The entries by name, the metadata, and where the data begins; everything checked against the file's size."""

    def fail(text):
        return FileFormatError(f"load: {source.name} is not a valid safetensors file: {text}")

    size = int.from_bytes(bytes(source.read(0, 8)), "little") if source.size >= 8 else 0
    if not 2 <= size <= min(source.size - 8, _MAX_HEADER):
        raise fail(f"its header should take {size} bytes of {source.size}")

    def unique(pairs):
        out = dict(pairs)
        if len(out) != len(pairs):
            raise fail("a name occurs twice in its header")
        return out

    import json

    try:
        header = json.loads(bytes(source.read(8, size)), object_pairs_hook=unique)
    except (ValueError, RecursionError) as e:
        raise fail(f"its header is not JSON: {e}") from None
    if not isinstance(header, dict):
        raise fail("its header is not a JSON object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise fail(f"its metadata is {brief(metadata)}, and should be text by text")
    spans, begin = [], 8 + size
    for name, entry in header.items():
        try:
            row, shape, (start, end) = BY_SAFETENSORS[entry["dtype"]], entry["shape"], entry["data_offsets"]
            numbers = [*shape[: MAX_DIMS + 1], start, end]
        except (KeyError, TypeError, ValueError):
            raise fail(f"the entry of {name!r} is {brief(entry)}") from None
        if len(shape) > MAX_DIMS or any(type(n) is not int or not 0 <= n < 1 << 63 for n in numbers):
            raise fail(f"{name!r} has the shape {brief(shape)} and the offsets {brief(start)} to {brief(end)}")
        if end - start != math.prod(shape) * row.itemsize or math.prod(n or 1 for n in shape) >= 1 << 63:
            raise fail(f"{name!r} of shape {shape} and type {row.name} has the offsets {start} to {end}")
        spans.append((start, end, name))
    spans.sort()
    at = 0
    for start, end, name in spans:
        if start != at:
            raise fail(f"{name!r} begins at {start}, the tensor before it ends at {at}")
        at = end
    if begin + at != source.size:
        raise fail(f"its tensors take {at} bytes, and {source.size - begin} follow the header: truncated or altered")
    return header, metadata, begin


def read_safetensors(source: Source, session) -> dict:
    """All tensors of a safetensors source."""
    header, _, begin = read_header(source)
    out = {}
    for name, entry in header.items():
        row, shape = BY_SAFETENSORS[entry["dtype"]], tuple(entry["shape"])
        start, end = (begin + n for n in entry["data_offsets"])

        def fill(target, start=start):
            source.read_into(start, target)

        stored = session.storage(row, "cpu", end - start, fill, start)
        strides = [math.prod(max(n, 1) for n in shape[i + 1 :]) for i in range(len(shape))]
        out[name] = session.backend.tensor(stored, row, 0, shape, tuple(strides))
    return out


def save_safetensors(tensors: dict, f, metadata: dict[str, str] | None = None, *, progress=None) -> None:
    """Writes named tensors or ndarrays as a safetensors file; tensors that share memory are written once each.

    Args:
        tensors: by name
        f: path or binary file object
        metadata: text by text, kept in the header
        progress: as for `save`
    """
    if not isinstance(tensors, dict):
        raise TypeError(f"save_safetensors: expected a dict of tensors, got {type(tensors).__name__}")
    header: dict = {"__metadata__": metadata} if metadata else {}
    rows = {name: _row(name, t) for name, t in tensors.items()}
    # Widest elements first, so that each tensor starts at a multiple of its element size.
    order = sorted(tensors, key=lambda name: (-rows[name].itemsize, name))
    at = 0
    for name in order:
        shape = list(map(int, tensors[name].shape))
        end = at + math.prod(shape) * rows[name].itemsize
        header[name] = {"dtype": rows[name].safetensors, "shape": shape, "data_offsets": [at, end]}
        at = end
    import json

    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)

    def produce(sink):
        sink.write(len(text).to_bytes(8, "little") + text)
        with telling(progress, at, "save") as told:
            for name in order:
                write_parts(sink, [_bytes(tensors[name])], told)

    write_to(f, "tensors", produce)


def _row(name: str, tensor):
    if not isinstance(name, str) or name == "__metadata__":
        raise TypeError(f"save_safetensors: {name!r} is not a name for a tensor")
    if is_numpy_array(tensor):
        row = row_of_numpy(tensor)
    elif hasattr(tensor, "untyped_storage"):
        row = row_of_dtype(tensor.dtype)
    else:
        raise TypeError(f"save_safetensors: {name!r} is a {type(tensor).__name__}, not a tensor")
    if row is None or row.safetensors is None:
        raise TypeError(f"save_safetensors: {name!r} has elements of type {tensor.dtype}, which the format lacks")
    return row


def _bytes(tensor):
    if is_numpy_array(tensor):
        import numpy as np

        return memoryview(np.ascontiguousarray(tensor).reshape(-1).view(np.uint8))
    return tensor_bytes(tensor)
