"""The scale of losses and gradients."""

import math

import pytest
import torch


class Optimizer:
    """Counts its steps."""

    def __init__(self, *parameters):
        self.param_groups, self.steps = [{"params": list(parameters)}], 0

    def step(self):
        self.steps += 1
        return self.steps


class Parameter:
    """What has a gradient."""

    def __init__(self, grad):
        self.grad = grad


def test_a_step_is_made_on_unscaled_gradients_and_the_scale_grows():
    parameter = Parameter(torch.tensor([8.0, 16.0]))
    optimizer, scaler = Optimizer(parameter, Parameter(None)), torch.amp.GradScaler("cpu", 8.0, growth_interval=2)
    assert scaler.scale([torch.tensor(2.0), (torch.tensor(1.0),)])[1][0] == 8
    assert scaler.step(optimizer) == 1 and parameter.grad.tolist() == [1, 2]
    scaler.update()
    assert scaler.get_scale() == 8
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 16 and optimizer.steps == 2


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_step_on_gradients_that_are_not_finite_is_skipped_and_the_scale_shrinks(bad):
    optimizer, scaler = Optimizer(Parameter(torch.tensor([bad, 1.0]))), torch.amp.GradScaler("cpu", 8.0)
    assert scaler.step(optimizer) is None and optimizer.steps == 0
    scaler.update()
    assert scaler.get_scale() == 4
    with pytest.raises(AssertionError, match="no gradients were looked at"):
        scaler.update()


def test_calls_out_of_order_are_refused():
    optimizer, scaler = Optimizer(Parameter(torch.ones(1))), torch.amp.GradScaler("cpu")
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="unscale_.* called again"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="unscale_.* called after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="step.* called again"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="closures are not supported"):
        scaler.step(optimizer, closure=print)
    with pytest.raises(ValueError, match="float16 cannot be unscaled"):
        torch.amp.GradScaler("cpu").unscale_(Optimizer(Parameter(torch.ones(1).half())))


def test_the_state_goes_from_one_scaler_to_another():
    scaler, other = torch.amp.GradScaler("cpu", 32.0, growth_interval=7), torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 32 and other.get_growth_interval() == 7
    with pytest.raises(RuntimeError, match="the state is empty"):
        other.load_state_dict({})


def test_without_cuda_its_scaler_is_switched_off():
    with pytest.warns(UserWarning, match="GradScaler is enabled for CUDA, which is not available"):
        scaler = torch.GradScaler()
    optimizer, loss = Optimizer(Parameter(torch.tensor([math.inf]))), torch.tensor(1.0)
    assert not scaler.is_enabled() and scaler.scale(loss) is loss and scaler.step(optimizer) == 1
    scaler.update()
    assert scaler.get_scale() == 1 and scaler.state_dict() == {}
    with pytest.raises(RuntimeError, match="expected device_type 'cpu' or 'cuda', got 'tpu'"):
        torch.GradScaler("tpu")
