import subprocess
import sys

import pytest
import torch


def test_gradcheck_agrees_with_a_right_derivative():
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: (x * x).sin(), (x,))


def test_gradcheck_shows_both_sides_of_a_wrong_one():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = torch.randn(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"(?s)3\..*2\.|2\..*3\."):
        torch.autograd.gradcheck(Wrong.apply, (x,))


def test_the_module_of_its_name_may_be_imported_first():
    code = (
        "from torch.autograd.gradcheck import gradcheck, GradcheckError\n"
        "import torch\n"
        "x = torch.ones(2, dtype=torch.float64, requires_grad=True)\n"
        "print(torch.autograd.gradcheck(torch.sin, (x,)), gradcheck(torch.sin, (x,)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "True True", done.stderr


def affine(w, b):
    """A function that reads its parameters from outside, as a module does."""
    return lambda x, *parameters: (x @ w).sin() + b


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_parameters_read_from_outside_are_changed_and_restored(check, dtype):
    x, w, b = (torch.rand(shape, dtype=dtype, requires_grad=True) for shape in ((2, 3), (3, 2), (2,)))
    before = [t.detach().clone() for t in (x, w, b)]
    assert check(affine(w, b), (x, w, b))
    assert all(torch.equal(t, old) and t._version == 0 for t, old in zip((x, w, b), before))


def test_inputs_are_restored_when_the_function_fails():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)

    def fails_beside_one(t):
        if t.sum() != 2:
            raise ArithmeticError
        return t * 2

    with pytest.raises(ArithmeticError):
        torch.autograd.gradcheck(fails_beside_one, (x,))
    assert x.tolist() == [1, 1]


def test_a_wrong_derivative_by_a_parameter_read_from_outside_is_found():
    w = torch.rand(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 1"):
        torch.autograd.gradcheck(
            lambda x, p: x * w.detach() + p * 0, (torch.rand(2, dtype=torch.float64, requires_grad=True), w)
        )
