"""Checkpoints in several files with an index beside them, as model hubs keep them.

``model.safetensors.index.json`` (or ``pytorch_model.bin.index.json``) maps each name to the file that holds it:
``{"metadata": {"total_size": 12}, "weight_map": {"bias": "model-00001-of-00002.safetensors", ...}}``. The index is what
makes the files one checkpoint, and it is replaced last and at once: a writer killed before leaves the old checkpoint.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable

from ._arrays.numpy_arrays import is_numpy_array
from ._errors import FileFormatError, brief
from ._formats.dispatch import opened
from ._save import save
from ._session import Session, Settings
from ._storage.atomic import remove_left
from ._storage.progress import progress as telling
from ._storage.write import write_to
from .safetensors import save_safetensors

INDEX = ".index.json"
_MAX_INDEX = 100_000_000
_UNITS = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 1 << 10,
    "MI": 1 << 20,
    "GI": 1 << 30,
    "TI": 1 << 40,
}


def is_index(f) -> bool:
    return isinstance(f, (str, os.PathLike)) and os.fsdecode(f).endswith(INDEX)


def find_index(path) -> str:
    """The index that `path` means: itself, the one in that folder, or the one of ``model.safetensors`` beside it."""
    path = os.fsdecode(path)
    if is_index(path):
        return path
    if os.path.isdir(path):
        found = sorted(name for name in os.listdir(path) if name.endswith(INDEX))
        if len(found) != 1:
            there = "none" if not found else f"{len(found)}: {', '.join(found)}"
            raise FileNotFoundError(f"load_sharded: {path!r} should hold one index *{INDEX}, and holds {there}")
        return os.path.join(path, found[0])
    return path + INDEX


def read_index(path: str) -> dict[str, str]:
    """The file of each name, in order; a file is one in the index's own folder."""

    def fail(text):
        return FileFormatError(f"load: {path} is not an index of a sharded checkpoint: {text}")

    if (size := os.path.getsize(path)) > _MAX_INDEX:
        raise fail(f"it has {size} bytes")
    import json

    with open(path, "rb") as file:
        try:
            index = json.load(file)
        except (ValueError, RecursionError) as e:
            raise fail(str(e)[:200]) from None
    where = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(where, dict):
        raise fail("it has no weight_map")
    for name, file in where.items():
        plain = isinstance(file, str) and os.path.basename(file) == file and file not in ("", ".", "..")
        if not plain or "\0" in file or "\\" in file or file.endswith(INDEX):
            raise fail(f"{name[:80]!r} is said to be in {brief(file)}, which is no name of a file in its folder")
    return where


def files_of(index: str) -> list[str]:
    """The paths of the files that an index names."""
    return [os.path.join(os.path.dirname(index), file) for file in dict.fromkeys(read_index(index).values())]


def load_sharded(
    path,
    map_location=None,
    *,
    mmap: bool = False,
    arrays: str | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
) -> dict:
    """All tensors of a sharded checkpoint by name; `load` does the same with the path of an index.

    Args:
        path: of the index, of the folder with one index, or ``model.safetensors`` where that was saved, in parts or whole
        map_location: as for `load`, and so are the others

    Example:
        >>> import os, tempfile, numpy
        >>> folder = tempfile.mkdtemp()
        >>> weights = {"a": numpy.zeros(300), "b": numpy.ones(200)}
        >>> save_sharded(weights, folder + "/model.safetensors", max_shard_size="2KB")
        ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']
        >>> list(load_sharded(folder, arrays="numpy"))
        ['a', 'b']
    """
    settings = Settings(arrays, map_location, mapped=mmap)
    index = find_index(path)
    if not os.path.exists(index) and os.path.isfile(path):
        return opened(path, Session, progress, settings)
    return load_shards(index, Session, progress, settings)


def load_shards(index, make: Callable[..., Session], told, settings: Settings) -> dict:
    """The tensors that an index names, read by sessions of these settings."""
    index = os.fsdecode(index)
    where, parts = read_index(index), {}
    paths = {file: os.path.join(os.path.dirname(index), file) for file in where.values()}
    for path in paths.values():
        if not os.path.isfile(path):
            raise FileNotFoundError(f"load: {path!r} is missing, which {index} names")
    with telling(told, sum(map(os.path.getsize, paths.values())), "load") as shared:
        for file, path in paths.items():
            parts[file] = opened(path, make, contextlib.nullcontext(shared), settings)
            if not isinstance(parts[file], dict):
                raise FileFormatError(f"load: {path} should hold tensors by name, not a {type(parts[file]).__name__}")
    for name, file in where.items():
        if name not in parts[file]:
            raise FileFormatError(f"load: {paths[file]} lacks {name[:80]!r}, which {index} says it holds")
    return {name: parts[file][name] for name, file in where.items()}


def save_sharded(
    tensors: dict,
    path,
    max_shard_size: int | str = "5GB",
    *,
    metadata: dict | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
) -> list[str]:
    """Writes named tensors to files of limited size with an index; gives the names of the files.

    All of them are new files, and the index that names them is replaced last; then those of the checkpoint before
    are removed. What fits into one file becomes one, without an index.

    Args:
        tensors: by name
        path: such as ``model.safetensors`` or ``pytorch_model.bin``: files and index take their names from it
        max_shard_size: bytes, or text such as "5GB" or "500MiB"; a bigger tensor gets a file of its own. Tensors that
            share memory stay together (in a ``.safetensors`` file each takes its own room)
        metadata: of the index, beside ``total_size``
        progress: as for `save`
    """
    path = os.fsdecode(path)
    stem, ending = os.path.splitext(path)
    if ending not in (".safetensors", ".bin", ".pt", ".pth"):
        raise ValueError(f"save_sharded: {path!r} should end in .safetensors, .bin, .pt or .pth")
    if not isinstance(tensors, dict) or not all(isinstance(name, str) for name in tensors):
        raise TypeError("save_sharded: expected a dict of tensors by name; nested ones need flat names first")
    shards, total = _divided(tensors, _bytes_of(max_shard_size), ending == ".safetensors")
    if len(shards) == 1:
        with telling(progress, total, "save") as told:
            _save_shard(shards[0], path, told)
        _remove_others(path, [])
        return [os.path.basename(path)]
    names = [f"{stem}-{i:05d}-of-{len(shards):05d}{ending}" for i in range(1, len(shards) + 1)]
    if any(map(os.path.lexists, names)):  # files of the checkpoint that is replaced
        mark = os.urandom(4).hex()
        names = [f"{name.removesuffix(ending)}-{mark}{ending}" for name in names]
    written = []
    try:
        with telling(progress, total, "save") as told:
            for name, shard in zip(names, shards):
                _save_shard(shard, name, told)
                written.append(name)
        files = [os.path.basename(name) for name in names]
        where = {name: file for file, shard in zip(files, shards) for name in shard}
        index = {
            "metadata": {"total_size": total, **(metadata or {})},
            "weight_map": {name: where[name] for name in tensors},
        }
        import json

        text = json.dumps(index, indent=2, ensure_ascii=False).encode() + b"\n"
        write_to(path + INDEX, "index", lambda sink: sink.write(text))
    except BaseException:
        for name in written:
            os.unlink(name)
        raise
    _remove_others(path, files)
    return files


def _save_shard(shard: dict, path: str, told) -> None:
    if path.endswith(".safetensors"):
        save_safetensors(shard, path, {"format": "pt"}, progress=contextlib.nullcontext(told))
    else:
        arrays = "numpy" if all(map(is_numpy_array, shard.values())) else None
        save(shard, path, arrays=arrays, progress=contextlib.nullcontext(told))


def _remove_others(path: str, files: list[str]) -> None:
    """Removes what the checkpoint before has left: its files, and the index or the single file, whichever is gone."""
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    ours = re.compile(re.escape(stem) + r"-\d{5}-of-\d{5}(-[0-9a-f]{8})?" + re.escape(ending)).fullmatch
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path if files else path + INDEX)
    there = os.listdir(folder or ".")
    for other in there:
        if ours(other) and other not in files:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, other))
    remove_left(folder, [left for left in there if left.startswith((f".{stem}-", f".{name}."))])


def _divided(tensors: dict, limit: int, apart: bool) -> tuple[list[dict], int]:
    """The tensors in groups of at most `limit` bytes, in order, and their bytes in all."""
    together: dict = {}
    for name, tensor in tensors.items():
        identity, nbytes = _extent(name, tensor)
        group = together.setdefault(identity, [0, []])
        group[0] = group[0] + tensor.nbytes if apart else nbytes
        group[1].append(name)
    shards: list[dict] = [{}]
    room, total = limit, 0
    for nbytes, names in together.values():
        if nbytes > room and shards[-1]:
            shards.append({})
            room = limit
        shards[-1] |= {name: tensors[name] for name in names}
        room -= nbytes
        total += nbytes
    return shards, total


def _extent(name: str, tensor) -> tuple[int, int]:
    """Which memory a tensor lies in, and the bytes of all of it."""
    if is_numpy_array(tensor):
        root = tensor
        while is_numpy_array(root.base):
            root = root.base
        return id(root), root.nbytes
    if not hasattr(tensor, "untyped_storage"):
        raise TypeError(f"save_sharded: {name!r} is a {type(tensor).__name__}, not a tensor")
    if tensor.is_sparse:
        raise NotImplementedError(f"save_sharded: {name!r} is sparse; shards hold dense tensors: to_dense()")
    storage = tensor.untyped_storage()
    return id(storage), len(storage)


def _bytes_of(size: int | str) -> int:
    if isinstance(size, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?", size.strip().upper())
        if match is None or match[2] == "I":
            raise ValueError(f"save_sharded: max_shard_size {size!r} should look like 5GB or 500MiB")
        size = int(float(match[1]) * _UNITS[match[2]])
    if not isinstance(size, int) or size <= 0:
        raise ValueError(f"save_sharded: max_shard_size must be positive, got {size!r}")
    return size
