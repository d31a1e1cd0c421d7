import threading

import pytest
import torch
from torch.autograd import Variable, functional


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_no_grad_as_context_decorator_and_function():
    x = leaf(1.0)
    with torch.no_grad():
        assert not torch.is_grad_enabled() and not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def f():
        return x * 2

    @torch.no_grad
    def g():
        return x * 2

    assert not f().requires_grad and not g().requires_grad and f.__name__ == "f"
    torch.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_a_decorated_generator_runs_in_its_mode_and_yields_in_the_callers():
    @torch.no_grad()
    def numbers():
        try:
            got = yield torch.is_grad_enabled()
            yield got, torch.is_grad_enabled()
        finally:
            done.append(torch.is_grad_enabled())

    done = []
    g = numbers()
    assert next(g) is False and torch.is_grad_enabled()
    assert g.send(5) == (5, False) and torch.is_grad_enabled()
    g.close()
    assert done == [False] and torch.is_grad_enabled()


def test_an_error_restores_the_mode():
    with pytest.raises(ValueError), torch.no_grad():
        raise ValueError
    assert torch.is_grad_enabled()


def test_modes_belong_to_a_thread():
    seen = []
    with torch.no_grad():
        t = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


def test_inference_mode():
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not (leaf(1.0) * 2).requires_grad
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


def test_variable_is_a_tensor():
    x = torch.ones(2)
    v = Variable(x, requires_grad=True)
    assert type(v) is torch.Tensor and isinstance(v, Variable) and v.requires_grad and not x.requires_grad
    v.data[0] = 5
    assert x[0].item() == 5
    with pytest.warns(UserWarning, match="volatile was removed"):
        Variable(x, volatile=True)


def test_assigned_gradients_must_fit():
    x = leaf(1.0, 2.0)
    with pytest.raises(
        RuntimeError, match=r"assigned grad has data of a different size: the tensor is \(2,\), the gradient \(3,\)"
    ):
        x.grad = torch.ones(3)
    with pytest.raises(RuntimeError, match="assigned grad has data of a different type"):
        x.grad = torch.ones(2, dtype=torch.float64)
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor or None but got int"):
        x.grad = 3
    x.grad = torch.ones(2)
    x.grad = None
    assert x.grad is None


def test_jacobian_hessian_and_products():
    x = torch.tensor([1.0, 2.0])
    assert functional.jacobian(lambda x: x * x, x).tolist() == [[2, 0], [0, 4]]
    assert functional.hessian(lambda x: (x**3).sum(), x).tolist() == [[6, 0], [0, 12]]
    assert functional.vjp(lambda x: x * x, x, torch.ones(2))[1].tolist() == [2, 4]
    assert functional.jvp(lambda x: x * x, x, torch.tensor([1.0, 10.0]))[1].tolist() == [2, 40]
    assert functional.vhp(lambda x: (x**3).sum(), x, torch.ones(2))[1].tolist() == [6, 12]
    assert functional.hvp(lambda x: (x**3).sum(), x, torch.ones(2))[1].tolist() == [6, 12]


def test_out_is_refused_where_a_gradient_would_be_recorded():
    a, out = torch.ones(2), torch.zeros(2)
    w = torch.ones(2, requires_grad=True)
    for call in (lambda: torch.add(w, a, out=out), lambda: torch.add(a, a, out=w)):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            call()
    assert out.tolist() == [0, 0] and w.tolist() == [1, 1]
    with torch.no_grad():
        assert torch.add(w, a, out=out) is out and torch.add(a, a, out=w) is w
    assert out.tolist() == [2, 2] and w.tolist() == [2, 2] and w.is_leaf and not out.requires_grad
