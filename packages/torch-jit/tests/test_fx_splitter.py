"""Graphs cut by what an accelerator supports."""

import pytest
import torch
from torch import nn
from torch.fx import symbolic_trace
from torch.fx.passes.operator_support import create_op_support
from torch.fx.passes.splitter_base import _SplitterBase, _SplitterSettingBase

SUPPORT = create_op_support(lambda submodules, node: node.name not in ("relu", "size"))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, y):
        a = self.linear(x) + y
        b = torch.relu(a)
        return (b.sin() * 2).reshape(b.size(0), -1), y.cos()


def splitter(**settings):
    torch.manual_seed(0)
    net, args = Net(), (torch.randn(2, 3), torch.randn(2, 3))
    return net, args, _SplitterBase(symbolic_trace(net), args, SUPPORT, _SplitterSettingBase(**settings))


def test_parts_alternate_and_give_the_same():
    net, args, made = splitter()
    cut = made()
    names = [name for name, _ in cut.named_children()]
    assert names == ["_run_on_acc_0", "_run_on_cpu_1", "_run_on_acc_2", "_run_on_cpu_3"]
    torch.testing.assert_close(cut(*args), net(*args))
    assert "cos" in cut._run_on_acc_0.code, "all that is ready goes along"


def test_numbers_and_small_parts_stay_on_the_cpu():
    names = lambda **settings: [name for name, _ in splitter(**settings)[2]().named_children()]
    assert names(allow_non_tensor=True)[-1] == "_run_on_acc_2"
    assert names(min_acc_module_size=3) == ["_run_on_acc_0", "_run_on_cpu_1"]
    with pytest.raises(ValueError, match="2 parts for the accelerator, and max_acc_splits is 1"):
        splitter(max_acc_splits=1)[2]()
    with pytest.raises(NotImplementedError, match="splitter settings: speed"):
        _SplitterSettingBase(speed=1)


def test_parts_come_with_their_arguments(capsys):
    net, args, made = splitter()
    cut, inputs, prefix = made.generate_split_results()
    assert set(inputs) == {name for name, _ in cut.named_children()} and prefix == "_run_on_cpu_"
    torch.testing.assert_close(inputs["_run_on_cpu_1"][0], net.linear(args[0]) + args[1])
    assert "call_function torch.relu (relu)" in made.node_support_preview().partition("Unsupported")[2]
    assert capsys.readouterr().out
