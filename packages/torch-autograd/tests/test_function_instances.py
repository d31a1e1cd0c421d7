"""Functions of 2016, whose instances are called."""

import gc
import warnings
import weakref

import pytest
import torch
from torch.autograd import Function, Variable, gradcheck


class Scale(Function):
    """As programs of 2016 have it: options in ``__init__``, what backward needs on the instance."""

    def __init__(self, by, inplace=False):
        super().__init__()
        self.by, self.inplace = by, inplace

    def _scaled(self, x):
        return x * self.by

    def forward(self, x):
        self.save_for_backward(x)
        self.seen = tuple(x.shape)
        if self.inplace:
            self.mark_dirty(x)
            return x.mul_(self.by)
        return self._scaled(x)

    def backward(self, grad):
        assert self.saved_tensors[0].shape == self.seen
        return self._scaled(grad)


def test_an_instance_is_called_and_its_gradient_is_its_own():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function = Scale(3)
        x = Variable(torch.ones(2, 3), requires_grad=True)
        y = function(x)
    assert y.tolist() == [[3.0] * 3] * 2
    assert function.seen == (2, 3)
    assert isinstance(y.grad_fn, Scale)
    y.sum().backward()
    assert x.grad.tolist() == [[3.0] * 3] * 2
    assert gradcheck(Scale(-2.0), torch.randn(3, dtype=torch.float64, requires_grad=True))
    assert gradcheck(
        lambda x: Scale(2.0, inplace=True)(x.clone()), torch.randn(3, dtype=torch.float64, requires_grad=True)
    )


def test_instances_within_instances_and_two_calls_of_one():
    class Twice(Function):
        def forward(self, a, b, power):
            self.power = power
            self.save_for_backward(a, b)
            return a**power, Scale(2)(b)

        def backward(self, g, h):
            a, b = self.saved_tensors
            assert self.needs_input_grad == (True, False, False)
            return g * self.power * a ** (self.power - 1), None, None

    a, b = torch.tensor([2.0], requires_grad=True), torch.tensor([5.0])
    cube, double = Twice()(a, b, 3)
    assert (cube.item(), double.item()) == (8.0, 10.0)
    cube.backward()
    assert a.grad.item() == 12.0
    scale = Scale(4)
    x = torch.ones(1, requires_grad=True)
    scale(scale(x)).backward()
    assert x.grad.item() == 16.0


def test_without_gradients_nothing_is_recorded_and_errors_leave_nothing_behind():
    assert Scale(2)(torch.ones(2)).grad_fn is None

    class Fails(Function):
        def forward(self, x):
            raise KeyError("of the program")

    with pytest.raises(KeyError, match="of the program"):
        Fails()(torch.ones(1, requires_grad=True))
    assert Scale(2)(torch.ones(1)).item() == 2.0

    class Half(Function):
        def forward(self, x):
            return x.clone()

    with pytest.raises(NotImplementedError, match="backward"):
        Half()(torch.ones(1, requires_grad=True)).backward()


def test_a_call_keeps_its_instance_no_longer_than_its_graph():
    function = Scale(2)
    kept = weakref.ref(function)
    y = function(torch.ones(1, requires_grad=True))
    y.backward()
    del function, y
    gc.collect()
    assert kept() is None
