"""Operators of sparse tensors whose gradients are tested elsewhere, or that have none."""

import torch

from .source import call
from .sparse import sparse


def csr(t, *, rows=2):
    return torch.sparse_csr_tensor(torch.tensor([0, 2, 3][: rows + 1]), torch.tensor([0, 1, 1]), t(3), (rows, 2))


def csc(t):
    return torch.sparse_csc_tensor(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]), t(3), (2, 2))


CALLS = {
    **{name: [lambda t: call(sparse(t))] for name in ("coalesce", "is_coalesced", "_nnz", "_indices", "_values")},
    **{name: [lambda t: call(sparse(t).coalesce())] for name in ("indices", "values")},
    "sparse_mask": [lambda t: call(t(3, 4), sparse(t).coalesce())],
    "_coalesced_": [lambda t: call(sparse(t), True)],
    **{name: [lambda t: call(sparse(t), [5, 4], 2, 0)] for name in ("sparse_resize_", "sparse_resize_and_clear_")},
    "resize_as_sparse_": [lambda t: call(torch.sparse_coo_tensor(size=(0, 0)), sparse(t))],
    "hspmm": [lambda t: call(sparse(t), t(4, 2))],
    "smm": [lambda t: call(sparse(t), t(4, 2))],
    "sspaddmm": [lambda t: call(sparse(t), sparse(t), t(4, 4))],
    "_sparse_softmax": [lambda t: call(sparse(t), 1), lambda t: call(sparse(t), 0, True)],
    "_check_compressed": [lambda t: call(csr(t))],
    **{name: [lambda t: call(csr(t))] for name in ("crow_indices", "col_indices")},
    **{name: [lambda t: call(csc(t))] for name in ("ccol_indices", "row_indices")},
    "_sparse_mm_reduce": [lambda t: call(csr(t), t(2, 3), "mean")],
    "sparse_sampled_addmm": [lambda t: call(csr(t), t(2, 3), t(3, 2), beta=0.5)],
    "_to_sparse_compressed": [lambda t: call(t(2, 2), layout=torch.sparse_csr)],
    "_compressed_with_values": [lambda t: call(csr(t), t(3))],
    "_sparse_compressed_pattern": [
        lambda t: call(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]), t(3), [2, 2], layout=torch.sparse_csr)
    ],
    "_sparse_compressed_tensor": [
        lambda t: call(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]), t(3), layout=torch.sparse_csr, size=[2, 2])
    ],
}
