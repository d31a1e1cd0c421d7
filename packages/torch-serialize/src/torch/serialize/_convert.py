"""`convert`: the tensors of a checkpoint in another format, without running anything and without holding them all."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable

from ._arrays.numpy_arrays import is_numpy_array
from ._arrays.walk import leaves
from ._errors import FileFormatError, UnsafeGlobalError
from ._formats.dispatch import opened
from ._pickles.opaque import children, opaque_session
from ._save import save
from ._session import Session, Settings
from .npy import save_npy, save_npz
from .safetensors import save_safetensors
from .sharded import files_of, find_index, is_index, load_shards, save_sharded

_ENDINGS = ".safetensors, .npz, .npy, .pt, .pth or .bin"
_ROOM = 64 << 20


def convert(
    source,
    target,
    *,
    format: str | None = None,
    max_shard_size: int | str | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
) -> list[str]:
    """Writes what is in `source` to `target`, in the format that its ending tells; gives the names of what was left out.

    A ``.pt``, ``.pth`` or ``.bin`` file keeps the whole object, which must be data; the others, and a checkpoint in several
    files, take its tensors by name and leave out the rest: also from a saved module whose class is not there any more,
    with the names that its ``state_dict`` has. Every element type is kept where the format has it (``.npz`` and ``.npy``
    hold bfloat16 and float8 as float32). The source is mapped, so it may be larger than memory; its checksums are
    compared.

    Args:
        source: path of a file in any format that `load` reads, of an index, or of the folder with one
        target: path of the new file
        format: of a ``.pt``: "zip", "stream" or "tar"
        max_shard_size: write several files and an index, see `save_sharded`
        progress: of writing, as for `save`

    Example:
        >>> import os, tempfile, numpy
        >>> folder = tempfile.mkdtemp()
        >>> save({"epoch": 3, "net": {"bias": numpy.zeros(2)}}, folder + "/a.pt", arrays="numpy")
        >>> convert(folder + "/a.pt", folder + "/a.safetensors")
        ['epoch']
        >>> from torch.serialize import load
        >>> load(folder + "/a.safetensors", arrays="numpy")
        {'net.bias': array([0., 0.])}
    """
    ending = os.path.splitext(os.fsdecode(target))[1]
    pickled = ending in (".pt", ".pth", ".bin")
    if not pickled and ending not in (".safetensors", ".npz", ".npy"):
        raise ValueError(f"convert: {os.fsdecode(target)!r} should end in {_ENDINGS}")
    if max_shard_size is not None and ending in (".npz", ".npy"):
        raise ValueError(
            f"convert: there are no indices of {ending} files; a target in several ends in .safetensors or .pt"
        )
    if format is not None and not pickled:
        raise ValueError(f"convert: format={format!r} is for .pt files, and the target ends in {ending}")
    whole = pickled and max_shard_size is None
    arrays = "numpy" if ending in (".npz", ".npy") else "raw"
    settings = Settings(arrays, "cpu", mapped=True, verified=True)
    if is_index(source) or os.path.isdir(source):
        source = find_index(source)
        obj = load_shards(source, Session, False, settings)
        size = sum(map(os.path.getsize, files_of(source)))
    else:
        try:
            obj = opened(source, Session if whole else opaque_session({}), False, settings)
        except UnsafeGlobalError as e:
            raise UnsafeGlobalError(
                f"convert: {os.fsdecode(source)} asks for {e.global_name}, which is not a data type, so the object as a whole "
                "is not written again; a target that ends in .safetensors or .npz takes its tensors",
                e.global_name,
            ) from None
        size = os.path.getsize(source)
    if whole:
        try:
            save(obj, target, arrays="numpy", format=format, progress=progress)
        except (TypeError, pickle.PicklingError) as e:  # it names words of the format without using them
            raise FileFormatError(
                f"convert: the object in {os.fsdecode(source)} cannot be written again: {e}"
            ) from None
        return []
    tensors, others = _by_name(obj, size)
    if max_shard_size is not None:
        save_sharded(tensors, target, max_shard_size, progress=progress)
    elif ending == ".safetensors":
        save_safetensors(tensors, target, progress=progress)
    elif ending == ".npz":
        save_npz(tensors, target)
    elif len(tensors) == 1:
        save_npy(next(iter(tensors.values())), target)
    else:
        raise ValueError(f"convert: a .npy file holds one tensor, and the source has {len(tensors)}: convert to .npz")
    return others


def _by_name(obj, size: int) -> tuple[dict, list[str]]:
    tensors, others, total = {}, [], 0
    for name, leaf in leaves(obj, _is_leaf, size, children):
        if not is_numpy_array(leaf):
            others.append(name or type(leaf).__name__)
            continue
        if name in tensors:
            raise FileFormatError(f"convert: two tensors have the name {name!r}")
        tensors[name or "tensor"] = leaf
        total += leaf.nbytes
    if total > 2 * size + _ROOM:
        raise FileFormatError(
            f"convert: its tensors are views that repeat their elements: written out they take {total} bytes, "
            f"and the file has {size}. Load it and save what you need of it"
        )
    return tensors, others


def _is_leaf(node) -> bool:
    return not isinstance(node, (dict, list, tuple))
