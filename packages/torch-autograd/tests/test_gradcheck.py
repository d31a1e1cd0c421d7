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
