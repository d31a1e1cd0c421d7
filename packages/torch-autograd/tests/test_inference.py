"""Inference tensors: what is made in inference mode, and what may be done with it elsewhere."""

import copy
import re

import pytest
import torch
from torch.autograd import Function


@pytest.fixture
def made():
    with torch.inference_mode():
        return torch.ones(3)


def test_what_is_made_in_inference_mode_is_an_inference_tensor(made):
    normal = torch.ones(3)
    with torch.inference_mode():
        for t in (torch.zeros(2), normal * 2, made + 1, torch.tensor([1.0]), torch.arange(3), normal.clone()):
            assert t.is_inference() and torch.is_inference(t)
        for view in (normal.view(3, 1), normal[0], normal.detach(), normal.data, normal.to(torch.float32)):
            assert not view.is_inference()
        with torch.inference_mode(False):
            assert not torch.ones(1).is_inference() and torch.is_grad_enabled()
    assert not normal.is_inference() and not torch.ones(1).is_inference()


def test_views_of_an_inference_tensor_are_inference_tensors_everywhere(made):
    assert all(t.is_inference() for t in (made, made.view(3, 1), made[0], made.detach(), made.data, made.unbind()[0]))
    assert not (made + 1).is_inference() and not made.clone().is_inference() and not copy.deepcopy(made).is_inference()


def test_there_is_no_version_counter(made):
    normal = torch.ones(3)
    with torch.inference_mode():
        normal.add_(1)
        made.add_(1)
        assert normal._version == 1
    for t in (made, made.view(3)):
        with pytest.raises(RuntimeError, match="Inference tensors do not track version counter."):
            t._version


CHANGES = {
    "add_": lambda t: t.add_(1),
    "setitem": lambda t: t.__setitem__(0, 5.0),
    "a view": lambda t: t.view(3).mul_(2),
    "zero_": lambda t: t.zero_(),
    "+=": lambda t: t.__iadd__(1),
    "mul_": lambda t: t.mul_(t),
    "set_": lambda t: t.set_(torch.ones(3)),
    "resize_": lambda t: t.resize_(5),
    "t_": lambda t: t.view(3, 1).t_(),
    "out": lambda t: torch.add(torch.ones(3), 1, out=t),
    "normal_": lambda t: t.normal_(),
    "no_grad": torch.no_grad()(lambda t: t.sub_(1)),
    "foreach": lambda t: torch._foreach_add_([torch.ones(3), t], 1) if hasattr(torch, "_foreach_add_") else t.add_(1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_outside_are_refused_before_anything_happens(made, change):
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        CHANGES[change](made)
    assert made.tolist() == [1, 1, 1]
    with torch.inference_mode():
        CHANGES[change](made)


def test_inference_tensors_take_part_in_recorded_operators_that_keep_nothing(made):
    x = torch.ones(3, requires_grad=True)
    y = x + made
    y.add_(made)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1] and not y.is_inference()


@pytest.mark.parametrize(
    "record",
    [
        lambda x, made: x * made,
        lambda x, made: torch.linspace(0, 1, 9).view(3, 3).mul(x).matmul(made),
        lambda x, made: x[made.long()] if made.long().is_inference() else x * made,
        lambda x, made: x.clone().mul_(made),
        lambda x, made: Keeps.apply(x, made),
    ],
)
def test_a_graph_does_not_keep_an_inference_tensor(made, record):
    x = torch.ones(3, requires_grad=True)
    want = "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in"
    with pytest.raises(RuntimeError, match=re.escape(want)):
        record(x, made)
    record(x, made.clone()).sum().backward()
    with torch.no_grad():
        record(x, made)


class Keeps(Function):
    @staticmethod
    def forward(ctx, x, other):
        ctx.save_for_backward(other)
        return x * other

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


def test_an_inference_tensor_requires_a_gradient_only_inside(made):
    for ask in (made.requires_grad_, lambda: setattr(made, "requires_grad", True)):
        with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode"):
            ask()
    made.requires_grad_(False)
    with torch.inference_mode():
        assert made.requires_grad_().requires_grad


def test_nothing_is_recorded_inside_whatever_grad_mode_says():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with torch.inference_mode():
        with torch.enable_grad():
            assert not (x * 2).requires_grad
        y.mul_(3)
        with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
            (y * 1).sum().backward()
    assert y.requires_grad and y._version == 1


def test_a_view_made_inside_cannot_be_changed_outside_with_gradients():
    y = torch.ones(3, requires_grad=True) * 2
    with torch.inference_mode():
        view = y.view(3)
    with pytest.raises(RuntimeError, match="is being modified inplace with grad mode enabled"):
        view.mul_(torch.ones(3, requires_grad=True))


def test_the_mode_of_functions_and_of_generators():
    @torch.inference_mode()
    def generate():
        yield torch.ones(1)

    @torch.inference_mode
    def function():
        return torch.ones(1)

    assert next(generate()).is_inference() and function().is_inference() and not torch.ones(1).is_inference()


def test_gradients_of_inference_tensors_and_given_ones(made):
    x = torch.ones(3, requires_grad=True)
    (x * 2).backward(made)
    assert x.grad.tolist() == [2, 2, 2] and not x.grad.is_inference()
