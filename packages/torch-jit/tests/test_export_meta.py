"""What tools read of an exported graph: fake tensors with symbolic sizes, the function that was called, and the verifier."""

import copy
import pickle

import pytest
import torch
from test_export_numbers import again
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import Dim, export


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, x):
        y = nn.functional.softmax(self.linear(x), 1)
        return torch.cat([y, y]).reshape(-1), y.transpose(0, 1), (y > 0)[:, 1:]


def shapes(program):
    return [str(tuple(n.meta["val"].shape)) for n in program.graph.nodes if isinstance(n.meta.get("val"), torch.Tensor)]


def test_sizes_that_may_change_are_symbols_in_fake_tensors():
    program = export(Net(), (torch.ones(5, 3),), dynamic_shapes=({0: Dim.DYNAMIC},))
    for made in (program, again(program), copy.deepcopy(program)):
        found = shapes(made)
        assert found[2:5] == ["(s0, 3)", "(s0, 4)", "(s0, 4)"] and {"(8*s0,)", "(4, s0)", "(s0, 3)"} <= set(found)
        values = [n.meta["val"] for n in made.graph.nodes if isinstance(n.meta.get("val"), torch.Tensor)]
        assert all(isinstance(v, FakeTensor) and v.device.type == "cpu" for v in values)
        x = values[2]
        assert repr(x) == "FakeTensor(..., size=(s0, 3))" and str(x.numel()) == "3*s0" and x.stride() == (3, 1)
    assert 'x: "f32[s0, 3]"' in str(program) and '"f32[8*s0]"' in str(program)


def test_strides_follow_sizes():
    program = export(Net(), (torch.ones(5, 3),), dynamic_shapes=({0: Dim("rows")},))
    turned = next(n for n in program.graph.nodes if n.name == "transpose").meta["val"]
    assert str(turned.stride()) == "(1, 4)" and str(turned.size(1)) == "rows"
    program = export(nn.Flatten(0), (torch.ones(5, 3, 2),), dynamic_shapes=({1: Dim("rows")},))
    first = next(iter(program.graph.nodes)).meta["val"]
    assert str(first.stride()) == "(2*rows, 2, 1)" and str(first.shape) == "torch.Size([5, rows, 2])"


def test_a_symbol_is_no_int_and_answers_as_in_the_example():
    program = export(Net(), (torch.ones(5, 3),), dynamic_shapes=({0: Dim.DYNAMIC},))
    size = next(n for n in program.graph.nodes if n.name == "x").meta["val"].shape[0]
    assert isinstance(size, torch.SymInt) and not isinstance(size, int)
    assert (str(size), size.node.hint, int(size), str(size * 2 - 1), str(size > 2)) == (
        "s0",
        5,
        5,
        "2*s0 - 1",
        "s0 > 2",
    )
    assert str(size.node.expr) == "s0" and {str(s) for s in size.node.expr.free_symbols} == {"s0"}
    assert size == 5 and torch.ones(size).shape == (5,) and size in (5, 6) and bool(size > 2)
    assert str((size + 1) // 2 + size % 3) == "(s0 + 1)//2 + s0%3" and str(size - size) == "0"
    assert str(1 / size).startswith("1/s0")


def test_nodes_know_the_function_that_the_program_called():
    class Net(nn.Module):
        def forward(self, x):
            y = x.relu()
            return torch.max(y, 1)[0] + y.relu()[:, 0]

    program = export(Net(), (torch.ones(3, 2),))
    for made in (program, again(program)):
        called = [n.meta["torch_fn"][0] for n in made.graph.nodes if n.op == "call_function"]
        assert {"relu_1", "relu_2", "max_1"} <= set(called)
        assert called.count("max_1") == 2, "a node for the pair, and one for the first of it"
        assert all(n.meta["torch_fn"][1].endswith("relu") for n in made.graph.nodes if n.name.startswith("relu"))


def test_the_verifier_of_a_program_finds_what_it_may_not_have():
    from torch._export.verifier import SpecViolationError, TrainingIRVerifier, Verifier, load_verifier

    program = export(Net(), (torch.ones(5, 3),))
    assert program.verifier is TrainingIRVerifier and program.dialect == "TRAINING"
    core = program.run_decompositions()
    assert core.verifier is Verifier and core.dialect == "ATEN" and load_verifier("ATEN") is Verifier
    core.verifier().check(core)

    class NoSoftmax(Verifier):
        dialect = "NO_SOFTMAX"

        def check_valid_op(self, op):
            if "softmax" in str(op):
                raise SpecViolationError(f"{op} is not for this device")

    with pytest.raises(SpecViolationError, match="aten._softmax.default is not for this device"):
        NoSoftmax().check(core)
    x = next(n for n in program.graph.nodes if n.name == "x")
    with program.graph.inserting_after(x):
        wrong = program.graph.call_function(torch.ops.aten.relu_.default, (x,))
    with pytest.raises(SpecViolationError, match="calls aten.relu_.default, which writes to its arguments"):
        program.validate()
    program.graph.erase_node(wrong)
    program.graph_signature.input_specs[0].arg.name = "other"
    with pytest.raises(SpecViolationError, match="input p_linear_weight is called other in the signature"):
        program.validate()
    with pytest.raises(ValueError, match="there is no dialect 'EDGE'; there are ATEN, TRAINING"):
        load_verifier("EDGE")


def test_formulas_of_sizes_are_read_from_text():
    from torch._symbols import Expression, of_text

    assert str(of_text("2*(a + b)", 10) - 1) == "2*a + 2*b - 1"
    assert Expression.of_text("4*b + 1").linear() == ("b", 4, 1)
    with pytest.raises(ValueError, match="a size is a sum or product of names and numbers"):
        of_text("open('x')", 1)
    with pytest.raises(TypeError, match="such numbers are sizes of exported programs"):
        torch.SymInt("s0")
    assert pickle.loads(pickle.dumps(of_text("a", 3))) == 3
