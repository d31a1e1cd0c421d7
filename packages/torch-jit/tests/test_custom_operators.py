"""Operators that programs bring (``torch.library``) in scripts, traces and compiled functions."""

import io

import pytest
import torch
from torch import Tensor

X = torch.tensor([1.0, -2.0])


@torch.library.custom_op("test_custom_operators::scaled", mutates_args=())
def scaled(x: Tensor, k: int = 2, name: str = "a") -> Tensor:
    return torch.from_numpy(x.detach().numpy() * k)


def keep(ctx, inputs, output):
    ctx.k = inputs[1]


scaled.register_autograd(lambda ctx, grad: (grad * ctx.k, None, None), setup_context=keep)


@torch.library.custom_op("test_custom_operators::pair", mutates_args=())
def pair(x: Tensor, others: list[Tensor], sizes: list[int]) -> tuple[Tensor, Tensor]:
    return x.clone(), others[0] * sizes[0]


@torch.library.custom_op("test_custom_operators::raise_by_one", mutates_args=("x",))
def raise_by_one(x: Tensor) -> None:
    x.add_(1)


def with_defaults(x):
    return torch.ops.test_custom_operators.scaled(x) + scaled(x, 3) + scaled(x, name="b", k=4)


def with_lists(x):
    a, b = torch.ops.test_custom_operators.pair(x, [x, x], [3, 4])
    return a + b


def in_place(x):
    y = x.clone()
    torch.ops.test_custom_operators.raise_by_one(y)
    return y


WAYS = {
    "script": torch.jit.script,
    "trace": lambda f: torch.jit.trace(f, X),
    "compile": lambda f: torch.compile(f, fullgraph=True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", [with_defaults, with_lists, in_place])
def test_an_operator_of_ones_own_is_one_instruction(function, way):
    made = WAYS[way](function)
    for x in (X, X * 3):
        assert made(x).tolist() == function(x).tolist()
    if way != "compile":
        assert "test_custom_operators::" in str(made.graph)


@pytest.mark.parametrize("way", WAYS)
def test_its_derivative_is_its_own(way):
    x = X.clone().requires_grad_()
    WAYS[way](with_defaults)(x).sum().backward()
    assert x.grad.tolist() == [9, 9]


@pytest.mark.parametrize("way", ["script", "trace"])
def test_a_program_with_one_is_saved_and_loaded(way):
    file = io.BytesIO()
    torch.jit.save(WAYS[way](with_lists), file)
    file.seek(0)
    assert torch.jit.load(file)(X).tolist() == with_lists(X).tolist()
