"""Writes the model that the programs of this folder run: a small network for pictures of 8 by 8, with a second method.

python digits.py net.pt
"""

import sys

import torch
from torch import Tensor, nn


class Digits(nn.Module):
    """Scores of ten digits for pictures (N, 64)."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).softmax(-1)

    @torch.jit.export
    def best(self, x: Tensor, k: int = 3) -> list[tuple[int, float]]:
        """The ``k`` likeliest digits of one picture."""
        scores = self.forward(x.reshape(1, 64))[0]
        found: list[tuple[int, float]] = []
        for _ in range(k):
            digit = int(scores.argmax())
            found.append((digit, float(scores[digit])))
            scores[digit] = -1.0
        return found


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.jit.save(torch.jit.script(Digits().eval()), sys.argv[1])
