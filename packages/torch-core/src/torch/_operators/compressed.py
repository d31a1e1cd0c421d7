"""Rows of elements as one number for each element, and as the place at which each row begins."""

import torch


def _convert_indices_from_coo_to_csr(input, size, *, out_int32=False):
    """Where each of ``size`` rows begins among elements whose rows rise: ``size + 1`` places.

    >>> torch._convert_indices_from_coo_to_csr(torch.tensor([0, 0, 2]), 4)
    tensor([0, 2, 2, 3, 3])
    """
    if input.dim() > 1:
        raise RuntimeError(f"Input is supposed to be a vector, but got {input.dim()} dimensional tensor.")
    if input.dtype not in (torch.int32, torch.int64):
        raise RuntimeError(f"_convert_indices_from_coo_to_csr: rows must be int32 or int64, got {input.dtype}")
    places = torch.searchsorted(input, torch.arange(size + 1, dtype=input.dtype, device=input.device))
    return places.to(torch.int32) if out_int32 else places


def _convert_indices_from_csr_to_coo(crow_indices, col_indices, *, out_int32=False, transpose=False):
    """The row and the column of each element, of the places at which rows begin; ``transpose`` exchanges the two.

    >>> torch._convert_indices_from_csr_to_coo(torch.tensor([0, 2, 3]), torch.tensor([1, 2, 0]))
    tensor([[0, 0, 1],
            [1, 2, 0]])
    """
    if crow_indices.dim() != 1 or col_indices.dim() != 1:
        raise RuntimeError(
            "crow_indices and col_indices are supposed to be vectors, got shapes "
            f"{tuple(crow_indices.shape)} and {tuple(col_indices.shape)}"
        )
    rows = torch.repeat_interleave(
        torch.arange(crow_indices.numel() - 1, device=crow_indices.device), crow_indices.diff().long()
    )
    both = (col_indices, rows) if transpose else (rows, col_indices)
    return torch.stack([x.to(torch.int32 if out_int32 else torch.int64) for x in both])
