"""Sparse matrices of diagonals."""

import numpy as np
import pytest
import torch


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (6, 4)])
def test_a_matrix_has_the_given_diagonals(shape):
    sparse = pytest.importorskip("scipy.sparse")
    rows, offsets = np.arange(1.0, 16).reshape(3, 5), [0, 2, -1]
    expected = sparse.spdiags(rows, offsets, *shape).toarray()
    found = torch.sparse.spdiags(torch.from_numpy(rows), torch.tensor(offsets), shape)
    assert found.is_sparse and found.to_dense().numpy().tolist() == expected.tolist()


def test_diagonals_that_do_not_fit_are_named():
    rows = torch.ones(2, 3)
    for arguments, text in (
        ((rows, torch.tensor([0]), (3, 3)), r"a row for each offset, got shapes \(2, 3\) and \(1,\)"),
        ((rows, torch.tensor([1, 1]), (3, 3)), "duplicate"),
        ((rows, torch.tensor([0.0, 1.0]), (3, 3)), "dtype Long but got torch.float32"),
        ((rows, torch.tensor([0, 1]), (3,)), "must be 2d"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.sparse.spdiags(*arguments)
