"""Modules as functions of their parameters, with the transforms of torch.func."""

import pytest
import torch
from torch import func, nn
from torch.nn.utils import stateless


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


class Counter(nn.Module):
    """Counts in a buffer that it sets anew, and that has a second name."""

    def __init__(self):
        super().__init__()
        self.count = nn.Buffer(torch.zeros(1))
        self.tied = self.count

    def forward(self, x):
        self.count = self.count + 1
        return x + self.count + self.tied


def test_buffers_that_a_call_sets_anew_are_set_in_the_dict():
    net, given = Counter(), torch.tensor([2.0])
    buffers = {"count": given}
    assert func.functional_call(net, buffers, torch.zeros(1)).item() == 5.0
    assert buffers["count"].item() == 3.0 and given.item() == 2.0 and net.count.item() == 0.0


@pytest.mark.parametrize(
    "names, tie_weights, words",
    [(["count"], True, None), (["count"], False, "missing key.*'tied'"), ([], True, "missing key.*'count', 'tied'"), (["count", "extra"], True, "unexpected key.*'extra'")],
)  # fmt: skip
def test_a_strict_call_needs_one_of_the_names_of_tied_tensors(names, tie_weights, words):
    net, buffers = Counter(), {name: torch.ones(1) for name in names}
    call = lambda: stateless._functional_call(net, buffers, torch.zeros(1), tie_weights=tie_weights, strict=True)
    if words is None:
        assert call().item() == 3.0
    else:
        with pytest.raises(RuntimeError, match=words):
            call()
    assert net.count.item() == 0.0 and not hasattr(net, "extra")


def test_untied_calls_reach_modules_that_hold_each_other():
    net = nn.Sequential(nn.Linear(1, 1))
    net[0].__dict__["_modules"]["up"] = net  # without the checks of add_module
    given = {"0.up.0.weight": torch.full((1, 1), 2.0), "0.bias": torch.zeros(1)}
    assert func.functional_call(net, given, torch.ones(1), tie_weights=False).item() == 2.0


@pytest.mark.filterwarnings("ignore:functional_call")
def test_an_extra_parameter_is_one_for_the_call():
    class Listing(nn.Linear):
        def forward(self, x):
            return list(self._parameters)

    net = Listing(1, 1)
    assert func.functional_call(net, {"extra": nn.Parameter(torch.ones(1))}, (None,)) == ["weight", "bias", "extra"]
    assert list(net._parameters) == ["weight", "bias"]


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
        (lambda: func.functional_call(nn.Linear(1, 1), {"bias": 3}, torch.ones(1)), TypeError, "'bias' is given 3, a int"),
        (lambda: func.functional_call(nn.Linear(1, 1), ({"weight": 1}, {"weight": 2}), ()), ValueError, "weight appeared in multiple"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(wrong, error, words):
    with pytest.raises(error, match=words):
        wrong()
