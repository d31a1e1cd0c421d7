"""Exported programs with branches, loops and numbers of values, as ONNX models: If, Loop, Scan."""

import pytest
import torch
from torch import _pytree as pytree
from torch import nn
from torch._higher_order_ops import map, scan, while_loop

onnxruntime = pytest.importorskip("onnxruntime")
X = torch.arange(12.0).view(3, 4)


class Net(nn.Module):
    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.function, self.linear = function, nn.Linear(4, 4)

    def forward(self, *args):
        return self.function(self, *args)


def agrees(function, kinds, *examples, **options):
    net = Net(function)
    program = torch.onnx.export(net, examples[0], dynamo=True, **options)
    assert {"If", "Loop", "Scan"} & {n.op_type for n in program.model_proto.graph.node} == kinds
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    for args in examples:
        given = {i.name: a.numpy() for i, a in zip(session.get_inputs(), args, strict=True)}
        wanted = pytree.tree_leaves(net(*args))
        for one, two in zip(session.run(None, given), wanted, strict=True):
            torch.testing.assert_close(torch.from_numpy(one), two, rtol=1e-5, atol=1e-4)


def test_branches_are_if():
    def forward(self, x):
        y = x * 2

        def first(x):
            return torch.cond(x.max() > 5, lambda x: self.linear(x), lambda x: x + y, (x,))

        return torch.cond(x.sum() > 0, first, lambda x: x - y * x.shape[0], (x,)) + 1

    rows = {0: torch.export.Dim("rows")}
    agrees(forward, {"If"}, (X,), (-X,), (X[:2] / 12,), dynamic_shapes=((rows,),))


def test_loops_are_loop_and_scan():
    def forward(self, x, n):
        last, rows = scan(lambda c, row: (c + row, self.linear(c) * row), torch.zeros(4), x, reverse=True)
        each = map(lambda row, y: (row * y, self.linear(row).sum()), x, x[0])
        count, grown = while_loop(
            lambda i, y: i < n, lambda i, y: (i + 1, self.linear(y) / 4 + x), (torch.tensor(0), x)
        )
        return last, rows, each, count, grown

    agrees(forward, {"Loop", "Scan"}, (X, torch.tensor(3)), (-X, torch.tensor(0)), (X + 1, torch.tensor(5)))


def test_numbers_of_values_are_sizes():
    def forward(_, n, x):
        k = n.item()
        torch._check(k >= 0)
        torch._check(k <= x.shape[0])
        return x[:k] * 2 + k, torch.zeros(2 * k), torch.ones((x > 3).nonzero().shape[0])

    agrees(forward, set(), (torch.tensor(2), X), (torch.tensor(3), X * 2), (torch.tensor(1), -X))
