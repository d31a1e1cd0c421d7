"""Arrays of tensors that require gradients."""

import pytest
import torch

np = pytest.importorskip("numpy")


def test_a_tensor_that_requires_a_gradient_becomes_an_array_where_nothing_is_recorded():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Use tensor.detach"):
        x.numpy()
    with torch.no_grad():
        array = x.numpy()
    with torch.inference_mode():
        assert x.numpy().tolist() == [1, 1]
    array[0] = 5
    assert x.tolist() == [5, 1] and x.requires_grad and x.is_leaf
    with torch.no_grad(), torch.enable_grad(), pytest.raises(RuntimeError, match="Use tensor.detach"):
        x.numpy()
