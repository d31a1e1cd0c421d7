"""Ctrl-C at any moment of a recording: it arrives as what it is, and nothing of what a recording replaces stays."""

import functools
import gc
import inspect
import sys

import pytest
import torch
from torch import fx, nn
from torch.jit import _native
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.cell = nn.Linear(3, 3), nn.GRU(3, 3)

    def forward(self, x):
        return F.relu(self.linear(x) * x.shape[0]) + self.cell(x)[0].sum()


def capture(net):
    return torch.compile(net, fullgraph=True, dynamic=True)(torch.ones(3, 3))


def export(net):
    return torch.export.export(net, (torch.ones(3, 3),), dynamic_shapes=({0: torch.export.Dim("n", min=2)},))


def symbolic(net):
    return fx.symbolic_trace(nn.Sequential(net.linear, nn.ReLU()))


def traced(net):
    return torch.jit.trace(net, (torch.ones(3, 3),), check_trace=False)


def things():
    """What a recording may have left behind."""
    replaced = [
        (owner, name, value)
        for owner in (torch.Tensor, nn.Module, nn.RNNBase, F, torch)
        for name, value in vars(owner).items()
    ]
    modes = torch.is_grad_enabled(), gc.isenabled(), sys.getprofile(), str(torch.get_default_device())
    return {(owner, name): value for owner, name, value in replaced}, modes


def interrupted(run, number):
    """Run it with a Ctrl-C at the n-th function of Python that is entered, where the interpreter looks for signals; how many
    functions were.
    """
    entered = [0]

    def trace(frame, event, arg):
        if frame.f_code.co_flags & inspect.CO_GENERATOR:  # one that is freed drops the error
            return
        entered[0] += 1
        if entered[0] == number:
            raise KeyboardInterrupt

    sys.settrace(trace)
    try:
        run()
    except KeyboardInterrupt:
        assert entered[0] >= number  # any other error is one of the test
    finally:
        sys.settrace(None)
    return entered[0]


@pytest.mark.parametrize("record", [capture, export, symbolic, traced])
def test_ctrl_c_leaves_everything_as_it_was(record):
    net = Net()
    run = functools.partial(record, net)
    run()
    torch.compiler.reset()
    total, before = interrupted(run, 0), things()
    for k in range(80):
        torch.compiler.reset()
        interrupted(run, 1 + k * total // 80)
        after = things()
        assert after[1] == before[1]
        assert [key for key in before[0] if after[0].get(key) is not before[0][key]] == []
        assert [key for key in after[0].keys() - before[0].keys() if isinstance(key[0], type)] == []
    torch.compiler.reset()
    run()


READS = {
    "bool": bool, "int": int, "float": float, "complex": complex, "item": torch.Tensor.item, "tolist": torch.Tensor.tolist,
    "index": lambda x: [1, 2][x.long()], "memory": memoryview, "dlpack": torch.Tensor.__dlpack__, "equal": lambda x: torch.equal(x, x),
}  # fmt: skip


@pytest.mark.parametrize("read", READS)
def test_what_is_raised_when_a_value_is_read_arrives_as_it_is(read):
    def refuse(tensor, what):
        raise KeyboardInterrupt

    x = torch.ones(())
    with _native.Reads(refuse), pytest.raises(KeyboardInterrupt):
        READS[read](x)


def test_what_is_raised_while_an_operator_is_recorded_arrives_as_it_is():
    def where():
        raise KeyboardInterrupt

    tracer = _native.Tracer(_native.Graph())
    tracer.locate_by(where)
    recording = _native.Recording(tracer)
    try:
        with pytest.raises(KeyboardInterrupt):
            torch.ones(2).add(1)
    finally:
        recording.end()


def test_attributes_are_others_until_the_last_has_left():
    class Base:
        kept, inherited = 1, 2

    class Derived(Base):
        kept = 3

    replaced = _native.Replaced([(Derived, "kept", 4), (Derived, "inherited", 5), (Derived, "new", 6)])
    with replaced:
        with replaced:
            pass
        assert (Derived.kept, Derived.inherited, Derived.new) == (4, 5, 6)
        assert replaced.before == {"kept": 3, "inherited": 2, "new": None}
    assert Derived.kept == 3 and "inherited" not in vars(Derived) and not hasattr(Derived, "new")


def test_nothing_is_replaced_where_one_attribute_cannot_be():
    class Some:
        kept = 1

    with pytest.raises(TypeError), _native.Replaced([(Some, "kept", 2), (int, "kept", 3)]):
        pass
    assert Some.kept == 1
