"""Groups, state dicts, closures, hooks: what all optimisers share."""

import copy
import importlib
import subprocess
import sys

import pytest
import torch
from torch import optim
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook, required


def parameter(*values):
    return torch.tensor(values or (1.0,), requires_grad=True)


def test_groups_have_their_own_options_and_share_the_defaults():
    a, b = parameter(), parameter()
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1, momentum=0.9)
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.5]
    assert all(g["momentum"] == 0.9 for g in optimizer.param_groups)
    assert optimizer.param_groups[1]["params"] == [b]
    a.grad = b.grad = torch.ones(1)
    optimizer.step()
    assert a.item() == pytest.approx(0.9)
    assert b.item() == pytest.approx(0.5)


def test_parameters_without_gradient_are_left_alone():
    a, b = parameter(), parameter()
    a.grad = torch.ones(1)
    optimizer = optim.Adam([a, b])
    optimizer.step()
    assert b.item() == 1.0
    assert b not in optimizer.state


def test_a_closure_is_called_with_gradients_on_and_its_loss_returned():
    p = parameter(2.0)
    optimizer = optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 4.0
    assert p.item() == pytest.approx(1.6)


def test_zero_grad_drops_or_fills():
    p = parameter()
    p.grad = grad = torch.ones(1)
    optimizer = optim.SGD([p])
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad
    assert grad.item() == 0.0
    optimizer.zero_grad()
    assert p.grad is None


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        (torch.zeros(1), TypeError, "should be an iterable of Tensors or dicts, but got torch.FloatTensor"),
        ([], ValueError, r"optimizer got an empty parameter list; .* model.parameters\(\) gives its items only once"),
        ([1.0], TypeError, "can only optimize Tensors, but one of the params is float"),
        ({"weight": 1}, TypeError, r"one of the params is str \('weight'\); give model.parameters\(\)"),
        ([{"params": set()}], TypeError, "ordering of tensors in sets"),
    ],
)
def test_what_is_no_list_of_tensors_is_refused(params, error, match):
    with pytest.raises(error, match=match):
        optim.SGD(params, lr=0.1)


def test_computed_tensors_are_refused():
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        optim.SGD([parameter() * 2])


def test_duplicates_warn_within_a_group_and_fail_across_groups():
    p = parameter()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p])
    with pytest.raises(ValueError, match="appear in more than one parameter group"):
        optim.SGD([{"params": p}, {"params": [p]}])


def test_a_refused_group_is_not_added():
    p = parameter()
    optimizer = optim.SGD([p])
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [p]})
    with pytest.raises(TypeError, match="param_group must be a dict, but got list"):
        optimizer.add_param_group([p])
    assert len(optimizer.param_groups) == 1
    optimizer.add_param_group({"params": [parameter()], "lr": 3.0})
    assert optimizer.param_groups[1]["lr"] == 3.0


def test_required_options_are_asked_for():
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter lr"):
        optim.SGD([{"params": [parameter()]}], lr=required)
    optim.SGD([{"params": [parameter()], "lr": 0.1}], lr=required)


def test_names_travel_with_parameters():
    optimizer = optim.SGD([("w", parameter()), ("b", parameter())])
    assert optimizer.param_groups[0]["param_names"] == ["w", "b"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["w", "b"]
    with pytest.raises(ValueError, match="with/without names"):
        optimizer.add_param_group({"params": [parameter()]})


def test_state_dict_numbers_the_parameters():
    a, b = parameter(), parameter()
    optimizer = optim.SGD([{"params": [a]}, {"params": [b]}], lr=0.1, momentum=0.9)
    b.grad = torch.ones(1)
    optimizer.step()
    state = optimizer.state_dict()
    assert [g["params"] for g in state["param_groups"]] == [[0], [1]]
    assert list(state["state"]) == [1]
    assert state["state"][1]["momentum_buffer"].item() == 1.0
    assert state["param_groups"][0]["lr"] == 0.1


def test_load_state_dict_casts_to_the_parameters():
    source, p = parameter(), parameter().detach().double().requires_grad_()
    a, b = optim.Adam([source], lr=0.5), optim.Adam([p])
    source.grad = torch.ones(1)
    a.step()
    b.load_state_dict(a.state_dict())
    assert b.param_groups[0]["lr"] == 0.5
    assert b.param_groups[0]["params"][0] is p
    assert b.state[p]["exp_avg"].dtype == torch.float64
    assert b.state[p]["step"] == 1
    assert b.state[p]["exp_avg"] is not a.state[source]["exp_avg"]


def test_load_state_dict_refuses_other_groups_and_changes_nothing():
    optimizer = optim.SGD([parameter()], lr=0.1)
    two = optim.SGD([parameter(), parameter()], lr=0.2)
    with pytest.raises(ValueError, match=r"groups have \[2\] parameters, this optimizer's have \[1\]"):
        optimizer.load_state_dict(two.state_dict())
    many = optim.SGD([{"params": [parameter()]}, {"params": [parameter()]}], lr=0.2)
    with pytest.raises(ValueError, match="different number of parameter groups: 2, this optimizer has 1"):
        optimizer.load_state_dict(many.state_dict())
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_steps_saved_as_tensors_load():
    p = parameter()
    p.grad = torch.ones(1)
    a = optim.Adam([p], lr=0.1)
    a.step()
    state = a.state_dict()
    state["state"][0]["step"] = torch.tensor(1.0)
    b = optim.Adam([p], lr=0.1)
    b.load_state_dict(state)
    b.step()
    assert b.state[p]["step"] == 2


def test_options_missing_in_an_old_checkpoint_take_the_defaults():
    optimizer = optim.Adam([parameter()])
    state = optimizer.state_dict()
    del state["param_groups"][0]["amsgrad"]
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["amsgrad"] is False


def test_hooks_around_steps_and_state_dicts():
    p, seen = parameter(), []
    optimizer = optim.SGD([p], lr=0.1)
    handle = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("pre"))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("post"))
    everywhere = register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append("all"))
    optimizer.step()
    assert seen == ["all", "pre", "post"]
    everywhere.remove()
    handle.remove()
    optimizer.step()
    assert seen[3:] == ["post"]
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append(state["extra"]))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen[4:] == [1, "loaded"]


def test_an_optimizer_of_ones_own_has_hooks_too():
    class Sign(Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    p, seen = parameter(), []
    p.grad = torch.full((1,), 7.0)
    optimizer = Sign([p], 0.5)
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(p.item()))
    optimizer.step()
    assert seen == [0.5]

    class Rule(Optimizer):
        def _update(self, p, g, state, group):
            p.sub_(g)

    q = parameter()
    q.grad = torch.ones(1)
    Rule([q], {}).step()
    assert q.item() == 0.0
    with pytest.raises(NotImplementedError, match="Optimizer must define _update"):
        q.grad = torch.ones(1)
        Optimizer([q], {}).step()


def test_deepcopy_and_printing():
    optimizer = optim.SGD([parameter()], lr=0.1)
    twin = copy.deepcopy(optimizer)
    assert twin.param_groups[0]["params"][0] is not optimizer.param_groups[0]["params"][0]
    twin.step()
    text = repr(optimizer)
    assert text.startswith("SGD (\nParameter Group 0\n")
    assert "    lr: 0.1\n" in text


def test_a_step_is_not_recorded():
    p = parameter()
    (p * 2).sum().backward()
    optim.Adam([p]).step()
    assert p.is_leaf
    assert p.requires_grad


def test_parameters_and_state_can_be_exchanged():
    p, q = parameter(), parameter(5.0)
    p.grad = q.grad = torch.ones(1)
    optimizer = optim.SGD([p], lr=1.0, momentum=0.5)
    optimizer.step()
    optim.swap_in_optimizer_params_and_state(optimizer, [q], {q: {"momentum_buffer": torch.full((1,), 2.0)}})
    optimizer.step()
    assert q.item() == 5.0 - (0.5 * 2.0 + 1.0)
    with pytest.raises(ValueError, match="optimizer has 1 parameters, 2 were given"):
        optim.swap_in_optimizer_params_and_state(optimizer, [p, q], {})


@pytest.mark.parametrize(
    "use",
    [
        "optim.SGD",
        "optim.sgd(M(), lr=0.1).step",
        "optim.Adam",
        "optim.lr_scheduler.StepLR",
        "optim.swa_utils.SWALR",
        "optim.adam.Adam",
    ],
)
def test_algorithms_load_at_first_use(use):
    import subprocess
    import sys

    model = "class M:\n    def parameters(self): return [torch.zeros(1, requires_grad=True)]\n"
    code = f"import torch\n{model}import sys\nfrom torch import optim\nassert 'torch.optim.sgd' not in sys.modules\n{use}\n"
    subprocess.run([sys.executable, "-c", code + "optim.SGD, optim.sgd(M(), 0.1)\n"], check=True)
    with pytest.raises(AttributeError, match="module 'torch.optim' has no attribute 'Sdg'"):
        optim.Sdg


def test_steps_are_ranges_of_a_profile():
    from torch.autograd.profiler import profile

    p = parameter(1.0, 2.0)
    optimizer = optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with profile() as prof:
        optimizer.step(closure)
        with pytest.raises(ZeroDivisionError):
            optimizer.step(lambda: 1 / 0)
    first, second = (e for e in prof.function_events if e.cpu_parent is None)
    assert first.name == second.name == "Optimizer.step#SGD.step"
    inside = [child.name for child in first.cpu_children]
    assert inside[0] == "Optimizer.zero_grad#SGD.zero_grad" and "MulBackward0" in inside and len(inside) > 5
    assert not second.is_open
    optimizer.step(closure)  # and outside of one
    assert torch.allclose(p, torch.tensor([0.64, 1.28]))


def test_optimisers_written_elsewhere_find_what_they_import():
    from torch.optim import optimizer
    from torch.optim.optimizer import ParamsT, _use_grad_for_differentiable

    class Sign(torch.optim.Optimizer):
        def __init__(self, params: ParamsT, lr=0.5, differentiable=False):
            super().__init__(params, {"lr": lr, "differentiable": differentiable})

        @_use_grad_for_differentiable
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    w = torch.ones(2, requires_grad=True)
    (w * w).sum().backward()
    Sign([w]).step()
    assert w.tolist() == [0.5, 0.5]
    lists = [[torch.ones(1), torch.ones(2, dtype=torch.float64)], [torch.zeros(1), None]]
    groups = torch.optim.Optimizer._group_tensors_by_device_and_dtype(lists, with_indices=True)
    assert [(str(k[1]), v[1], len(v[0])) for k, v in groups.items()] == [
        ("torch.float32", [0], 2),
        ("torch.float64", [1], 2),
    ]
    module = importlib.import_module("torch.optim.optimizer")
    assert module.DeviceDict == dict[torch.device | None, torch.Tensor]
    pair = [torch.ones(1, dtype=torch.complex64)], [torch.zeros(1, dtype=torch.complex64)]
    optimizer._view_as_real(*pair)
    assert pair[0][0].shape == pair[1][0].shape == (1, 2)
    assert optimizer._get_value(torch.tensor(3.0)) == 3.0 and optimizer._default_to_fused_or_foreach([], False) == (
        False,
        False,
    )


def test_libraries_find_the_algorithms_in_the_dictionary_of_the_package():
    code = (
        "import sys, torch.optim\n"
        "print('torch.optim.adam' in sys.modules)\n"
        "print({n for n, v in torch.optim.__dict__.items() if isinstance(v, type)} >= {'Adam', 'LBFGS', 'SparseAdam'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stdout + done.stderr


@pytest.mark.parametrize(
    "wrong, meant", [("learning_rate", "lr"), ("weight_deacy", "weight_decay"), ("beta1", "betas")]
)
def test_an_optimizer_says_which_keyword_was_meant(wrong, meant):
    with pytest.raises(TypeError, match=rf"Adam.__init__\(\) .*'{wrong}'; did you mean '{meant}'"):
        torch.optim.Adam([torch.ones(1)], **{wrong: 0.1})


@pytest.mark.parametrize(
    "name", ["Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD"]
)
def test_steps_are_counted_in_a_tensor(name):
    p = torch.ones(2, requires_grad=True)
    optimizer = getattr(torch.optim, name)([p])
    for _ in range(3):
        p.grad = torch.ones(2)
        optimizer.step()
    steps = optimizer.state[p]["step"]
    assert isinstance(steps, torch.Tensor) and steps.dtype == torch.float32 and steps.item() == 3


def test_parameters_with_names_and_without_are_not_mixed():
    p, q = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match=r"params\[1\] has none, params\[0\] has one"):
        torch.optim.SGD([("p", p), q])


def test_algorithms_over_matrices_refuse_complex_parameters():
    p = torch.ones(2, 2, dtype=torch.complex64, requires_grad=True)
    p.grad = torch.ones_like(p)
    for kind in (torch.optim.Muon, torch.optim.Adafactor):
        with pytest.raises(RuntimeError, match=f"{kind.__name__} does not support complex parameters"):
            kind([p]).step()
    with pytest.raises(ValueError, match="SparseAdam does not support complex parameters"):
        torch.optim.SparseAdam([p])


def test_counts_of_epochs_may_be_numbers_of_any_kind():
    schedulers = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    (
        schedulers.CosineAnnealingLR(optimizer, 10.5),
        schedulers.StepLR(optimizer, 3.0),
        schedulers.LinearLR(optimizer, total_iters=5.0),
    )
    schedulers.ReduceLROnPlateau(optimizer, patience=2.0, cooldown=1.0)
    torch.optim.LBFGS([torch.ones(1, requires_grad=True)], max_iter=20.0)
    with pytest.raises(TypeError, match=r"StepLR: step_size must be an int, got str \('3'\)"):
        schedulers.StepLR(optimizer, "3")


def test_parameters_about_which_nothing_is_kept_have_no_state():
    p = torch.ones(2, requires_grad=True)
    p.grad = torch.ones(2)
    plain, heavy = torch.optim.SGD([p], lr=0.1), torch.optim.SGD([p], lr=0.1, momentum=0.9)
    plain.step()
    heavy.step()
    assert plain.state_dict()["state"] == {}
    assert list(heavy.state_dict()["state"]) == [0] and list(heavy.state[p]) == ["momentum_buffer"]


@pytest.mark.parametrize("other", ["foreach", "differentiable"])
def test_one_step_for_all_tensors_has_one_form(other):
    with pytest.raises(RuntimeError, match=f"`fused` and `{other}` cannot be `True` together"):
        torch.optim.Adam([torch.zeros(1, requires_grad=True)], fused=True, **{other: True})


def test_a_class_sees_which_options_a_checkpoint_lacks():
    class Scaled(optim.SGD):
        def __init__(self, params, lr=0.1):
            super().__init__(params, lr)
            self.defaults["scale"] = 1.0
            self.param_groups[0]["scale"] = 1.0

        def __setstate__(self, state):
            super().__setstate__(state)
            for group in self.param_groups:
                if "scale" not in group:
                    group["scale"] = group.pop("older_scale")

    optimizer = Scaled([torch.zeros(1)])
    state = optimizer.state_dict()
    del state["param_groups"][0]["scale"], state["param_groups"][0]["nesterov"]
    state["param_groups"][0]["older_scale"] = 0.5
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["scale"] == 0.5 and optimizer.param_groups[0]["nesterov"] is False


@pytest.mark.parametrize("name", ["NAdam", "ASGD"])
def test_numbers_of_the_state_are_loaded_without_rounding(name):
    def steps(p, optimizer, count):
        for i in range(count):
            p.grad = torch.linspace(-1, 1, 8) + i
            optimizer.step()

    p = torch.ones(8)
    first = getattr(optim, name)([p], lr=0.1)
    steps(p, first, 3)
    second = getattr(optim, name)([p.clone()], lr=0.1)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    q = second.param_groups[0]["params"][0]
    for key, value in first.state[p].items():
        assert second.state[q][key].dtype == value.dtype and torch.equal(second.state[q][key], value), key
    steps(p, first, 20)
    steps(q, second, 20)
    assert torch.equal(p, q)


ALGORITHMS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, 0.1, amsgrad=True),
    "Adadelta": torch.optim.Adadelta,
    "Adagrad": lambda p: torch.optim.Adagrad(p, initial_accumulator_value=0.5),
    "Adamax": torch.optim.Adamax,
    "ASGD": torch.optim.ASGD,
    "NAdam": torch.optim.NAdam,
    "RAdam": torch.optim.RAdam,
    "RMSprop": lambda p: torch.optim.RMSprop(p, momentum=0.5, centered=True),
    "Rprop": torch.optim.Rprop,
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_states_of_complex_parameters_are_complex_and_come_back(name):
    """As PyTorch's files have them; what was kept as pairs of real numbers is read too."""
    gradients = [torch.tensor([[0.5 + k * 1.0j, 1.0 - 2.0j]]) for k in range(4)]

    def run(optimizer, p, some):
        for g in some:
            p.grad = g.clone()
            optimizer.step()
        return p.detach().clone()

    z = torch.tensor([[1.0 + 2.0j, -1.0j]], requires_grad=True)
    whole = ALGORITHMS[name]([z])
    halfway = run(whole, z, gradients[:2])
    saved = copy.deepcopy(whole.state_dict())
    kept = [v for v in saved["state"][0].values() if isinstance(v, torch.Tensor) and v.dim()]
    assert kept and all(v.dtype == z.dtype and v.shape == z.shape for v in kept)
    wanted = run(whole, z, gradients[2:])
    pairs = copy.deepcopy(saved)
    for n, v in pairs["state"][0].items():
        pairs["state"][0][n] = torch.view_as_real(v) if isinstance(v, torch.Tensor) and v.is_complex() else v
    for state in (saved, pairs):
        again = halfway.clone().requires_grad_()
        optimizer = ALGORITHMS[name]([again])
        optimizer.load_state_dict(state)
        assert torch.equal(run(optimizer, again, gradients[2:]), wanted)


def test_lbfgs_takes_complex_parameters():
    target = torch.tensor([1.0 - 2.0j, 3.0j])
    for line_search in (None, "strong_wolfe"):
        z = torch.zeros(2, dtype=torch.complex64, requires_grad=True)
        optimizer = torch.optim.LBFGS([z], line_search_fn=line_search)

        def closure(z=z, optimizer=optimizer):
            optimizer.zero_grad()
            loss = ((z - target) * (z - target).conj()).real.sum()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
        assert torch.allclose(z.detach(), target, atol=1e-4)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
def test_options_of_adam_in_tensors_that_do_not_go_together_are_named(kind):
    half = torch.tensor(0.5)
    with pytest.raises(ValueError, match="betas must be either both floats or both Tensors"):
        kind([torch.zeros(1)], betas=(half, 0.9))
    for options, name in (({"lr": half}, "lr"), ({"betas": (half, half)}, r"betas\[0\]")):
        with pytest.raises(
            ValueError, match=f"{name} as a Tensor is not supported for capturable=False and foreach=True"
        ):
            kind([torch.zeros(1)], foreach=True, **options)
        kind([torch.zeros(1)], **options)
