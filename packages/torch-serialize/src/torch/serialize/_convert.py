"""`convert`: the tensors of a checkpoint in another format, without running anything and without holding them all."""

from __future__ import annotations

import os

from ._arrays import is_numpy_array
from ._errors import FileFormatError
from ._load import load
from ._save import save
from ._walk import leaves
from .npy import save_npy, save_npz
from .safetensors import save_safetensors

_ENDINGS = ".safetensors, .npz, .npy, .pt, .pth or .bin"
_ROOM = 64 << 20


def convert(source, target, *, format: str | None = None) -> list[str]:
    """Writes what is in `source` to `target`, in the format that its ending tells; gives the names of what was left out.

    A ``.pt``, ``.pth`` or ``.bin`` file keeps the whole object; the others take its tensors by name, and what is no
    tensor is left out. Every element type is kept where the format has it (``.npz`` and ``.npy`` hold bfloat16 and
    float8 as float32). Checksums are compared.

    Args:
        source: path of a file in any format that `load` reads
        target: path of the new file
        format: of a ``.pt``: "zip", "stream" or "tar"

    Example:
        >>> import os, tempfile, numpy
        >>> folder = tempfile.mkdtemp()
        >>> save({"epoch": 3, "net": {"bias": numpy.zeros(2)}}, folder + "/a.pt", arrays="numpy")
        >>> convert(folder + "/a.pt", folder + "/a.safetensors")
        ['epoch']
        >>> load(folder + "/a.safetensors", arrays="numpy")
        {'net.bias': array([0., 0.])}
    """
    ending = os.path.splitext(os.fsdecode(target))[1]
    pickled = ending in (".pt", ".pth", ".bin")
    if not pickled and ending not in (".safetensors", ".npz", ".npy"):
        raise ValueError(f"convert: {os.fsdecode(target)!r} should end in {_ENDINGS}")
    if format is not None and not pickled:
        raise ValueError(f"convert: format={format!r} is for .pt files, and the target ends in {ending}")
    obj = load(source, map_location="cpu", arrays="numpy" if ending in (".npz", ".npy") else "raw")
    if pickled:
        save(obj, target, arrays="numpy", format=format)
        return []
    tensors, others = _by_name(obj, os.path.getsize(source))
    if ending == ".safetensors":
        save_safetensors(tensors, target)
    elif ending == ".npz":
        save_npz(tensors, target)
    elif len(tensors) == 1:
        save_npy(next(iter(tensors.values())), target)
    else:
        raise ValueError(f"convert: a .npy file holds one tensor, and the source has {len(tensors)}: convert to .npz")
    return others


def _by_name(obj, size: int) -> tuple[dict, list[str]]:
    tensors, others, total = {}, [], 0
    for name, leaf in leaves(obj, _is_leaf, size):
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
