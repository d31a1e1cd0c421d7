import gc
import weakref
from unittest import mock

import pytest
import torch
from torch.autograd import Function, gradcheck, gradgradcheck
from torch.autograd.function import once_differentiable


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def test_a_function_differentiates_to_any_order():
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(Square.apply, (x,)) and gradgradcheck(Square.apply, (x,))


def test_its_node_is_its_context():
    y = Square.apply(leaf(1.0))
    assert type(y.grad_fn).__name__ == "SquareBackward" and y.grad_fn.name() == "SquareBackward"
    assert y.grad_fn.next_functions[0][0].name() == "AccumulateGrad"


def test_saved_tensors_are_checked_and_freed():
    x = leaf(1.0)
    a = x * 1
    y = Square.apply(a)
    a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = Square.apply(x)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        _ = y.grad_fn.saved_tensors


@pytest.mark.parametrize("recorded", [False, True])
def test_backward_may_differentiate_by_the_tensors_that_it_saved(recorded):
    class Product(Function):
        @staticmethod
        def forward(ctx, f, w):
            ctx.f = f
            ctx.save_for_backward(w)
            return f()

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                y = ctx.f()
            (w,) = ctx.saved_tensors
            assert w.requires_grad and w.grad_fn is node
            return None, *torch.autograd.grad(y, w, g, create_graph=recorded)

    x = leaf(3.0)
    w = x * 2  # not a leaf: its place in the graph is what backward asks for
    node = w.grad_fn
    (dx,) = torch.autograd.grad(Product.apply(lambda: w * w, w).sum(), x, create_graph=recorded)
    assert dx.tolist() == [24] and dx.requires_grad == recorded  # 4 x^2


def test_needs_input_grad_and_arguments_that_are_no_tensors():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, w, factor):
            ctx.factor = factor
            assert ctx.needs_input_grad == (True, False, False)
            return x * w * factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None, None

    x = leaf(1.0)
    Scale.apply(x, torch.ones(1), 3).sum().backward()
    assert x.grad.item() == 3


def test_setup_context():
    class Cube(Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] ** 2 * g

    x = leaf(2.0)
    Cube.apply(x).sum().backward()
    assert x.grad.item() == 12


def test_several_outputs_and_missing_gradients():
    got = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            got.append((a.tolist(), b.tolist()))
            return 2 * a + 3 * b

    x = leaf(1.0)
    first, second = Two.apply(x)
    assert (first.output_nr, second.output_nr) == (0, 1)
    first.sum().backward()
    assert got == [([1], [0])] and x.grad.item() == 2


def test_unmaterialized_gradients_are_none():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            assert b is None
            return 2 * a

    Two.apply(leaf(1.0))[0].sum().backward()


def test_mark_non_differentiable():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            positive = (x > 0).float()
            ctx.mark_non_differentiable(positive)
            return x * 1, positive

        @staticmethod
        def backward(ctx, g, _):
            return g

    a, b = Sort.apply(leaf(1.0, -1.0))
    assert a.requires_grad and not b.requires_grad


def test_mark_dirty():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    a = x * 1
    b = Double.apply(a)
    assert b is a and a.grad_fn.name() == "DoubleBackward"
    b.sum().backward()
    assert x.grad.item() == 2
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        Double.apply(x)


def test_an_input_given_back_is_a_new_tensor():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x and x.is_leaf
    y.sum().backward()
    assert x.grad.item() == 7


def test_wrong_numbers_and_kinds_of_gradients_are_named():
    class Wrong(Function):
        result = None

        @staticmethod
        def forward(ctx, x, y):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return Wrong.result

    def run(result):
        Wrong.result = result
        Wrong.apply(leaf(1.0), 2).sum().backward()

    with pytest.raises(
        RuntimeError, match=r"WrongBackward returned an incorrect number of gradients \(expected 2, got 1\)"
    ):
        run(torch.ones(1))
    with pytest.raises(RuntimeError, match="returned a gradient different from None at position 2"):
        run((torch.ones(1), torch.ones(1)))
    with pytest.raises(TypeError, match="expected a Tensor or None as gradient 1, got int"):
        run((3, None))
    with pytest.raises(
        RuntimeError, match=r"invalid gradient at index 0 - got \(2,\).* but expected shape compatible with \(1,\)|sum"
    ):
        run((torch.ones(3, 2)[:, :2], None))
        raise RuntimeError("sum")  # (3, 2) reduces to (1,): allowed


def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(3.0)
    (g,) = torch.autograd.grad(Once.apply(x).sum() * x.sum(), x, create_graph=True)
    with pytest.raises(
        RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"
    ):
        g.sum().backward()


def test_old_functions_say_how_to_become_new_ones():
    class Old(Function):
        def forward(self, x):
            return x

    class New(Function):
        @staticmethod
        def forward(ctx, x):
            return x

    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        Old.apply(leaf(1.0))
    with (
        pytest.warns(DeprecationWarning, match="should not be instantiated"),
        pytest.raises(RuntimeError, match=r"New: forward is static.*New.apply"),
    ):
        New()(leaf(1.0))


def test_contexts_are_freed():
    refs = []

    class Keep(Function):
        @staticmethod
        def forward(ctx, x):
            refs.append(weakref.ref(ctx))
            y = x * 2
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2

    y = Keep.apply(leaf(1.0))
    del y
    gc.collect()
    assert refs[0]() is None


def test_nothing_is_recorded_without_gradients():
    with torch.no_grad():
        assert not Square.apply(leaf(1.0)).requires_grad
    assert not Square.apply(torch.ones(1)).requires_grad


def test_the_methods_of_contexts_are_seen_on_the_class():
    for name in ("save_for_backward", "saved_tensors", "mark_dirty", "mark_non_differentiable", "needs_input_grad"):
        assert hasattr(Function, name)
    assert not Function.is_traceable and torch.autograd.traceable(type("F", (Function,), {})).is_traceable
    with pytest.raises(NotImplementedError, match="implement the vmap function"):
        Function.vmap(None, ())


def test_names_of_old_programs():
    assert issubclass(torch.autograd.InplaceFunction, Function)
    with pytest.raises(RuntimeError, match="StochasticFunction was removed in 0.4: draw a sample, and call backward"):
        torch.autograd.stochastic_function.StochasticFunction()
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="reinforce.. was removed in 0.4"):
        x.reinforce(1)
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert x.volatile is False
    with pytest.warns(UserWarning, match="volatile was removed"):
        x.volatile = True
    x.grad = torch.ones(2)
    torch.autograd.zero_gradients(x)
    assert x.grad.tolist() == [0, 0]


def test_the_name_of_a_node_whose_graph_has_gone():
    node = Square.apply(torch.ones(1, requires_grad=True)).grad_fn
    assert node.name() == "SquareBackward"


def test_a_test_may_put_its_own_object_in_place_of_forward():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    with mock.patch.object(Double, "forward", side_effect=Double.forward) as forward:
        x = leaf(1.0)
        y = Double.apply(x)
    y.backward()
    assert forward.call_count == 1 and (y.item(), x.grad.item()) == (2, 2)


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, factor, shift=1.0, *, unused=None):
        ctx.factor = factor
        return x * factor + shift

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.factor, None, None)[: len(ctx.needs_input_grad)]


def test_apply_takes_the_arguments_of_forward_by_name():
    x = leaf(2.0)
    for y, value in [
        (Scaled.apply(x, factor=3.0), 7.0),
        (Scaled.apply(factor=3.0, x=x), 7.0),
        (Scaled.apply(x, 3.0, shift=5.0), 11.0),
    ]:
        assert y.item() == value
        assert torch.autograd.grad(y, x)[0].item() == 3
    with pytest.raises(TypeError, match=r"Scaled.apply: forward got an unexpected keyword argument 'offset'"):
        Scaled.apply(x, 3.0, offset=5.0)
    with pytest.raises(TypeError, match=r"Scaled.apply: forward missing a required argument: 'factor'"):
        Scaled.apply(x=x)
    with pytest.raises(TypeError, match=r"Scaled.apply: forward takes unused only by name"):
        Scaled.apply(x, 3.0, unused=1)


def test_setup_context_sees_the_defaults_of_forward():
    class Power(Function):
        @staticmethod
        def forward(x, exponent=3):
            return x**exponent

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.exponent = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.exponent * x ** (ctx.exponent - 1), None

    x = leaf(2.0)
    for y, slope in [(Power.apply(x), 12.0), (Power.apply(x, exponent=2), 4.0), (Power.apply(x, 1), 1.0)]:
        assert torch.autograd.grad(y, x)[0].item() == slope
    assert torch.func.grad(lambda x: Power.apply(x, exponent=2))(torch.tensor(2.0)).item() == 4


def test_what_forward_returns_that_is_no_tensor_comes_back_as_it_is():
    class Told(Function):
        @staticmethod
        def forward(ctx, x, what):
            return {"nothing": None, "list": [x * 2], "text": "done"}[what]

    x = leaf(2.0)
    assert Told.apply(x, "nothing") is None and Told.apply(x, "text") == "done"
    (y,) = Told.apply(x, "list")
    assert y.item() == 4 and not y.requires_grad
