"""Gradients of a recurrent layer's steps as one operator."""

import pytest
import torch
from torch._seams import operator

KINDS = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def operands(kind, steps=3, batch=2, size=3):
    torch.manual_seed(0)
    rows = KINDS[kind] * size
    shapes = (steps, batch, rows), (batch, size), (rows, size), (rows,), (batch, size)
    return [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes[: 4 + (kind == "LSTM")]]


def layer(kind, reverse, keep):
    def run(gates, h, w, b, c=None):
        output, last_cell, *_ = operator("_recurrence")(gates, h, c, w, b, kind, reverse, keep)
        return output if c is None else (output, last_cell)

    return run


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_slopes_to_the_second_order(kind, reverse):
    assert torch.autograd.gradcheck(layer(kind, reverse, True), operands(kind))
    assert torch.autograd.gradgradcheck(layer(kind, reverse, True), operands(kind))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_operators_and_what_was_not_kept_give_one_gradient(kind, reverse):
    found = []
    for keep, recorded in ((True, False), (True, True), (False, False)):
        given = operands(kind, 5, 4, 19)
        results = layer(kind, reverse, keep)(*given)
        total = sum((r * torch.linspace(-1, 1, r.numel(), dtype=r.dtype).view_as(r)).sum() for r in [*results])
        found.append(torch.autograd.grad(total, given, create_graph=recorded))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_only_the_last_cell_has_a_gradient():
    gates, h, w, b, c = operands("LSTM", 4)
    _, last = layer("LSTM", False, True)(gates, h, w, b, c)
    of_kernels = torch.autograd.grad(last.sum(), (gates, c))
    _, last = layer("LSTM", False, False)(gates, h, w, b, c)
    for a, b in zip(of_kernels, torch.autograd.grad(last.sum(), (gates, c)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_the_output_may_be_changed_in_place():
    given = operands("GRU")
    plain = torch.autograd.grad((layer("GRU", False, True)(*given) * 2).sum(), given)
    changed = torch.autograd.grad(layer("GRU", False, True)(*given).mul_(2).sum(), given)
    assert all(map(torch.equal, plain, changed))


def test_tangents_follow_the_steps():
    given = operands("LSTM")
    tangents = [torch.ones_like(t) for t in given]
    outputs, found = torch.func.jvp(layer("LSTM", False, True), tuple(given), tuple(tangents))
    with torch.no_grad():
        up, down = (layer("LSTM", False, False)(*(t + s * 1e-6 for t in given)) for s in (1, -1))
    for f, u, d in zip(found, up, down, strict=True):
        torch.testing.assert_close(f, (u - d) / 2e-6, rtol=1e-6, atol=1e-8)
