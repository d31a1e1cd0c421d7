"""Cross entropy in files: weights, smoothing and ignored targets together."""

import pytest
import torch
from agreement import agree
from torch import nn
from torch.nn import functional as F


class Loss(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, x, target):
        return F.cross_entropy(x, target, **self.options)


WEIGHT = torch.tensor([0.5, 1.0, 2.0, 3.0])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("ignored", [-100, 1])
def test_smoothing_leaves_out_ignored_targets_and_weighs_classes(reduction, weight, ignored):
    x, target = torch.randn(3, 4, 2), torch.tensor([[0, ignored], [2, 3], [ignored, 3]])
    loss = Loss(weight=weight, ignore_index=ignored, label_smoothing=0.1, reduction=reduction)
    agree(loss, x, target)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_targets_of_chances_are_weighed_and_smoothed(reduction, weight, smoothing):
    x, target = torch.randn(3, 4, 2), torch.randn(3, 4, 2).softmax(1)
    agree(Loss(weight=weight, label_smoothing=smoothing, reduction=reduction), x, target)


def test_one_row_of_scores():
    for target in (torch.tensor(2), torch.randn(4).softmax(0)):
        agree(Loss(weight=WEIGHT, label_smoothing=0.1), torch.randn(4), target)


def test_an_ignored_row_may_hold_anything():
    x = torch.randn(3, 4)
    x[1, 2], x[1, 3] = float("-inf"), float("nan")
    agree(Loss(label_smoothing=0.1), x, torch.tensor([0, -100, 2]))
