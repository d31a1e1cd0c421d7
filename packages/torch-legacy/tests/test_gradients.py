"""Every layer and criterion: its backward against finite differences of its forward."""

import copy

import pytest
import torch
from samples import CRITERIA, F64, LAYERS
from torch.legacy import nn
from torch.legacy.nn.tables import each, formed_as, leaves

layers = pytest.mark.parametrize(
    "module, input", [pytest.param(m, x, id=f"{type(m).__name__}-{i}") for i, (m, x) in enumerate(LAYERS)]
)
criteria = pytest.mark.parametrize(
    "criterion, input, target",
    [pytest.param(*row, id=f"{type(row[0]).__name__}-{i}") for i, row in enumerate(CRITERIA)],
)


def prepared(module, input):
    module = copy.deepcopy(module).double()
    return module, each(torch.clone, input)


def weights_of(output):
    """A weight for each element of an output, so that a table of tensors becomes one number."""
    return each(lambda t: torch.sin(torch.arange(t.numel(), dtype=F64) + 1).view(t.shape), output)


def loss(module, input, weights):
    torch.manual_seed(5)
    output = module.forward(input)
    return sum((o * w).sum().item() for o, w in zip(leaves(output), leaves(weights)))


def differences(f, tensor, h=1e-6):
    result = torch.zeros_like(tensor)
    flat, place = tensor.reshape(-1) if tensor.is_contiguous() else None, result.view(-1)
    assert flat is not None
    for i in range(tensor.numel()):
        kept = flat[i].item()
        flat[i] = kept + h
        above = f()
        flat[i] = kept - h
        below = f()
        flat[i] = kept
        place[i] = (above - below) / (2 * h)
    return result


@layers
def test_the_gradient_by_the_input(module, input):
    module, input = prepared(module, input)
    torch.manual_seed(5)
    weights = weights_of(module.forward(input))
    found = module.updateGradInput(input, weights)
    assert found is module.gradInput
    for x, g in zip(leaves(input), leaves(found)):
        assert g.shape == x.shape
        if x.is_floating_point():
            assert torch.allclose(g, differences(lambda: loss(module, input, weights), x), rtol=1e-5, atol=1e-7)
        else:
            assert not g.any()


@layers
def test_the_gradients_of_parameters_add_up(module, input):
    module, input = prepared(module, input)
    found = module.parameters()
    if not found or not found[0]:
        return
    torch.manual_seed(5)
    weights = weights_of(module.forward(input))
    module.zeroGradParameters()
    module.backward(input, weights)
    once = [g.clone() for g in module.parameters()[1]]
    for parameter, gradient in zip(module.parameters()[0], once):
        expected = differences(lambda: loss(module, input, weights), parameter)
        if isinstance(module, nn.LookupTable) and module.paddingValue >= 0:
            expected[module.paddingValue] = 0
        assert torch.allclose(gradient, expected, rtol=1e-5, atol=1e-7)
    loss(module, input, weights)
    module.backward(input, weights, 2)
    for gradient, first in zip(module.parameters()[1], once):
        assert torch.allclose(gradient, 3 * first)
    before = [p.clone() for p in module.parameters()[0]]
    module.updateParameters(0.1)
    for parameter, old, first in zip(module.parameters()[0], before, once):
        assert torch.allclose(parameter, old - 0.3 * first)
    module.zeroGradParameters()
    assert not any(g.any() for g in module.parameters()[1])


@layers
def test_a_step_without_own_gradients_is_the_same_step(module, input):
    module, input = prepared(module, input)
    if not (module.parameters() or ([],))[0]:
        return
    torch.manual_seed(5)
    weights = weights_of(module.forward(input))
    other = copy.deepcopy(module)
    module.zeroGradParameters()
    module.backward(input, weights)
    module.updateParameters(0.1)
    other.backwardUpdate(input, weights, 0.1)
    for a, b in zip(module.parameters()[0], other.parameters()[0]):
        assert torch.allclose(a, b)


@layers
def test_inputs_and_modules_are_left_alone_and_are_not_part_of_a_graph(module, input):
    module, input = prepared(module, input)
    kept = each(torch.clone, input)
    output = module.forward(input)
    found = module.backward(input, weights_of(output))
    assert all(torch.equal(a, b) for a, b in zip(leaves(input), leaves(kept)))
    assert not any(t.requires_grad for t in [*leaves(input), *leaves(output), *leaves(found)])
    for t in (module.parameters() or ([], []))[0]:
        assert not t.requires_grad
    assert isinstance(repr(module), str) and formed_as(found, leaves(found)) is not None


@layers
def test_types_are_those_of_all_tensors(module, input):
    module, input = prepared(module, input)
    module.float()
    narrow = each(lambda t: t.float() if t.is_floating_point() else t, input)
    output = module.forward(narrow)
    assert {t.dtype for t in leaves(output)} == {torch.float32} and module.type() == "torch.FloatTensor"
    gradient = module.backward(narrow, each(torch.ones_like, output))
    assert {g.dtype for x, g in zip(leaves(narrow), leaves(gradient)) if x.is_floating_point()} <= {torch.float32}


@criteria
def test_the_gradient_of_a_criterion(criterion, input, target):
    criterion = criterion.clone().double()
    input = each(torch.clone, input)
    assert isinstance(criterion.forward(input, target), float)
    found = criterion.backward(input, target)
    assert found is criterion.gradInput
    for x, g in zip(leaves(input), leaves(found)):
        assert torch.allclose(g, differences(lambda: criterion.forward(input, target), x), rtol=1e-5, atol=1e-7)
    table = nn.CriterionTable(criterion)
    assert table.forward([input, target]) == criterion.output
    assert torch.equal(leaves(table.updateGradInput([input, target])[0])[0], leaves(found)[0])


@pytest.mark.parametrize(
    "name",
    ["ReLU", "ReLU6", "ELU", "LeakyReLU", "HardTanh", "Threshold", "AddConstant", "MulConstant", "Dropout", "RReLU"],
)
def test_in_place_layers_write_over_input_and_gradient(name):
    arguments = {"AddConstant": (2.0,), "MulConstant": (3.0,)}.get(name, ())
    plain, inplace = getattr(nn, name)(*arguments), getattr(nn, name)(*arguments, inplace=True)
    x, g = torch.tensor([-1.5, -0.2, 0.3, 7.0]), torch.tensor([1.0, 2.0, 3.0, 4.0])
    over, slope = x.clone(), g.clone()
    torch.manual_seed(0)
    expected = plain.forward(x)
    torch.manual_seed(0)
    assert inplace.forward(over) is over and torch.equal(over, expected)
    expected = plain.backward(x, g)
    assert inplace.backward(over, slope) is slope and torch.equal(slope, expected)


def test_every_class_is_tried():
    tried = {type(m) for m, _ in LAYERS} | {type(row[0]) for row in CRITERIA} | {nn.CriterionTable}
    for m, _ in LAYERS:
        tried |= {type(inside) for inside in m.listModules()}
    bases = {nn.Module, nn.Container, nn.Criterion}
    elsewhere = {
        nn.Copy,
        nn.GradientReversal,
        nn.L1Penalty,
    }  # test_layers.py: their backward is not that of their forward
    every = {v for v in vars(nn).values() if isinstance(v, type) and v.__module__.startswith("torch.legacy")}
    assert {c.__name__ for c in every - tried - bases - elsewhere} == set()
