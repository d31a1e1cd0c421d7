"""Rules for what counts: runs of equal elements, bins, the most frequent one; and the inverse of erf."""

import pytest
import torch
from agreement import agree
from torch import nn

WHOLE = torch.tensor([1, 1, 2, 2, 2, 0, 3, 3])


class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


@pytest.mark.parametrize(
    "function, args, others",
    [
        (lambda x: x.unique_consecutive(return_inverse=True, return_counts=True), (WHOLE,), [(WHOLE % 2,), (WHOLE * 0,), (WHOLE,)]),
        (lambda x: x.unique_consecutive(return_inverse=True), (WHOLE.view(2, 4).float(),), [(WHOLE.view(2, 4).float() % 2,)]),
        (lambda x: x.unique_consecutive(), (WHOLE > 1,), [(WHOLE > 2,)]),
        (lambda x: x.bincount(), (WHOLE,), [(WHOLE * 2,)]),
        (lambda x, w: x.bincount(w, 6), (WHOLE, torch.rand(8)), [(WHOLE * 3, torch.rand(8))]),
        (lambda x: x.histc(5, -1.0, 1.0), (torch.linspace(-2, 1, 13),), [(torch.linspace(-1, 1, 13),)]),
        (lambda x: x.histc(4), (torch.linspace(-2, 1, 13),), [(torch.ones(13),)]),
        (lambda x: x.mode(), (WHOLE.view(2, 4),), [(torch.tensor([[3, 1, 3, 1], [2, 2, 1, 0]]),)]),
        (lambda x: x.mode(0, keepdim=True), (torch.tensor([[1.0, 4], [2, 4], [2, 3], [1, 3]]),), []),
        (lambda x: x.erfinv(), (torch.tensor([-1, -0.999, -0.5, -1e-3, 0, 0.3, 0.9999, 1]),), []),
        (lambda x: nn.functional.adaptive_max_pool2d(x, (3, 2), return_indices=True), (torch.randn(2, 3, 7, 5),), [(torch.zeros(2, 3, 7, 5),)]),
        (lambda x: nn.functional.adaptive_max_pool1d(x, 4), (torch.randn(2, 3, 7),), []),
    ],
)  # fmt: skip
def test_counts_agree_with_onnxruntime(function, args, others):
    agree(Of(function), *args, others=others, tolerance=1e-5)
