"""What the safetensors files of a checkpoint are called, and what stands in them beside tensors: PyTorch's words."""

import json
import os
from pathlib import Path

from torch.serialize._storage.source import open_source
from torch.serialize.safetensors import read_header

INDEX = "model.safetensors.index.json"
SHARDED = "sharded"  # the folder of pieces beside which whole tensors lie


def file_name(number: int, count: int, rank=None) -> str:
    """The ``number``-th of ``count`` files, of whole tensors or of a rank's pieces.

    >>> file_name(1, 2), file_name(1, 1, rank=0)
    ('model-00001-of-00002.safetensors', 'shard-00001-model-00001-of-00001.safetensors')
    """
    name = f"model-{number:05d}-of-{count:05d}.safetensors"
    return name if rank is None else f"shard-{rank + 1:05d}-{name}"


def sharding_info(offsets: dict) -> dict:
    """What the header of a file says of pieces that begin at ``offsets``, by name."""
    places = {name: {"saved_offsets": offset} for name, offset in offsets.items()}
    return {"format": "pt", "DCP_VERSION": "1.0", "DCP_SHARDING_INFO": json.dumps(places)}


def offsets_of(path) -> dict:
    """Where the pieces of a file begin, by name; ValueError for what is not said as it should be."""
    source = open_source(path)
    try:
        entries, said, _ = read_header(source)
    finally:
        source.close()
    text = said.get("DCP_SHARDING_INFO", "{}")
    try:
        offsets = {name: place["saved_offsets"] for name, place in json.loads(text).items()}
        for name, offset in offsets.items():
            numbers = all(type(n) is int and 0 <= n < 1 << 62 for n in offset)
            if not numbers or len(offset) != len(entries[name]["shape"]):
                raise ValueError(offset)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError(f"checkpoint.load: DCP_SHARDING_INFO of {path} makes no sense: {text:.200}") from None
    return offsets


def write_index(folder, files: dict, nbytes: int) -> None:
    """Say which file holds which tensor."""
    path = Path(folder, INDEX)
    temporary = path.with_name(f"{INDEX}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps({"metadata": {"total_size": nbytes}, "weight_map": files}, indent=2))
    os.replace(temporary, path)
