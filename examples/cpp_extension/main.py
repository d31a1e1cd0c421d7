"""A recurrent cell in C++, used twice: its operators recorded by autograd, and its own backward in a Function.

python main.py --steps 200        trains a network with the cell to tell the parity of a row of bits
python setup.py bdist_wheel       builds the same source as a wheel
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from torch import Tensor, nn, optim
from torch.autograd import Function, gradcheck, gradgradcheck
from torch.utils.cpp_extension import load

cell_cpp = load("cell_cpp", Path(__file__).with_name("cell.cpp"))


class CellFunction(Function):
    """The cell with the backward of cell.cpp: (x, h, weight, bias) to the new h."""

    @staticmethod
    def forward(ctx, x: Tensor, h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        new, both, f, c = cell_cpp.forward(x, h, weight, bias)
        ctx.save_for_backward(h, weight, both, f, c)
        return new

    @staticmethod
    def backward(ctx, grad: Tensor):
        return tuple(cell_cpp.backward(grad, *ctx.saved_tensors))


def recorded(x: Tensor, h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The cell as autograd records it."""
    return cell_cpp.forward(x, h, weight, bias)[0]


class Cell(nn.Module):
    """The cell with its parameters: (batch, inputs) and (batch, hidden) to (batch, hidden)."""

    def __init__(self, inputs: int, hidden: int, form=CellFunction.apply):
        super().__init__()
        self.form = form
        self.weight = nn.Parameter(torch.randn(2 * hidden, inputs + hidden) / (inputs + hidden) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(2 * hidden))

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        return self.form(x, h, self.weight, self.bias)


def check() -> None:
    """Both forms agree, and their gradients are those of finite differences."""
    sizes = (3, 2), (3, 4), (8, 6), (8,)
    inputs = [torch.randn(*size, dtype=torch.float64, requires_grad=True) for size in sizes]
    assert torch.allclose(CellFunction.apply(*inputs), recorded(*inputs))
    assert gradcheck(CellFunction.apply, inputs)
    assert gradcheck(recorded, inputs)
    assert gradgradcheck(recorded, inputs)
    print("gradients of both forms are right")


def train(steps: int, length: int, form) -> float:
    """Train on rows of random bits; return the share of unseen rows whose parity is told rightly."""
    torch.manual_seed(0)
    cell, last = Cell(1, 16, form), nn.Linear(16, 1)
    optimizer = optim.Adam([*cell.parameters(), *last.parameters()], lr=0.02)
    loss_of = nn.BCEWithLogitsLoss()

    def run(rows: int) -> tuple[Tensor, Tensor]:
        bits = torch.randint(2, (rows, length))
        h = torch.zeros(rows, 16)
        for i in range(length):
            h = cell(bits[:, i : i + 1].float() * 2 - 1, h)
        return last(h)[:, 0], (bits.sum(1) % 2).float()

    for step in range(steps):
        guess, parity = run(128)
        optimizer.zero_grad()
        loss = loss_of(guess, parity)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"  step {step:4}: loss {loss.item():.3f}")
    with torch.no_grad():
        guess, parity = run(1000)
    return ((guess > 0) == (parity > 0)).float().mean().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--length", type=int, default=3, help="bits in a row")
    options = parser.parse_args()
    check()
    for name, form in (("own backward", CellFunction.apply), ("recorded", recorded)):
        print(name)
        began = time.perf_counter()
        right = train(options.steps, options.length, form)
        print(f"{name}: {right:.1%} of unseen rows right, {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
