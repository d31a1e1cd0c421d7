"""Functions of the user's under vmap: by their own rule, example by example, and with gradients inside and outside."""

import pytest
import torch
from torch import func
from torch.autograd import Function


def close(a, b):
    torch.testing.assert_close(a, b)


class Triple(Function):
    """3 x, whose backward says 30, so that it shows who answered."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.factor = 10

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return ctx.factor * grad * y, ctx.factor * grad * x


class Ruled(Triple):
    generate_vmap_rule = False
    calls = []

    @staticmethod
    def vmap(info, in_dims, x, y):
        Ruled.calls.append((info.batch_size, info.randomness, in_dims, tuple(x.shape), tuple(y.shape)))
        x = x if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y if in_dims[1] is None else y.movedim(in_dims[1], 0)
        return Ruled.apply(x, y), 0


@pytest.mark.parametrize("function", [Triple, Ruled])
@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 1), (1, 0)])
def test_a_batch_gives_what_its_examples_give(function, in_dims):
    x, y = (torch.randn(3) if dim is None else torch.randn(3, 3) for dim in in_dims)
    got = func.vmap(function.apply, in_dims)(x, y)
    close(got, func.vmap(torch.mul, in_dims)(x, y))


def test_the_rule_is_told_of_the_batch():
    Ruled.calls.clear()
    func.vmap(Ruled.apply, (1, None), randomness="same")(torch.randn(2, 5), torch.randn(2))
    assert Ruled.calls == [(5, "same", (0, None), (5, 2), (2,))]


@pytest.mark.parametrize("function", [Triple, Ruled])
def test_its_own_backward_is_asked_inside_and_outside(function):
    x, y = torch.randn(4, 3), torch.randn(4, 3)
    inside = func.vmap(func.grad(lambda x, y: function.apply(x, y).sum()))(x, y)
    close(inside, 10 * y)
    outside = func.grad(lambda x: func.vmap(function.apply)(x, y).sum())(x)
    close(outside, 10 * y)
    shared = func.grad(lambda y: func.vmap(function.apply, (0, None))(x, y).sum())(y[0])
    close(shared, 10 * x.sum(0))
    close(func.jacrev(lambda x: function.apply(x, y[0]))(x[0]), torch.diag(10 * y[0]))


def test_a_second_derivative_through_a_batch():
    x, y = torch.randn(4), torch.randn(4)
    found = func.grad(lambda y: func.grad(lambda x: func.vmap(Triple.apply)(x, y).sum())(x).sum())(y)
    close(found, torch.full((4,), 10.0))


def test_several_outputs_and_places():
    class Two(Function):
        @staticmethod
        def forward(x):
            return x.sum(), x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, a, b):
            return a + 2 * b

        @staticmethod
        def vmap(info, in_dims, x):
            return Two.apply(x), (None, 0)

    total, twice = func.vmap(Two.apply, out_dims=(None, 0))(torch.ones(2, 3))
    close(total, torch.tensor(6.0))
    close(twice, torch.full((2, 3), 2.0))


def test_a_forward_that_takes_ctx_runs_on_examples():
    class Old(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 20 * ctx.saved_tensors[0] * grad

    x = torch.randn(3, 2)
    close(func.vmap(Old.apply)(x), x * x)
    close(func.vmap(func.grad(lambda x: Old.apply(x).sum()))(x), 20 * x)
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod: Old"):
        func.grad(lambda x: func.vmap(Old.apply)(x).sum())(x)


def test_what_is_wrong_with_a_rule_is_said():
    class Both(Ruled):
        generate_vmap_rule = True

    with pytest.raises(RuntimeError, match="both generate_vmap_rule=True and an overridden vmap"):
        func.vmap(Both.apply)(torch.ones(2), torch.ones(2))

    class NoDims(Ruled):
        @staticmethod
        def vmap(info, in_dims, x, y):
            return x * y

    with pytest.raises(RuntimeError, match=r"return a tuple \(output, out_dims\), got Tensor"):
        func.vmap(NoDims.apply)(torch.ones(2), torch.ones(2))

    class WrongDims(Ruled):
        @staticmethod
        def vmap(info, in_dims, x, y):
            return x * y, (0, 0)

    with pytest.raises(ValueError, match="do not fit the output"):
        func.vmap(WrongDims.apply)(torch.ones(2), torch.ones(2))

    class Old(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def vmap(info, in_dims, x):
            return x, 0

    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        func.vmap(Old.apply)(torch.ones(2))
