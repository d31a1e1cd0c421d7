"""functorch: modules as functions of their parameters."""

import functorch
import pytest
import torch
from torch import nn


def test_a_module_is_a_function_of_its_parameters():
    net, x = nn.Linear(3, 2), torch.randn(4, 3)
    function, parameters = functorch.make_functional(net)
    assert function(parameters, x).equal(net(x)) and isinstance(function, functorch.FunctionalModule)
    loss = lambda p: function(p, x).square().sum()
    found = functorch.grad(loss)(parameters)
    expected = torch.autograd.grad(net(x).square().sum(), list(net.parameters()))
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)
    assert not any(p.requires_grad for p in functorch.make_functional(net, disable_autograd_tracking=True)[1])
    with pytest.raises(ValueError, match="BatchNorm1d.*use make_functional_with_buffers"):
        functorch.make_functional(nn.BatchNorm1d(2))


def test_modules_become_one_function_under_vmap():
    nets, x = [nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval() for _ in range(3)], torch.randn(4, 3)
    function, parameters, buffers = functorch.combine_state_for_ensemble(nets)
    found = functorch.vmap(function, in_dims=(0, 0, None))(parameters, buffers, x)
    torch.testing.assert_close(found, torch.stack([net(x) for net in nets]))
