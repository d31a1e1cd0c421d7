"""Ctrl-C at any moment of a recording: it arrives as what it is, and nothing of what a recording replaces stays."""

import dis
import functools
import gc
import inspect
import os
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
    hooks = nn.modules.module._global_forward_pre_hooks, nn.modules.module._global_forward_hooks
    modes = torch.is_grad_enabled(), gc.isenabled(), sys.getprofile(), str(torch.get_default_device()), *map(len, hooks)
    return {(owner, name): value for owner, name, value in replaced}, modes


#: functions that replace something for a while, and put it back; interrupted after each of their calls
SWAPS = frozenset(
    (
        "__enter__",
        "__exit__",
        "_recorded",
        "attribute",
        "code",
        "following",
        "item",
        "listening",
        "patched",
        "reads_watched",
    )
    + ("refusing_data", "refusing_scripts", "run", "shapes_watched", "standing_in", "undo", "watching")
)


def interrupted(run, number):
    """Run it with a Ctrl-C at the n-th moment at which the interpreter looks for signals: when a function of Python is entered, and
    in functions that replace something after each call of C. How many moments there were.
    """
    seen, entered = [0], [0]

    def moment():
        seen[0] += 1
        if seen[0] == number:
            raise KeyboardInterrupt

    def enter(frame, event, arg):
        code, before = frame.f_code, [None, 0]
        entered[0] += 1
        if not code.co_flags & inspect.CO_GENERATOR:  # one that is freed drops the error
            moment()
        if code.co_name not in SWAPS or f"{os.sep}torch{os.sep}" not in code.co_filename:
            return None

        def step(frame, event, arg):
            if event == "opcode":
                called, before[0] = before[0], dis.opname[code.co_code[frame.f_lasti]]
                since, before[1] = before[1], entered[0]
                if called is not None and called.startswith("CALL") and since == entered[0]:
                    moment()
            return step

        frame.f_trace_opcodes = True
        return step

    sys.settrace(enter)
    try:
        run()
    except KeyboardInterrupt:
        assert seen[0] >= number  # any other error is one of the test
    finally:
        sys.settrace(None)
    return seen[0]


@pytest.mark.parametrize("record", [capture, export, symbolic, traced])
def test_ctrl_c_leaves_everything_as_it_was(record):
    net = Net()
    run = functools.partial(record, net)
    run()
    torch.compiler.reset()
    total, before = interrupted(run, 0), things()
    for k in range(120):
        torch.compiler.reset()
        interrupted(run, 1 + k * total // 120)
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


def test_attributes_are_what_they_were_when_threads_have_left_in_any_order():
    class Base:
        inherited = 1

    class Derived(Base):
        kept = 2

    first, second, third = (_native.Replaced([(Derived, "kept", n), (Derived, "inherited", n)]) for n in (10, 20, 30))
    for each in (first, second, third):
        each.__enter__()
    second.__exit__()
    assert (Derived.kept, Derived.inherited) == (30, 30) and third.before == {"kept": 10, "inherited": 10}
    first.__exit__()
    assert (Derived.kept, Derived.inherited) == (30, 30) and third.before == {"kept": 2, "inherited": 1}
    third.__exit__()
    assert Derived.kept == 2 and "inherited" not in vars(Derived)


def test_nothing_is_replaced_where_one_attribute_cannot_be():
    class Some:
        kept = 1

    with pytest.raises(TypeError), _native.Replaced([(Some, "kept", 2), (int, "kept", 3)]):
        pass
    assert Some.kept == 1


def test_recordings_end_in_any_order():
    tracer = _native.Tracer(_native.Graph())
    outer, inner = _native.Recording(tracer), _native.Recording(None)
    outer.end()  # an error may keep the inner one for longer
    assert not _native._tracing()
    inner.end()
    assert not _native._tracing()
    del tracer
    assert torch.ones(2).add(1).tolist() == [2.0, 2.0]
