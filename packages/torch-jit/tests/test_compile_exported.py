"""``torch.compile`` of the module of an exported program: its checks are guards of the program."""

import pytest
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x, y, scale=2):
        return {"y": self.linear(x) * scale, "both": (x.sum(), y + 1)}


def compiled(net, dynamic):
    batch = torch.export.Dim("batch", min=2, max=20)
    program = torch.export.export(
        net,
        (torch.randn(5, 4), torch.ones(2)),
        {"scale": 3},
        dynamic_shapes={"x": {0: batch}, "y": None, "scale": None},
    )
    seen = []

    def backend(graph, examples):
        seen.append(graph)
        return graph

    return torch.compile(program.module(), fullgraph=True, dynamic=dynamic, backend=backend), seen


@pytest.mark.parametrize("dynamic, programs", [(True, 1), (False, 4)])
def test_it_computes_and_trains_as_the_original(dynamic, programs):
    net = Net()
    run, seen = compiled(net, dynamic)
    for batch in (5, 7, 2, 20, 7):
        x = torch.randn(batch, 4)
        net.zero_grad()
        found, wanted = run(x, torch.ones(2), scale=3), net(x, torch.ones(2), scale=3)
        torch.testing.assert_close(found, wanted)
        found["y"].sum().backward()
        torch.testing.assert_close(net.linear.weight.grad, 3 * x.sum(0).expand(3, 4))
    assert len(seen) == programs


@pytest.mark.parametrize("dynamic", [True, False])
def test_what_the_program_was_not_exported_for_is_refused_once_it_is_compiled(dynamic):
    run, _ = compiled(Net(), dynamic)
    run(torch.randn(6, 4), torch.ones(2), scale=3)
    for batch in (1, 21):
        with pytest.raises(AssertionError, match=rf"2 <= x.size\(\)\[0\] <= 20 \(batch\), got {batch}"):
            run(torch.randn(batch, 4), torch.ones(2), scale=3)
    with pytest.raises(AssertionError, match="scale: the program was exported for 3, got 4"):
        run(torch.randn(6, 4), torch.ones(2), scale=4)
    with pytest.raises(ValueError, match="got 2 by position, and none by name"):
        run(torch.randn(6, 4), torch.ones(2))
