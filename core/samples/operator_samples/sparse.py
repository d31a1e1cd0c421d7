"""Sparse tensors."""

import torch

from .source import call

# Places in a (3, 4) and in a (4, 2) matrix, sorted, and the rows and columns of some that are neither.
PLACES = torch.tensor([[0, 1, 1, 2], [3, 0, 2, 2]])
PLACES2 = torch.tensor([[0, 2, 2, 3], [1, 0, 1, 0]])
ROWS, COLUMNS = torch.tensor([2, 0, 2, 1, 0]), torch.tensor([1, 3, 1, 0, 2])


def sparse(t):
    return torch.sparse_coo_tensor(PLACES, t(4), (3, 4))


CALLS = {
    "_sparse_coo_tensor_unsafe": [lambda t: call(PLACES, t(4), [3, 4]), lambda t: call(PLACES[:1], t(4, 2), [3, 2])],
    "_sparse_values": [lambda t: call(sparse(t))],
    "_sparse_assign_": [lambda t: call(sparse(t), sparse(t))],
    "_segment_sum": [lambda t: call(t(5, 2), torch.tensor([2, 0, 1, 4, 3]), torch.tensor([0, 2, 2, 5]))],
    "_sparse_matmul": [lambda t: call(ROWS, COLUMNS, t(5), t(4, 2), 3)],
    "_compressed_with_values": [],  # its result is sparse: test_sparse.py
    "_compressed_matmul": [lambda t: call(torch.tensor([0, 2, 2, 3]), torch.tensor([0, 1, 1]), t(3), t(2, 4))],
    "_sparse_sampled": [lambda t: call(ROWS, COLUMNS, t(3, 2), t(4, 2))],
    "_sparse_sparse_matmul": [lambda t: call(PLACES, t(4), PLACES2, t(4), [3, 4, 2])],
}
