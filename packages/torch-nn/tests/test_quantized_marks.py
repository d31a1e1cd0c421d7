"""torch.nn.quantized: operations as methods of modules; layers of quantized tensors are refused by name."""

import pytest
import torch
from torch import nn


def test_operations_pass_through_the_module_behind_them():
    f = nn.quantized.FloatFunctional()
    x, y = torch.tensor([1.0, -2.0]), torch.tensor([3.0, 1.0])
    assert torch.equal(f.add(x, y), x + y) and torch.equal(f.mul(x, y), x * y)
    assert torch.equal(f.cat([x, y]), torch.cat([x, y])) and torch.equal(f.matmul(x, y), x @ y)
    assert torch.equal(f.add_relu(x, y), torch.tensor([4.0, 0.0]))
    f.activation_post_process = nn.ReLU()
    assert torch.equal(f.add(x, y), torch.tensor([4.0, 0.0])) and torch.equal(f.mul_scalar(x, 2.0), x * 2)


def test_it_has_no_forward_and_no_quantized_layers():
    with pytest.raises(RuntimeError, match="no forward"):
        nn.quantized.FloatFunctional()(torch.ones(1))
    with pytest.raises(NotImplementedError, match="no quantized tensors"):
        nn.quantized.Linear(2, 2)
    with pytest.raises(AttributeError):
        nn.quantized.Nothing
