"""Gradients through torch.autocast: parameters keep their dtype, conversions are shared within a region and no longer."""

import pytest
import torch

LOW = (torch.bfloat16, torch.float16)


@pytest.mark.parametrize("low", LOW)
def test_gradients_have_the_dtype_of_their_parameters(low):
    w, x = torch.randn(3, 4, requires_grad=True), torch.randn(2, 3, requires_grad=True)
    with torch.autocast("cpu", low):
        loss = (x @ w).float().square().sum()
    loss.backward()
    assert w.grad.dtype == x.grad.dtype == torch.float32
    exact = 2 * x.detach().double().T @ (x.detach().double() @ w.detach().double())
    assert torch.allclose(w.grad.double(), exact, rtol=0.05, atol=0.05)


def converted(tensor):
    """How often a product of the tensor converts it: the nodes of conversions that its gradient goes through."""
    seen, todo = set(), [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [f for f, _ in node.next_functions]
    return sum("ToCopy" in node.name() for node in seen)


def test_a_parameter_is_converted_once_in_a_region():
    w, x = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    with torch.autocast("cpu"):
        with torch.autocast("cpu"):
            y = x @ w
        assert converted(y @ w) == 1
    with torch.autocast("cpu", cache_enabled=False):
        assert converted(x @ w @ w) == 2
    (y @ y.T).sum().backward()
    assert w.grad is not None


def test_a_conversion_ends_with_the_region_and_with_a_change():
    w, x = torch.ones(1, 1, requires_grad=True), torch.ones(1, 1)
    with torch.autocast("cpu"):
        assert (x @ w).item() == 1
        with torch.no_grad():
            w.mul_(2)
        assert (x @ w).item() == 2
        w.data = torch.full((1, 1), 5.0)
        assert (x @ w).item() == 5
        torch.clear_autocast_cache()
        assert (x @ w).item() == 5
    w.data.fill_(7)
    with torch.autocast("cpu"):
        assert (x @ w).item() == 7


def test_a_conversion_made_without_gradients_is_not_taken_for_one_with_them():
    w, x = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    with torch.autocast("cpu"):
        with torch.no_grad():
            assert not (x @ w).requires_grad
        loss = (x @ w).sum()
        with torch.no_grad():
            assert not (x @ w).requires_grad
    loss.backward()
    assert w.grad.tolist() == [[2, 2], [2, 2]]


def test_backward_computes_as_forward_did_wherever_it_is_called():
    w, x = torch.full((2, 2), 1 + 2**-12, requires_grad=True), torch.full((2, 2), 1 + 2**-12)
    y = (x @ w).sum()  # float32
    with torch.autocast("cpu"):
        y.backward()
        assert torch.is_autocast_enabled("cpu")
    assert w.grad.dtype == torch.float32 and w.grad[0, 0] == 2 * (1 + 2**-12)


def test_second_derivatives():
    x = torch.tensor([[0.5]], requires_grad=True)
    with torch.autocast("cpu"):
        y = (x @ x @ x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
    assert g.dtype == h.dtype == torch.float32 and g.item() == 0.75 and h.item() == 3


def test_custom_functions_take_the_state_of_their_forward():
    states = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            states.append((torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")))
            return g @ b.T, a.T @ g

    a, b = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    with torch.autocast("cpu", torch.float16):
        y = Product.apply(a, b)
    assert y.dtype == torch.float16
    y.sum().backward()
    with torch.autocast("cpu"):
        Product.apply(a, b).sum().backward()
    Product.apply(a, b).sum().backward()
    assert states == [(True, torch.float16), (True, torch.bfloat16), (False, torch.bfloat16)]
    assert a.grad.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")


def test_custom_forward_with_a_dtype_of_its_own_runs_outside():
    class Exp(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, given, scale):
            assert not torch.is_autocast_enabled("cpu") and given["x"].dtype == scale[0].dtype == torch.float32
            return (given["x"] @ scale[0]).exp()

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            return None, None

    x = torch.ones(2, 2, dtype=torch.bfloat16)
    with torch.autocast("cpu"):
        assert Exp.apply({"x": x}, [torch.ones(2, 2).half()]).dtype == torch.float32
