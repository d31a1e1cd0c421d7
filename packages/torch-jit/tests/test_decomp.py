"""``torch._decomp``: functions that stand for operators."""

import math

import pytest
import torch
from torch import nn
from torch._decomp import (
    core_aten_decompositions,
    decomposition_table,
    get_decompositions,
    register_decomposition,
    remove_decompositions,
)
from torch.export import Dim, export

aten = torch.ops.aten
X = torch.linspace(-4, 4, 24, dtype=torch.float64).reshape(4, 6)
Y = (torch.arange(24, dtype=torch.float64).sin() + 2).reshape(4, 6)
SQUARE = torch.linspace(-1, 1, 36, dtype=torch.float64).reshape(6, 6)
CASES = {
    "addmm": (Y, X, SQUARE), "addmv": (X[:, 0], X, X[0]), "baddbmm": (Y[None], X[None], SQUARE[None]), "addcmul": (X, Y, Y),
    "addcdiv": (X, Y, Y), "silu": (X,), "gelu": (X,), "hardsigmoid": (X,), "hardswish": (X,), "leaky_relu": (X, 0.2), "elu": (X, 1.5),
    "softplus": (X, 2.0), "mish": (X,), "threshold": (X, 0.5, 3.0), "mse_loss": (X, Y), "l1_loss": (X, Y, 2),
    "native_layer_norm": (X, [6], Y[0], Y[1], 1e-5), "_softmax": (X, 1, False), "_log_softmax": (X, 0, False), "t": (X,),
    "square": (X,), "rsub": (X, Y), "lerp": (X, Y, 0.3), "logaddexp": (X, Y),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_formula_gives_what_its_operator_gives(name):
    (function,) = {f for op, f in decomposition_table.items() if op.overloadpacket.__name__ == name}
    torch.testing.assert_close(function(*CASES[name]), getattr(aten, name)(*CASES[name]))


def test_every_formula_has_a_case():
    assert {op.overloadpacket.__name__ for op in decomposition_table} == set(CASES)


def test_infinities_add_up():
    two = torch.tensor([math.inf, -math.inf, math.inf]), torch.tensor([math.inf, -math.inf, 0.0])
    function = get_decompositions([aten.logaddexp])[aten.logaddexp.default]
    assert torch.equal(function(*two), torch.logaddexp(*two))


@pytest.mark.parametrize("moves", [False, True])
def test_a_table_of_some_operators_decomposes_these(moves):
    net, x = nn.Sequential(nn.Linear(6, 4), nn.GELU(), nn.SiLU()), torch.randn(3, 6)
    program = export(net, (x,), dynamic_shapes=({0: Dim("rows")},) if moves else None)
    made = program.run_decompositions(get_decompositions([aten.gelu, aten.silu.default]))
    targets = {str(n.target) for n in made.graph.nodes if n.op == "call_function"}
    assert targets == {
        "aten.linear.default",
        "aten.mul.Tensor",
        "aten.erf.default",
        "aten.add.Tensor",
        "aten.sigmoid.default",
    }
    x = torch.randn(5 if moves else 3, 6)
    torch.testing.assert_close(made.module()(x), net(x))


def test_core_aten_has_no_operator_that_a_formula_stands_for():
    made = export(nn.Sequential(nn.SiLU(), nn.Hardswish(), nn.Mish()), (torch.randn(3),))
    core = made.run_decompositions(core_aten_decompositions())
    targets = {str(n.target) for n in core.graph.nodes}
    assert not targets & {"aten.silu.default", "aten.hardswish.default", "aten.mish.default"}
    x = torch.randn(3)
    torch.testing.assert_close(core.module()(x), made.module()(x))


def test_a_decomposition_is_registered_once_and_can_be_taken_out():
    table = {}
    register_decomposition([aten.sin, aten.cos.default], table)(torch.tanh)
    assert table[aten.sin.default] is torch.tanh is table[aten.cos.default]
    with pytest.raises(RuntimeError, match="aten.cos.default has a decomposition already"):
        register_decomposition(aten.cos, table)(torch.tanh)
    remove_decompositions(table, [aten.cos])
    assert aten.cos.default not in table
    with pytest.raises(TypeError, match="expected an operator of torch.ops"):
        register_decomposition(torch.sin, table)
    with pytest.raises(ValueError, match="type is 'post_autograd', 'pre_autograd', 'meta', got 'late'"):
        register_decomposition(aten.cos, type="late")
