"""torch.ao.quantization before anything is quantized."""

import pytest
import torch
from torch import nn


def test_marks_of_quantization_let_numbers_pass():
    net = torch.ao.quantization.QuantWrapper(nn.Linear(2, 2))
    x = torch.randn(3, 2)
    assert net(x).equal(net.module(x)) and torch.quantization.DeQuantStub()(x) is x
    assert {"module.weight", "module.bias"} == set(net.state_dict())


def test_quantizing_is_refused():
    for refused in (
        torch.ao.quantization.prepare,
        torch.quantization.MinMaxObserver,
        torch.ao.quantization.default_observer,
    ):
        with pytest.raises(NotImplementedError, match="quantized tensors are not part of this stack"):
            refused(None)
    assert not isinstance(nn.Linear(1, 1), torch.quantization.FakeQuantizeBase)
