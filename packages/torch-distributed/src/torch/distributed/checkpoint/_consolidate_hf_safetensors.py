"""Files of several ranks' pieces made files of whole tensors."""

from pathlib import Path

import torch
from torch.serialize.safetensors import load_safetensors, save_safetensors

from ._safetensors_names import file_name, offsets_of, write_index

__all__ = ["consolidate_safetensors_files"]


def consolidate_safetensors_files(input_dir, output_dir, fqn_to_index_mapping, num_threads=1) -> None:
    """Put the pieces in the safetensors files of ``input_dir`` together, and write the whole tensors to ``output_dir``.

    Args:
        input_dir: the folder of pieces
        output_dir: the folder of whole tensors, with an index
        fqn_to_index_mapping: by name of a tensor, the number of its file, from 1
        num_threads: is taken and has no effect
    """
    pieces: dict = {}
    for path in sorted(Path(input_dir).glob("*.safetensors")):
        offsets = offsets_of(path)
        for name, piece in load_safetensors(path, mmap=True).items():
            pieces.setdefault(name, []).append((offsets.get(name, [0] * piece.dim()), piece))
    missing = sorted(set(fqn_to_index_mapping) ^ set(pieces))
    if missing:
        raise ValueError(
            f"consolidate_safetensors_files: fqn_to_index_mapping and the files in {input_dir} differ in {', '.join(missing[:5])}"
        )
    Path(output_dir).mkdir(parents=True, exist_ok=True)
    count, files, nbytes = max(fqn_to_index_mapping.values(), default=1), {}, 0
    for number in sorted(set(fqn_to_index_mapping.values())):
        names = [name for name, one in fqn_to_index_mapping.items() if one == number]
        tensors = {name: _joined(name, pieces[name]) for name in names}
        file = file_name(number, count)
        save_safetensors(tensors, Path(output_dir, file), {"format": "pt"}, progress=False)
        files |= dict.fromkeys(names, file)
        nbytes += sum(tensor.nbytes for tensor in tensors.values())
    write_index(output_dir, files, nbytes)


def _joined(name, pieces):
    """A tensor of its pieces, which are given with where they begin."""
    ends = [[at + n for at, n in zip(offset, piece.shape, strict=True)] for offset, piece in pieces]
    shape = [max(dim) for dim in zip(*ends, strict=True)]
    whole = torch.empty(shape, dtype=pieces[0][1].dtype)
    if sum(piece.numel() for _, piece in pieces) != whole.numel():
        raise ValueError(f"consolidate_safetensors_files: the pieces of {name} do not make up {tuple(shape)}")
    for (offset, piece), end in zip(pieces, ends, strict=True):
        whole[tuple(slice(*one) for one in zip(offset, end, strict=True))] = piece
    return whole
