"""Modules as functions of their parameters, with the transforms of torch.func."""

import pytest
import torch
from torch import func, nn


def mlp():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def test_gradients_of_a_module_equal_those_of_backward():
    net, x = mlp(), torch.randn(5, 3, dtype=torch.float64)
    parameters = dict(net.named_parameters())
    found = func.grad(lambda p: func.functional_call(net, p, (x,)).square().sum())(parameters)
    net(x).square().sum().backward()
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad)
        assert parameters[name] is parameter


def test_gradients_of_each_example_sum_up_to_those_of_the_batch():
    net, x = mlp(), torch.randn(5, 3, dtype=torch.float64)
    parameters = {name: p.detach() for name, p in net.named_parameters()}
    loss = lambda p, one: func.functional_call(net, p, (one,)).square().sum()
    each = func.vmap(func.grad(loss), in_dims=(None, 0))(parameters, x)
    whole = func.grad(lambda p: func.functional_call(net, p, (x,)).square().sum())(parameters)
    for name in parameters:
        assert each[name].shape == (5, *parameters[name].shape)
        torch.testing.assert_close(each[name].sum(0), whole[name])


def test_models_of_one_structure_run_as_a_batch():
    nets, x = [mlp() for _ in range(3)], torch.randn(5, 3, dtype=torch.float64)
    parameters, buffers = func.stack_module_state(nets)
    assert parameters["0.weight"].shape == (3, 4, 3) and parameters["0.weight"].is_leaf and buffers == {}
    base = mlp().to("meta")
    out = func.vmap(lambda p, b: func.functional_call(base, (p, b), (x,)))(parameters, buffers)
    torch.testing.assert_close(out, torch.stack([net(x) for net in nets]))
    out.sum().backward()
    assert parameters["2.bias"].grad.tolist() == [[5.0, 5.0]] * 3


def test_batch_norms_lose_their_running_statistics():
    net = func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2), nn.Sequential(nn.BatchNorm2d(1))))
    assert net[0].running_mean is None and net[1][0].running_var is None and not net[0].track_running_stats
    assert net[0](torch.randn(4, 2)).shape == (4, 2)


@pytest.mark.parametrize(
    "wrong, error, words",
    [
        (lambda: func.stack_module_state([]), RuntimeError, "at least one model, got 0"),
        (lambda: func.stack_module_state([nn.Linear(1, 1), nn.Linear(1, 1).eval()]), RuntimeError, "training/eval"),
        (lambda: func.stack_module_state([nn.Linear(1, 1), nn.ReLU()]), RuntimeError, "same class, got Linear, ReLU"),
        (lambda: func.stack_module_state([nn.Linear(1, 1), nn.Linear(1, 1, bias=False)]), RuntimeError, "same parameters"),
        (lambda: func.stack_module_state([nn.Linear(1, 1), nn.Linear(1, 1).requires_grad_(False)]), RuntimeError, "in all models or in none"),
        (lambda: func.functional_call(nn.Linear(1, 1), ({"weight": 1}, {"weight": 2}), ()), ValueError, "weight appeared in multiple"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(wrong, error, words):
    with pytest.raises(error, match=words):
        wrong()
