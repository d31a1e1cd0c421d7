"""Rows of a table and the gradient that flows back into it."""

import numpy
import pytest
import torch
from torch import _C


def test_embedding_takes_rows():
    table = torch.arange(6.0).reshape(3, 2)
    assert torch.embedding(table, torch.tensor([[2, 0]])).tolist() == [[[4.0, 5.0], [0.0, 1.0]]]
    assert torch.embedding(table, torch.tensor(1)).tolist() == [2.0, 3.0]
    assert torch.embedding(table, torch.tensor([], dtype=torch.int64)).shape == (0, 2)


def test_gradients_of_equal_indices_add_up():
    grad = torch.arange(8.0).reshape(4, 2)
    backward = _C._operator("embedding_dense_backward")
    assert backward(grad, torch.tensor([1, 0, 1, 2]), 3, -1, False).tolist() == [[2.0, 3.0], [4.0, 6.0], [6.0, 7.0]]
    assert backward(grad, torch.tensor([1, 0, 1, 2]), 3, 2, False).tolist() == [[2.0, 3.0], [4.0, 6.0], [0.0, 0.0]]
    assert backward(grad, torch.tensor([1, 0, 1, 2]), 3, -1, True).tolist() == [[2.0, 3.0], [2.0, 3.0], [6.0, 7.0]]


def test_a_gradient_over_several_blocks_of_the_table_is_the_sum_of_its_rows():
    backward = _C._operator("embedding_dense_backward")
    numpy.random.seed(3)
    index, grad = numpy.random.randint(0, 3000, 2000) ** 2 // 3000, numpy.random.randn(2000, 33)
    expected = numpy.zeros((3000, 33))
    numpy.add.at(expected, index, grad)
    expected[5] = 0
    result = backward(torch.from_numpy(grad), torch.from_numpy(index), 3000, 5, False)
    numpy.testing.assert_allclose(result.numpy(), expected, rtol=1e-13, atol=1e-13)


def test_a_gradient_of_no_index_is_zero():
    nothing = torch.tensor([], dtype=torch.int64)
    assert (
        _C._operator("embedding_dense_backward")(torch.empty(0, 2), nothing, 3, -1, False).tolist() == [[0.0] * 2] * 3
    )


def test_an_index_outside_the_table_is_named():
    with pytest.raises(IndexError, match="embedding: index 3 is out of bounds for dimension 0 with size 3"):
        torch.embedding(torch.ones(3, 2), torch.tensor([0, 3]))
    with pytest.raises(IndexError, match="index -1"):
        torch.embedding(torch.ones(3, 2), torch.tensor([-1]))
    with pytest.raises(RuntimeError, match="indices must be torch.int64 or torch.int32, got torch.float32"):
        torch.embedding(torch.ones(3, 2), torch.tensor([1.0]))


@pytest.mark.parametrize("shape", [(), (3,), (3, 1, 1), (1, 2, 3, 4)])
def test_a_table_has_two_dims(shape):
    with pytest.raises(RuntimeError, match=r"'weight' must be 2-D, a row for each entry, got \("):
        torch.embedding(torch.ones(shape), torch.tensor([0]))
