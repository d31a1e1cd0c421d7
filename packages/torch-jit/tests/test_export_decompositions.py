"""``ExportedProgram.run_decompositions`` with a table of one's own."""

import pytest
import torch
from test_export_numbers import again
from torch import nn
from torch.export import Dim, default_decompositions, export

aten = torch.ops.aten


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)

    def forward(self, x):
        x = nn.functional.silu(self.norm(self.linear(x)))
        values, places = torch.cond(x.sum() > 0, nn.functional.silu, torch.sin, (x,)).max(-1)
        return values, places, x


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5, cudnn=True):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + eps) * weight + bias


def table():
    found = default_decompositions()
    found[aten.linear.default] = lambda x, w, b: torch.addmm(b, x, w.t())
    found[aten.silu] = lambda x: x * torch.sigmoid(x)
    found[aten.layer_norm.default] = layer_norm
    found[aten.max.dim] = lambda x, dim, keepdim=False: (x.amax(dim, keepdim), x.argmax(dim, keepdim))
    assert found.pop(aten.conv2d.default) is None
    return found


@pytest.mark.parametrize("moves", [False, True])
def test_functions_stand_for_operators(moves):
    net, shapes = Net(), ({0: Dim("rows")},) if moves else None
    program = export(net, (torch.randn(3, 4),), dynamic_shapes=shapes)
    made = program.run_decompositions(table())
    made.validate()
    graphs = [made.graph, *(m.graph for m in made.graph_module.children())]
    targets = {str(n.target) for graph in graphs for n in graph.nodes}
    assert {"aten.addmm.default", "aten.sigmoid.default", "aten.var.correction", "aten.argmax.default"} <= targets
    assert not targets & {"aten.linear.default", "aten.silu.default", "aten.layer_norm.default", "aten.max.dim"}
    assert any(n.target is aten.linear.default for n in program.graph.nodes), "the program itself is as it was"
    for sign in (1, -1):
        x = sign * torch.randn(6 if moves else 3, 4)
        for run in (made.module(), again(made).module()):
            torch.testing.assert_close(run(x), net(x))


def test_what_cannot_be_replaced_is_named():
    class Ones(nn.Module):
        def forward(self, x):
            return x.new_ones(x.shape[0])

    program = export(Ones(), (torch.ones(3),), dynamic_shapes=({0: Dim("n")},))
    with pytest.raises(NotImplementedError, match="aten.new_ones.default takes the number sym_size_int"):
        program.run_decompositions({aten.new_ones.default: lambda x, size: torch.ones(size)})
    program = export(nn.SiLU(), (torch.ones(3),))
    with pytest.raises(NotImplementedError, match="aten.silu.default has a tensor of its own"):
        program.run_decompositions({aten.silu.default: lambda x: x * torch.tensor([1.0, 2, 3])})
