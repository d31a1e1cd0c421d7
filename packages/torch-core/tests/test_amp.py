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


@pytest.mark.parametrize(("dtype", "found"), [(torch.float16, 1), (torch.float32, 0)])
def test_sums_of_a_sparse_gradient_that_overflow_are_not_finite(dtype, found):
    twice = torch.sparse_coo_tensor(torch.tensor([[0, 1, 0]]), torch.tensor([64000, 1, 64000], dtype=dtype), (2,))
    optimizer, zero = Optimizer(Parameter(twice)), torch.zeros(1)
    bad = torch.amp.GradScaler("cpu")._unscale_grads_(optimizer, torch.full((1,), 0.25), zero, True)
    assert bad[twice.device].item() == found


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


def test_a_scaler_of_ones_own_is_written_with_two_functions_of_torch():
    scale, steps, found = torch.tensor([8.0]), torch.tensor([0], dtype=torch.int32), torch.zeros(1)
    grads = [torch.tensor([2.0, 4.0]), torch.tensor([6.0], dtype=torch.float64)]
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor([0.5]))
    assert [g.tolist() for g in grads] == [[1.0, 2.0], [3.0]] and found.item() == 0
    history = []
    for infinite in (False, False, True, False, False):
        grads, found = [torch.tensor([1.0, float("inf") if infinite else 1.0])], torch.zeros(1)
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor([1.0]))
        assert torch._amp_update_scale_(scale, steps, found, 4.0, 0.5, 2) is scale
        history.append((scale.item(), steps.item()))
    assert history == [(8.0, 1), (32.0, 0), (16.0, 0), (16.0, 1), (64.0, 0)]
    with pytest.raises(RuntimeError, match="found_inf must have one element, got shape"):
        torch._amp_foreach_non_finite_check_and_unscale_([], torch.zeros(2), torch.ones(1))


def test_an_optimizer_that_unscales_by_itself_gets_the_scale_and_what_was_found():
    class Scaling(Optimizer):
        _step_supports_amp_scaling = True

        def step(self):
            seen.append((self.grad_scale and self.grad_scale.item(), self.found_inf.item()))

    seen, parameter = [], Parameter(torch.tensor([8.0, 16.0]))
    optimizer, scaler = Scaling(parameter), torch.amp.GradScaler("cpu", 8.0)
    scaler.step(optimizer)
    assert parameter.grad.tolist() == [8, 16]
    scaler.update()
    scaler.unscale_(optimizer)
    assert parameter.grad.tolist() == [1, 2]
    scaler.step(optimizer)
    scaler.update()
    parameter.grad = torch.tensor([math.inf])
    scaler.step(optimizer)
    scaler.update()
    assert seen == [(8.0, 0.0), (None, 0.0), (8.0, 1.0)] and scaler.get_scale() == 4
    assert not hasattr(optimizer, "found_inf")


def test_a_step_that_takes_the_scaler_is_given_it():
    class Asking(Optimizer):
        _step_supports_amp_scaling = True

        def step(self, grad_scaler=None):
            return grad_scaler

    scaler = torch.amp.GradScaler("cpu", 8.0)
    assert scaler.step(Asking(Parameter(torch.ones(1)))) is scaler


def test_scalers_of_libraries_override_single_steps():
    class Halves(torch.amp.GradScaler):
        def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
            return super()._unscale_grads_(optimizer, inv_scale, found_inf, True)

        def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
            found.append({str(k): v.item() for k, v in optimizer_state["found_inf_per_device"].items()})
            return super()._maybe_opt_step(optimizer, optimizer_state, *args, **kwargs)

    found, parameter = [], Parameter(torch.tensor([8.0], dtype=torch.float16))
    optimizer, scaler = Optimizer(parameter), Halves("cpu", 8.0)
    assert scaler.step(optimizer) == 1 and parameter.grad.tolist() == [1] and found == [{"cpu": 0.0}]
    assert scaler._per_optimizer_states[id(optimizer)]["stage"] is torch.amp.grad_scaler.OptState.STEPPED
    scaler.update(2.0)
    assert scaler._scale.item() == 2 and not scaler._per_optimizer_states


def test_the_scale_of_a_loss_of_half_precision_does_not_overflow():
    scaled = torch.amp.GradScaler("cpu").scale(torch.tensor(2.0, dtype=torch.float16))
    assert scaled.dtype == torch.float32 and scaled.item() == 2.0**17
