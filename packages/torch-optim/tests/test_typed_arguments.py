"""Optimizers and schedulers say which argument is of another type, and change nothing before."""

import pytest
import torch
from torch import optim
from torch._seams import typed_arguments

CLASSES = {
    name: getattr(module, name)
    for module, base in ((optim, optim.Optimizer), (optim.lr_scheduler, optim.lr_scheduler.LRScheduler))
    for name in dir(module)
    if isinstance(getattr(module, name), type) and issubclass(getattr(module, name), base) and name[0] != "_"
}
CASES = [(name, argument) for name, cls in CLASSES.items() for argument in typed_arguments(cls)]


@pytest.mark.parametrize("name, argument", CASES)
def test_an_argument_of_another_type_is_named(name, argument):
    kinds = typed_arguments(CLASSES[name])[argument]
    iterates = not {"ParamsT", "Iterable[int]", "Iterable"}.isdisjoint(kinds)
    wrong = [{"a": 1}] * (not iterates) + [object()] * ("bool" not in kinds) + [int] * ("Callable" not in kinds)
    for value in wrong + [b"1"] * (not iterates):
        with pytest.raises(TypeError, match=rf"^{name}: {argument} must be .*, got {type(value).__name__}"):
            CLASSES[name](**{argument: value})


def test_a_refused_scheduler_leaves_the_optimizer_as_it_was():
    optimizer = optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
    with pytest.raises(TypeError, match="StepLR: gamma must be a number, got str"):
        optim.lr_scheduler.StepLR(optimizer, 2, gamma="0.1")
    assert "initial_lr" not in optimizer.param_groups[0]


def test_a_pair_has_two_numbers():
    weight = torch.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match=r"^Adam: betas must be a pair of numbers, got tuple \(\(0.9,\)\)"):
        optim.Adam([weight], betas=(0.9,))
    with pytest.raises(ValueError, match="^CyclicLR: step_size_up and step_size_down must be positive, got 0 and 0"):
        optim.lr_scheduler.CyclicLR(optim.SGD([weight], lr=0.1), 0.1, 0.2, step_size_up=0)


def test_keywords_of_schedulers_get_hints():
    with pytest.raises(TypeError, match="did you mean 'step_size'"):
        optim.lr_scheduler.StepLR(optim.SGD([torch.ones(2, requires_grad=True)]), stepsize=2)


def test_numbers_in_tensors_are_rates():
    weight = torch.ones(1, requires_grad=True)
    weight.grad = torch.ones(1)
    optim.SGD([weight], lr=torch.tensor(0.5)).step()
    assert weight.item() == 0.5
