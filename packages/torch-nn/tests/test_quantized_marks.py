"""torch.nn.quantized: operations as methods of modules, and the older names of quantized layers."""

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


def test_it_has_no_forward():
    with pytest.raises(RuntimeError, match="no forward"):
        nn.quantized.FloatFunctional()(torch.ones(1))


def test_older_names_are_the_same_layers():
    import torch.nn.intrinsic
    import torch.nn.intrinsic.qat
    import torch.nn.qat
    import torch.nn.quantized.dynamic
    from torch.ao.nn import intrinsic, qat, quantized

    assert nn.quantized.Linear is quantized.Linear and nn.quantized.dynamic.Linear is quantized.dynamic.Linear
    assert nn.intrinsic.ConvReLU2d is intrinsic.ConvReLU2d and nn.qat.Linear is qat.Linear
    assert nn.intrinsic.qat.ConvBn2d is intrinsic.qat.ConvBn2d
    import torch.quantization.observer

    assert torch.quantization is torch.ao.quantization
    assert torch.quantization.observer.MinMaxObserver is torch.ao.quantization.MinMaxObserver
    with pytest.raises(AttributeError):
        nn.quantized.Nothing
    assert nn.quantized.LSTM is quantized.LSTM and nn.quantizable.LSTM is torch.ao.nn.quantizable.LSTM
