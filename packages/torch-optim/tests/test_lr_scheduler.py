"""Schedules against their formulas, resuming, and use in the wrong order."""

import math

import pytest
import torch
from torch import optim
from torch.optim import lr_scheduler as S


def sgd(lr=1.0, momentum=0.9):
    return optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr, momentum=momentum)


def rates(make, n=8, optimizer=None, metrics=None):
    optimizer = optimizer or sgd()
    scheduler = make(optimizer)
    seen = [optimizer.param_groups[0]["lr"]]
    for i in range(n - 1):
        optimizer.step()
        scheduler.step(metrics[i]) if metrics else scheduler.step()
        seen.append(optimizer.param_groups[0]["lr"])
        assert scheduler.get_last_lr() == [seen[-1]]
    return seen


@pytest.mark.parametrize(
    ("make", "formula"),
    [
        (lambda o: S.StepLR(o, 3, 0.5), lambda e: 0.5 ** (e // 3)),
        (lambda o: S.MultiStepLR(o, [2, 5, 5], 0.5), lambda e: 1.0 if e < 2 else 0.5 if e < 5 else 0.125),
        (lambda o: S.ExponentialLR(o, 0.9), lambda e: 0.9**e),
        (lambda o: S.LambdaLR(o, lambda e: 1 / (e + 1)), lambda e: 1 / (e + 1)),
        (lambda o: S.MultiplicativeLR(o, lambda e: 0.8), lambda e: 0.8**e),
        (lambda o: S.ConstantLR(o, 0.5, 3), lambda e: 0.5 if e < 3 else 1.0),
        (lambda o: S.LinearLR(o, 0.2, 1.0, 4), lambda e: min(1.0, 0.2 + 0.2 * e)),
        (lambda o: S.PolynomialLR(o, 5, 2.0), lambda e: max(0.0, 1 - e / 5) ** 2),
        (lambda o: S.CosineAnnealingLR(o, 3, 0.1), lambda e: 0.1 + 0.9 * (1 + math.cos(math.pi * e / 3)) / 2),
        (
            lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2),
            lambda e: (1 + math.cos(math.pi * (e / 2 if e < 2 else (e - 2) / 4 if e < 6 else (e - 6) / 8))) / 2,
        ),
        (
            lambda o: S.CyclicLR(o, 0.1, 0.9, 2, 2, mode="triangular2"),
            lambda e: 0.1 + 0.8 * (1 - abs(e % 4 - 2) / 2) / 2 ** (e // 4),
        ),
        (
            lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 9), S.ExponentialLR(o, 0.9)], [3]),
            lambda e: 0.1 if e < 3 else 0.9 ** (e - 3),
        ),
        (
            lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 3), S.ExponentialLR(o, 0.9)]),
            lambda e: (0.1 if e < 3 else 1.0) * 0.9**e,
        ),
    ],
)
def test_schedules_are_their_formulas(make, formula):
    assert rates(make) == pytest.approx([formula(e) for e in range(8)], abs=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda o: S.StepLR(o, 3, 0.5),
        lambda o: S.MultiStepLR(o, [2, 5], 0.5),
        lambda o: S.ExponentialLR(o, 0.9),
        lambda o: S.CosineAnnealingLR(o, 3, 0.1),
        lambda o: S.LinearLR(o),
        lambda o: S.PolynomialLR(o),
        lambda o: S.ConstantLR(o),
    ],
)
def test_step_with_an_epoch_jumps_there(make):
    walked = rates(make)
    optimizer = sgd()
    scheduler = make(optimizer)
    optimizer.step()
    for epoch in (5, 2, 7):
        with pytest.warns(UserWarning, match="epoch parameter"):
            scheduler.step(epoch)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(walked[epoch])


def test_one_cycle_rises_and_falls():
    optimizer = sgd()
    seen = rates(lambda o: S.OneCycleLR(o, 1.0, total_steps=10, pct_start=0.3), 10, optimizer)
    assert seen[0] == pytest.approx(1 / 25)
    assert max(seen) == seen[2] == pytest.approx(1.0)
    assert seen[-1] == pytest.approx(1 / 25 / 1e4)
    assert optimizer.param_groups[0]["momentum"] == pytest.approx(0.95)
    with pytest.raises(ValueError, match="either total_steps OR"):
        S.OneCycleLR(sgd(), 1.0)
    with pytest.raises(ValueError, match="Tried to step 3 times. The specified number of total steps is 2"):
        rates(lambda o: S.OneCycleLR(o, 1.0, total_steps=2), 5)


def test_one_cycle_goes_on_from_the_state_that_pytorch_writes():
    phases = [  # of OneCycleLR(optimizer, 1.0, total_steps=10, anneal_strategy="linear"), as PyTorch 2.13 saves it
        (2.0, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
        (9, "max_lr", "min_lr", "base_momentum", "max_momentum"),
    ]
    names = "end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"
    state = {
        "total_steps": 10,
        "_schedule_phases": [dict(zip(names, phase, strict=True)) for phase in phases],
        "_anneal_func_type": "linear",
        "cycle_momentum": True,
        "use_beta1": False,
        "last_epoch": 0,
        "_step_count": 1,
    }
    own = S.OneCycleLR(sgd(), 1.0, total_steps=10, anneal_strategy="linear").state_dict()
    assert {name: own[name] for name in state} == state
    adam = optim.Adam([torch.zeros(1, requires_grad=True)])
    assert S.OneCycleLR(adam, 1.0, total_steps=10).state_dict()["use_beta1"] is True
    optimizer = sgd()
    scheduler = S.OneCycleLR(optimizer, 1.0, total_steps=100)  # cosine, ten times as long
    scheduler.load_state_dict(state)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx((0.04 + 1.0) / 2)


def test_cyclic_momentum_moves_the_other_way():
    optimizer = optim.Adam([torch.zeros(1, requires_grad=True)], betas=(0.5, 0.999))
    scheduler = S.CyclicLR(optimizer, 0.1, 0.9, 2)
    momenta = []
    for _ in range(4):
        momenta.append(optimizer.param_groups[0]["betas"][0])
        optimizer.step()
        scheduler.step()
    assert momenta == pytest.approx([0.9, 0.85, 0.8, 0.85])


def test_each_group_has_a_cyclic_momentum_of_its_own():
    weights = [torch.zeros(1, requires_grad=True) for _ in range(2)]
    optimizer = optim.SGD([{"params": [w]} for w in weights], lr=0.1, momentum=0.5)
    scheduler = S.CyclicLR(optimizer, 0.1, 0.9, 2, base_momentum=[0.5, 0.6], max_momentum=[0.75, 0.8])
    momenta = []
    for _ in range(3):
        momenta.append([group["momentum"] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    assert momenta == [pytest.approx(both) for both in ([0.75, 0.8], [0.625, 0.7], [0.5, 0.6])]


def test_plateau_waits_reduces_and_cools_down():
    losses = [1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]
    seen = rates(lambda o: S.ReduceLROnPlateau(o, patience=1, factor=0.1, cooldown=2), 9, metrics=losses)
    assert seen == pytest.approx([1, 1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.01])
    scheduler = S.ReduceLROnPlateau(sgd(), "max", threshold=0.1, threshold_mode="abs")
    assert scheduler.is_better(1.2, 1.0)
    assert not scheduler.is_better(1.05, 1.0)
    assert not scheduler.in_cooldown
    for options, match in [
        ({"factor": 1.0}, "Factor should be < 1.0, got 1.0"),
        ({"mode": "low"}, "mode low is unknown"),
    ]:
        with pytest.raises(ValueError, match=match):
            S.ReduceLROnPlateau(sgd(), **options)


def test_plateau_respects_the_least_rate():
    seen = rates(lambda o: S.ReduceLROnPlateau(o, patience=0, min_lr=0.05), 6, metrics=[1.0] * 6)
    assert min(seen) == 0.05


@pytest.mark.parametrize(
    "make",
    [
        lambda o: S.StepLR(o, 3),
        lambda o: S.LambdaLR(o, lambda e: 0.5**e),
        lambda o: S.OneCycleLR(o, 1.0, total_steps=20),
        lambda o: S.SequentialLR(o, [S.ConstantLR(o), S.ExponentialLR(o, 0.9)], [3]),
        lambda o: S.CosineAnnealingWarmRestarts(o, 2),
    ],
)
def test_a_checkpoint_goes_on_where_it_was(make):
    optimizer = sgd()
    scheduler = make(optimizer)
    for _ in range(4):
        optimizer.step()
        scheduler.step()
    other = sgd()
    twin = make(other)
    other.load_state_dict(optimizer.state_dict())
    twin.load_state_dict(scheduler.state_dict())
    for _ in range(4):
        for o, s in ((optimizer, scheduler), (other, twin)):
            o.step()
            s.step()
        assert other.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]


def test_resuming_needs_the_first_rate():
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        S.StepLR(sgd(), 3, last_epoch=5)


def test_order_of_steps_is_watched():
    optimizer = sgd()
    scheduler = S.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        scheduler.get_lr()
    with pytest.raises(TypeError, match="optimizer must be an Optimizer, got int"):
        S.StepLR(3, 1)


def test_functions_must_match_the_groups():
    with pytest.raises(ValueError, match="Expected 1 lr_lambdas, but got 2"):
        S.LambdaLR(sgd(), [abs, abs])


def test_all_groups_are_scheduled():
    a, b = (torch.zeros(1, requires_grad=True) for _ in range(2))
    optimizer = optim.SGD([{"params": [a], "lr": 1.0}, {"params": [b], "lr": 2.0}])
    scheduler = S.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.5, 1.0]


def test_a_scheduler_of_ones_own_asks_whether_it_is_within_a_step():
    from torch.optim.lr_scheduler import EPOCH_DEPRECATION_WARNING, LRScheduler, _warn_get_lr_called_within_step

    class Halving(LRScheduler):
        def get_lr(self):
            if not self._get_lr_called_within_step:
                return "by hand"
            _warn_get_lr_called_within_step(self)
            return [group["lr"] * 0.5 for group in self.optimizer.param_groups]

    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = Halving(optimizer)
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.25] and scheduler.get_lr() == "by hand"
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        _warn_get_lr_called_within_step(scheduler)
    assert "scheduler.step()" in EPOCH_DEPRECATION_WARNING


@pytest.mark.parametrize("kind", [torch.optim.lr_scheduler.LambdaLR, torch.optim.lr_scheduler.MultiplicativeLR])
def test_a_schedule_by_functions_takes_functions(kind):
    with pytest.raises(TypeError, match="lr_lambda should be a function, but got int"):
        kind(torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0), 3)


RESUMED = {
    "ExponentialLR": lambda o, e: S.ExponentialLR(o, 0.5, e),
    "MultiplicativeLR": lambda o, e: S.MultiplicativeLR(o, lambda epoch: 0.5, e),
    "PolynomialLR": lambda o, e: S.PolynomialLR(o, 8, 1.0, e),
    "LinearLR": lambda o, e: S.LinearLR(o, 0.5, 1.0, 8, e),
    "CosineAnnealingLR": lambda o, e: S.CosineAnnealingLR(o, 8, 0.0, e),
}


@pytest.mark.parametrize("name", RESUMED)
def test_a_schedule_that_is_resumed_goes_on_from_the_rate_that_was_saved(name):
    first = sgd(1.0)
    schedule = RESUMED[name](first, -1)
    rates = []
    for _ in range(6):
        first.step()
        schedule.step()
        rates.append(first.param_groups[0]["lr"])
    second = sgd(1.0)
    second.param_groups[0].update(initial_lr=1.0, lr=rates[2])
    resumed = RESUMED[name](second, 2)  # epoch 3 comes next, and its rate is what was saved
    assert second.param_groups[0]["lr"] == rates[2]
    for rate in rates[3:]:
        second.step()
        resumed.step()
        assert second.param_groups[0]["lr"] == pytest.approx(rate)


def test_rates_in_tensors_stay_the_tensors_that_they_are():
    p = torch.zeros(1, requires_grad=True)
    rate = torch.tensor(0.5)
    optimizer = torch.optim.SGD([p], rate)
    S.CyclicLR(optimizer, 0.25, 1.0, 2, cycle_momentum=False)
    assert optimizer.param_groups[0]["lr"] is rate and rate.item() == 0.25
    optimizer = torch.optim.SGD([p], rate)
    parts = [S.ConstantLR(optimizer, 0.5, 2), S.CosineAnnealingLR(optimizer, 4)]
    schedule = S.SequentialLR(optimizer, parts, [3])
    seen = [rate.item()]
    for _ in range(5):
        optimizer.step()
        schedule.step()
        seen.append(rate.item())
    assert optimizer.param_groups[0]["lr"] is rate and optimizer.param_groups[0]["initial_lr"].item() == 0.25
    turned = [0.25 * (1 + math.cos(math.pi * k / 4)) / 2 for k in range(3)]
    assert seen == pytest.approx([0.125, 0.125, 0.25, *turned])


def test_a_factor_counts_from_the_epoch_where_its_part_begins():
    optimizer = sgd(1.0)
    parts = [S.ConstantLR(optimizer, 1.0, 0), S.MultiplicativeLR(optimizer, lambda epoch: 0.5)]
    schedule = S.SequentialLR(optimizer, parts, [2])
    seen = []
    for _ in range(4):
        optimizer.step()
        schedule.step()
        seen.append(schedule.get_last_lr()[0])
    assert seen == [1.0, 0.5, 0.25, 0.125]


def test_schedules_within_schedules_take_their_first_steps_once():
    optimizer = sgd(1.0)
    inner = S.ChainedScheduler([S.ConstantLR(optimizer, 0.5, 2), S.ExponentialLR(optimizer, 0.5)])
    schedule = S.SequentialLR(optimizer, [inner, S.ConstantLR(optimizer, 0.25, 9)], [3])
    seen = [optimizer.param_groups[0]["lr"]]
    for _ in range(3):
        optimizer.step()
        schedule.step()
        seen.append(optimizer.param_groups[0]["lr"])
    assert seen[1:3] == [seen[0] / 2, seen[0] / 2] and seen[3] == 0.25


@pytest.mark.parametrize(
    "combine",
    [lambda o, s: S.SequentialLR(o, s, [2]), lambda o, s: S.ChainedScheduler(s)],
    ids=["sequential", "chained"],
)
def test_what_steps_with_a_metric_is_not_combined(combine):
    optimizer = sgd(1.0)
    with pytest.raises(ValueError, match="does not support `ReduceLROnPlateau` scheduler .* at index 1"):
        combine(optimizer, [S.StepLR(optimizer, 2), S.ReduceLROnPlateau(optimizer)])


def test_swa_rates_are_given_for_each_group():
    groups = [{"params": [torch.zeros(1)]}, {"params": [torch.zeros(1)], "lr": 0.5}]
    optimizer = torch.optim.SGD(groups, 0.1)
    schedule = torch.optim.swa_utils.SWALR(optimizer, [0.05, 0.25], anneal_epochs=2, anneal_strategy="linear")
    seen = []
    for _ in range(3):
        optimizer.step()
        schedule.step()
        seen.append(schedule.get_last_lr())
    assert seen[0] == pytest.approx([0.075, 0.375])
    assert seen[1] == seen[2] == pytest.approx([0.05, 0.25])
    with pytest.raises(
        ValueError, match="swa_lr must have the same length as optimizer.param_groups. swa_lr has 1 values"
    ):
        torch.optim.swa_utils.SWALR(optimizer, [0.05])


def test_the_rate_of_averaged_weights_may_be_one_for_each_group():
    groups = [{"params": [torch.ones(1, requires_grad=True)], "lr": lr} for lr in (1.0, 2.0)]
    optimizer = torch.optim.SGD(groups)
    for rates in ([0.5, 0.1], (0.5, 0.1)):
        schedule = torch.optim.swa_utils.SWALR(optimizer, rates, anneal_epochs=0)
        optimizer.step()
        schedule.step()
        assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.1]
    with pytest.raises(ValueError, match="swa_lr must have the same length as optimizer.param_groups"):
        torch.optim.swa_utils.SWALR(optimizer, [0.5])


@pytest.mark.parametrize(
    "make",
    [
        lambda o, t: S.CyclicLR(o, t(0.1), t(0.2), 2, base_momentum=t(0.8), max_momentum=t(0.9)),
        lambda o, t: S.OneCycleLR(o, t(0.1), 8, base_momentum=t(0.8), max_momentum=t(0.9)),
        lambda o, t: optim.swa_utils.SWALR(o, t(0.05)),
    ],
)
def test_settings_in_tensors_are_copied(make):
    given = []

    def setting(value):
        given.append(torch.tensor(value, dtype=torch.float64))
        return given[-1]

    def seen(change):
        optimizer = sgd(0.1)
        scheduler = make(optimizer, setting if change else float)
        for _ in range(3):
            for tensor in given:
                tensor.mul_(0.5)
            optimizer.step()
            scheduler.step()
        group = optimizer.param_groups[0]
        assert not change or given
        return [float(group[name]) for name in ("lr", "momentum", "initial_lr")]

    assert seen(True) == pytest.approx(seen(False))


def test_groups_say_between_which_momentums_they_cycle():
    optimizer = sgd()
    S.CyclicLR(optimizer, 0.1, 0.9, base_momentum=0.7)
    assert (optimizer.param_groups[0]["base_momentum"], optimizer.param_groups[0]["max_momentum"]) == (0.7, 0.9)


def test_plateau_lowers_groups_that_were_added():
    optimizer = sgd()
    plateau = S.ReduceLROnPlateau(optimizer, patience=0, min_lr=0.2)
    optimizer.add_param_group({"params": [torch.zeros(1)], "lr": 3.0})
    plateau.step(1.0)
    plateau.step(1.0)
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([0.2, 0.3])
    listed = S.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.1, 0.1])
    optimizer.add_param_group({"params": [torch.zeros(1)]})
    listed.step(1.0)
    with pytest.raises(RuntimeError, match="3 param groups, min_lr 2 values; append to scheduler.min_lrs"):
        listed.step(1.0)


@pytest.mark.parametrize("make", [lambda o: S.StepLR(o, 2), S.ReduceLROnPlateau])
def test_steps_to_an_epoch_warn(make):
    optimizer = sgd()
    scheduler = make(optimizer)
    optimizer.step()
    arguments = (1.0,) if make is S.ReduceLROnPlateau else ()
    with pytest.warns(UserWarning, match="epoch parameter in `scheduler.step\\(\\)`"):
        scheduler.step(*arguments, epoch=1)
