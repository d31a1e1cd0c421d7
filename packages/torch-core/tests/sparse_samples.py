"""Sparse tensors for the tests, and their values as NumPy arrays."""

import numpy as np
import torch


def drawn(shape, nnz, sparse_dim=None, dtype=torch.float64, seed=0):
    """Random places, some of them twice, with small whole numbers: every sum is exact."""
    noise = np.random.default_rng(seed)
    sparse_dim = len(shape) if sparse_dim is None else sparse_dim
    indices = np.array([noise.integers(0, n, nnz) for n in shape[:sparse_dim]], np.int64).reshape(sparse_dim, nnz)
    values = noise.integers(0 if dtype in (torch.uint8, torch.bool) else -4, 5, (nnz, *shape[sparse_dim:]))
    return torch.sparse_coo_tensor(torch.tensor(indices), torch.tensor(values).to(dtype), shape)


def numbers(t):
    return np.asarray(t.to_dense() if t.is_sparse else t)


def dense_of(s):
    """The definition: values added up at their places."""
    out = np.zeros(tuple(s.shape), np.asarray(s._values()).dtype)
    np.add.at(out, tuple(np.asarray(s._indices())), np.asarray(s._values()))
    return out
