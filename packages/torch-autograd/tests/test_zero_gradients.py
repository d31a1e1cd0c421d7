"""Gradients that are zero whatever came: second derivatives of functions in straight pieces. They reach leaves, inputs, hooks and
functions of one's own as zeros, and nothing in between is computed for them."""

import pytest
import torch

PIECES = {
    "relu": torch.relu,
    "threshold": lambda x: torch.threshold(x, 0.1, 0.0),
    "hardtanh": lambda x: torch._seams.operator("hardtanh")(x, -1, 1),
    "relu6": lambda x: torch._seams.operator("relu6")(x),
    "leaky_relu": lambda x: torch._seams.operator("leaky_relu")(x, 0.2),
    "hardshrink": lambda x: torch._seams.operator("hardshrink")(x, 0.5),
    "hardsigmoid": lambda x: torch._seams.operator("hardsigmoid")(x),
}


def penalty(function, x, bias):
    """The sum of a gradient that depends on `bias` by where the pieces end."""
    (g,) = torch.autograd.grad(function(x + bias).sum(), x, create_graph=True)
    return (g * x.detach()).sum()


@pytest.mark.parametrize("name", PIECES)
def test_inputs_get_zeros(name):
    x, bias = torch.linspace(-2, 2, 6, requires_grad=True), torch.zeros(6, requires_grad=True)
    function = PIECES[name]
    for found in torch.autograd.grad(penalty(function, x, bias), (x, bias)):
        assert torch.equal(found, torch.zeros(6))
    penalty(function, x, bias).backward()
    assert torch.equal(bias.grad, torch.zeros(6))
    bias.grad = torch.ones(6)
    penalty(function, x, bias).backward()
    assert torch.equal(bias.grad, torch.ones(6))


@pytest.mark.parametrize("power", [1, 1.0])
def test_second_derivatives_of_the_first_power_are_zeros(power):
    x = torch.linspace(-2, 2, 6, requires_grad=True)
    (g,) = torch.autograd.grad((x**power).sum(), x, create_graph=True)
    assert torch.equal(torch.autograd.grad(g.sum(), x)[0], torch.zeros(6))
    assert torch.equal(torch.autograd.grad((x ** (power - 1)).sum(), x)[0], torch.zeros(6))


def test_second_derivatives_of_the_negative_likelihood_are_zeros():
    scores = torch.linspace(-2, 2, 6).reshape(2, 3).requires_grad_()
    loss = torch._seams.operator("nll_loss")(scores, torch.tensor([0, 2]))
    (g,) = torch.autograd.grad(loss, scores, create_graph=True)
    assert torch.equal(torch.autograd.grad((g * 3).sum(), scores)[0], torch.zeros(2, 3))


def test_a_gradient_that_is_not_zero_is_not_lost_beside_one():
    x, bias = torch.linspace(-2, 2, 6, requires_grad=True), torch.zeros(6, requires_grad=True)
    shifted = x + bias
    (g,) = torch.autograd.grad(torch.relu(shifted).sum(), x, create_graph=True)
    (found,) = torch.autograd.grad((g * shifted).sum(), bias)
    assert torch.equal(found, (x > 0).float())


def test_what_lies_between_is_not_computed_and_is_freed():
    ran = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ran.append(g.clone())
            return g * 2

    x, weight = torch.ones(3, requires_grad=True), torch.ones(3, 3, requires_grad=True)
    hidden = weight @ Watched.apply(x)
    middle = hidden.exp()
    (g,) = torch.autograd.grad(torch.relu(middle).sum(), middle, create_graph=True)
    loss = g.sum()
    found = torch.autograd.grad(loss, (weight, x), retain_graph=True)
    assert torch.equal(found[0], torch.zeros(3, 3)) and torch.equal(found[1], torch.zeros(3))
    assert len(ran) == 1 and torch.equal(ran[0], torch.zeros(3))  # a function of one's own sees zeros
    loss.backward()
    assert torch.equal(weight.grad, torch.zeros(3, 3))
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_hooks_and_retained_gradients_see_zeros():
    x = torch.ones(3, requires_grad=True)
    middle = x * 2
    seen = []
    middle.register_hook(lambda g: seen.append(g) or g + 1)
    (g,) = torch.autograd.grad(torch.relu(middle).sum(), middle, create_graph=True)
    seen.clear()
    middle.retain_grad()
    g.sum().backward()
    assert torch.equal(seen[0], torch.zeros(3))
    assert torch.equal(x.grad, torch.full((3,), 2.0)) and torch.equal(middle.grad, torch.ones(3))


def test_hooks_of_nodes_see_zeros_that_go():
    x = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad(torch.relu(x * 2).sum(), x, create_graph=True)
    seen = []
    node = g.grad_fn
    while node.name() != "ThresholdBackwardBackward0":
        node = node.next_functions[0][0]
    node.register_hook(lambda went, came: seen.append(went))
    g.sum().backward()
    assert torch.equal(seen[0][1], torch.zeros(3))


def test_an_input_that_the_result_does_not_depend_on_gets_none_still():
    x, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad(torch.relu(x).sum(), x, create_graph=True)
    assert torch.autograd.grad(g.sum(), (x, other), allow_unused=True)[1] is None


def test_a_write_to_a_view_passes_zeros_on():
    x, base = torch.ones(2, requires_grad=True), torch.zeros(4, requires_grad=True)
    whole = base * 1
    whole[1:3] = torch.relu(x)
    (g,) = torch.autograd.grad(torch.relu(whole).sum(), base, create_graph=True)
    assert torch.equal(torch.autograd.grad((g * torch.arange(4.0)).sum(), base)[0], torch.zeros(4))


def test_what_a_copy_overwrites_gets_zeros():
    x, source = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    for given in (source, source.detach()):
        y = x * 2
        y.copy_(given)
        assert y.requires_grad
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == [0, 0, 0]
    y = x * 2
    y[:] = 5
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]
