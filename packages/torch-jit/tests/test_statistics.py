"""Programs with norms that train: their running statistics move as often, and when, they do in Python."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F


def unused(x, mean, var):
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    return x + 1


def twice(x, mean, var):
    first = F.batch_norm(x, mean, var, training=True, momentum=0.5)
    return first + F.batch_norm(x, mean, var, training=True, momentum=0.5)


def read_between(x, mean, var):
    before = mean * 2 + 1
    y = F.batch_norm(x, mean, var, training=True, momentum=0.5)
    return before, y.sigmoid() * 2, mean * 2 + 1


def instances(x, mean, var):
    before = var.sqrt() + 1
    y = F.instance_norm(x[None].mT, mean, var, use_input_stats=True, momentum=0.5)
    return before, y * 2 + 1, var.sqrt() + 1


def traced(function):
    return torch.jit.trace(function, (torch.ones(4, 3), torch.zeros(3), torch.ones(3)), check_trace=False)


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


WAYS = {
    "script": torch.jit.script,
    "trace": traced,
    "freeze": lambda function: torch.jit.freeze(traced(Calls(function).eval())),
    "compile": torch.compile,
    "all sizes": lambda function: torch.compile(function, dynamic=True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", [unused, twice, read_between, instances])
def test_running_statistics_move_as_in_python(function, way):
    torch.manual_seed(0)
    program = WAYS[way](function)
    for call in range(6):
        x = torch.randn(5 if call in (2, 4) and way != "freeze" else 4, 3)
        own, given = (torch.zeros(3), torch.ones(3)), (torch.zeros(3), torch.ones(3))
        torch.testing.assert_close(program(x, *given), function(x, *own))
        torch.testing.assert_close(given, own)
