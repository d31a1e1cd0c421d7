"""Optimisers written by others that wrap one, replace its parts, or leave out ``super().__init__``."""

import collections
import copy
import pickle
import warnings

import pytest
import torch
from torch import optim
from torch.optim import lr_scheduler


class Bare(optim.Optimizer):
    """Shares the groups of the optimiser that it wraps, and nothing else."""

    def __init__(self, inner):
        self.inner = inner
        self.param_groups = inner.param_groups

    def step(self, closure=None):
        return self.inner.step(closure)


class Lookahead(optim.Optimizer):
    """Zhang 2019: slow weights that follow the fast ones of another optimiser, written as of 2019."""

    def __init__(self, inner, k=2, alpha=0.5):
        self.inner, self.k, self.alpha = inner, k, alpha
        self.param_groups = inner.param_groups
        self.state = collections.defaultdict(dict)
        self.defaults = inner.defaults
        self.count = 0

    def step(self, closure=None):
        loss = self.inner.step(closure)
        self.count += 1
        if self.count % self.k == 0:
            for group in self.param_groups:
                for p in group["params"]:
                    slow = self.state[p].setdefault("slow", torch.zeros_like(p))
                    slow.add_(self.alpha * (p.detach() - slow))
                    p.data.copy_(slow)
        return loss


class Delegating(optim.Optimizer):
    """Passes on all that it does not have."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.__dict__["inner"], name)

    def step(self, *args, **kwargs):
        return self.inner.step(*args, **kwargs)


class Whole(optim.Optimizer):
    """Calls super().__init__ and overrides ``step``, in the way of 2018."""

    def __init__(self, inner):
        super().__init__([p for g in inner.param_groups for p in g["params"]], {"lr": 0.5})

    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.data.add_(p.grad.data, alpha=-group["lr"])
        return loss


KINDS = [Bare, Lookahead, Delegating, Whole]


def make(kind):
    p = torch.ones(2, requires_grad=True)
    p.grad = torch.full((2,), 2.0)
    return p, kind(optim.SGD([p], lr=0.5))


@pytest.mark.parametrize("kind", KINDS)
def test_step_runs_and_returns_what_the_closure_does(kind):
    p, optimizer = make(kind)
    assert optimizer.step() is None
    assert p.tolist() == [0.0, 0.0]
    assert optimizer.step(lambda: 3.0) == 3.0


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_dropped_and_filled(kind):
    p, optimizer = make(kind)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert p.grad is None
    assert type(optimizer).__name__ in repr(optimizer)


@pytest.mark.parametrize("kind", KINDS)
def test_hooks_around_the_step_run_once_and_belong_to_one_optimiser(kind):
    (_, optimizer), (_, other) = make(kind), make(kind)
    seen = []
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    after = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
    optimizer.step()
    assert seen == ["before", "after"]
    other.step()
    assert len(seen) == 2
    before.remove()
    after.remove()
    optimizer.step()
    assert len(seen) == 2


class Patched(optim.Optimizer):
    """Does without super().__init__, and asks for the hooks by itself; its step method comes after the class."""

    def __init__(self, inner):
        self.inner, self.param_groups = inner, inner.param_groups
        self._patch_step_function()


def test_a_wrapper_puts_its_step_between_hooks_by_itself():
    Patched.step = lambda self, closure=None: self.inner.step(closure)
    _, optimizer = make(Patched)
    seen = []
    optimizer.register_step_pre_hook(lambda *args: seen.append(args))
    optimizer.step()
    Patched(optimizer.inner).step()
    assert seen == [(optimizer, (optimizer,), {})]


def test_a_class_with_groups_of_its_own_needs_no_defaults():
    class Nothing(optim.Optimizer):
        def __init__(self):
            super().__init__([torch.zeros(1)], [])

        def add_param_group(self, param_group):
            pass

        def step(self, closure=None):
            return closure()

    assert Nothing().step(lambda: 5) == 5


@pytest.mark.parametrize("own", [False, True])
def test_hooks_of_steps_see_and_replace_the_optimizer_and_its_arguments(own):
    p, optimizer = make(Whole) if own else (None, optim.SGD([torch.ones(2, requires_grad=True)], lr=0.5))
    seen = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((*args, lambda: 5), kwargs) if len(args) == 1 else None)
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append((args[0], len(args), kwargs)))
    assert optimizer.step() == 5
    assert optimizer.step(lambda: 7) == 7
    assert seen == [(optimizer, 2, {})] * 2


@pytest.mark.parametrize("kind", [Lookahead, Delegating, Whole])
def test_state_goes_through_a_dict_with_hooks(kind):
    p, optimizer = make(kind)
    seen = []
    optimizer.register_state_dict_post_hook(lambda o, state: seen.append("saved"))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    optimizer.step()
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0]["lr"] = 0.25
    optimizer.load_state_dict(state)
    assert seen == ["saved", "loaded"]
    assert optimizer.param_groups[0]["lr"] == 0.25
    if kind is Lookahead:
        assert optimizer.state[p]["slow"].tolist() == state["state"][0]["slow"].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_schedules_drive_them(kind):
    p, optimizer = make(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule = lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        optimizer.step()
        schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.25


@pytest.mark.parametrize("kind", [Bare, Lookahead, Whole])
def test_a_pickle_keeps_groups_state_and_defaults(kind):
    p, optimizer = make(kind)
    optimizer.step()
    try:
        twin = pickle.loads(pickle.dumps(optimizer))
    except Exception as error:
        if "torch-serialize" in str(error):
            pytest.skip("tensors pickle through torch-serialize")
        raise
    assert type(twin) is kind
    assert twin.param_groups[0]["params"][0].tolist() == p.tolist()
    assert twin.param_groups[0]["lr"] == 0.5
    twin.zero_grad()
    twin.register_step_pre_hook(lambda *args: None)
    assert not optimizer._optimizer_step_pre_hooks


@pytest.mark.parametrize("kind", KINDS)
def test_hooks_for_all_optimisers_run_for_them_too(kind):
    _, optimizer = make(kind)
    seen = []
    with optim.optimizer.register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append(type(o))):
        optimizer.step()
    assert kind in seen


def test_subclasses_of_lbfgs_move_along_directions_of_their_own():
    class Steepest(optim.LBFGS):
        def step(self, closure):
            loss, start = closure(), self._clone_param()
            assert self._numel() == 3 and self._gather_flat_grad().tolist() == [2.0, 4.0, 6.0]
            self._add_grad(-0.5, self._gather_flat_grad())
            assert self._gather_flat_grad().shape == (3,)
            self.far = [p.tolist() for p in self._params]
            self._set_param(start)
            return loss

    a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    optimizer = Steepest([a, b])

    def closure():
        loss = (a * a).sum() + b * b
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 14 and optimizer.far == [[0.0, 0.0], 0.0] and a.tolist() == [1.0, 2.0]


def test_a_plateau_calls_the_reduction_of_its_class():
    class Restarting(optim.lr_scheduler.ReduceLROnPlateau):
        def _reduce_lr(self, epoch):
            super()._reduce_lr(epoch)
            seen.append(epoch)

    seen = []
    optimizer = optim.SGD([torch.zeros(1)], lr=1.0)
    schedule = Restarting(optimizer, patience=0)
    for value in (3.0, 3.0, 2.0, 2.0):
        schedule.step(value)
    assert seen == [2, 4] and optimizer.param_groups[0]["lr"] == pytest.approx(0.01)


def test_what_a_class_keeps_beside_the_state_of_parameters_is_loaded_as_it_is():
    p = torch.ones(2, requires_grad=True)
    optimizer = optim.SGD([p], lr=0.5)
    state = optimizer.state_dict()
    state["state"]["of a wrapper"] = {p: torch.zeros(2)}
    optimizer.load_state_dict(state)
    assert optimizer.state["of a wrapper"][p].tolist() == [0.0, 0.0]
