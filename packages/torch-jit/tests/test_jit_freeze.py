"""Passes over graphs, and torch.jit.freeze."""

import copy
import io

import pytest
import torch
from torch import nn
from torch.jit._ir import Function, _native, parse_ir


def kinds(graph):
    return [n.kind() for n in graph.nodes() if not n.kind().startswith("prim::")]


def test_dead_code_goes_and_effects_stay():
    g = parse_ir("""graph(%x : Tensor):
      %one : int = prim::Constant[value=1]()
      %dead : Tensor = aten::add(%x, %one, %one)
      %w : Tensor = aten::relu_(%x)
      %r : Tensor = aten::neg(%x)
      return (%r)""")
    _native.eliminate_dead_code(g)
    assert kinds(g) == ["aten::relu_", "aten::neg"]


def test_equal_subexpressions_are_computed_once_unless_something_is_written():
    text = """graph(%x : Tensor):
      %a : Tensor = aten::exp(%x)
      %b : Tensor = aten::exp(%x)
      WRITE
      %one : int = prim::Constant[value=1]()
      %r : Tensor = aten::sub(%a, %b, %one)
      return (%r)"""
    g = parse_ir(text.replace("WRITE", ""))
    _native.eliminate_common_subexpressions(g)
    assert kinds(g) == ["aten::exp", "aten::sub"] and Function("f", g)(torch.ones(1)).item() == 0
    g = parse_ir(text.replace("WRITE", "%w : Tensor = aten::relu_(%a)"))
    _native.eliminate_common_subexpressions(g)
    assert kinds(g).count("aten::exp") == 2


def test_what_depends_on_constants_is_computed_before():
    g = parse_ir("""graph(%x : Tensor):
      %two : int = prim::Constant[value=2]()
      %one : int = prim::Constant[value=1]()
      %four : int = aten::mul(%two, %two)
      %size : int[] = prim::ListConstruct(%two)
      %none : NoneType = prim::Constant()
      %ones : Tensor = aten::ones(%size, %none, %none)
      %y : Tensor = aten::add(%x, %ones, %four)
      return (%y)""")
    _native.fold_constants(g)
    assert kinds(g) == ["aten::add"]
    assert torch.equal(Function("f", g)(torch.zeros(2)), torch.full((2,), 4.0))
    zero = "graph():\n %1 : int = prim::Constant[value=1]()\n %0 : int = prim::Constant[value=0]()\n %r : int = aten::floordiv(%1, %0)\n return (%r)"
    g = parse_ir(zero)
    _native.fold_constants(g)
    with pytest.raises(ZeroDivisionError):
        Function("f", g)()


def test_calls_are_put_in_place():
    @torch.jit.script
    def inner(x):
        return x * 2

    @torch.jit.script
    def outer(x):
        return inner(x) + inner(x + 1)

    assert outer.graph.findNode("prim::CallFunction") is not None
    graph = outer.inlined_graph
    assert graph.findNode("prim::CallFunction") is None
    assert torch.equal(Function("f", graph)(torch.ones(1)), outer(torch.ones(1)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU())
        self.out = nn.Linear(4, 2)
        self.calls = 3

    def forward(self, x):
        return self.out(self.features(x).mean((2, 3))) * self.calls


@pytest.mark.parametrize("compile", [torch.jit.script, lambda net: torch.jit.trace(net, torch.ones(2, 1, 5, 5))])
def test_a_frozen_module_has_constants_and_no_parameters(compile):
    torch.manual_seed(0)
    net = Net()
    net.train()(torch.randn(8, 1, 5, 5))
    net.eval()
    x = torch.randn(2, 1, 5, 5)
    frozen = torch.jit.freeze(compile(net))
    assert list(frozen.parameters()) == [] and list(frozen.buffers()) == []
    assert "aten::batch_norm" not in kinds(frozen.graph) and frozen.graph.findNode("prim::GetAttr") is None
    assert torch.allclose(frozen(x), net(x), atol=1e-6)
    before = frozen(x)
    with torch.no_grad():
        net.out.bias.add_(1)
    assert torch.equal(frozen(x), before)


def test_preserved_attributes_stay_and_wrong_uses_are_named():
    net = torch.jit.script(Net().eval())
    frozen = torch.jit.freeze(net, preserved_attrs=["calls"], optimize_numerics=False)
    assert frozen.calls == 3 and "aten::batch_norm" in kinds(frozen.graph)
    frozen.calls = 0
    assert torch.equal(frozen(torch.ones(1, 1, 5, 5)), torch.zeros(1, 2))
    with pytest.raises(RuntimeError, match="training mode"):
        torch.jit.freeze(torch.jit.script(Net()))
    with pytest.raises(RuntimeError, match="expected a compiled module, got Net"):
        torch.jit.freeze(Net().eval())
    with pytest.raises(RuntimeError, match="no attribute 'nothing'"):
        torch.jit.freeze(net, preserved_attrs=["nothing"])


def test_inference_is_optimized_from_scripts():
    net = Net().eval()
    x = torch.randn(2, 1, 5, 5)
    assert torch.allclose(torch.jit.optimize_for_inference(torch.jit.script(net))(x), net(x), atol=1e-6)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.counts = torch.zeros(2)
        self.first = self.counts[:1]
        self.sizes = [1, 2]
        self.names = {"a": 1}
        self.seen = [torch.zeros(2)]

    def forward(self, x):
        self.first += x.sum()
        self.sizes.append(len(self.names))
        self.seen[0].add_(1)
        return self.counts.clone(), self.seen[0].sum(), len(self.sizes)


def test_what_a_program_writes_to_is_no_constant_nor_what_shares_its_memory():
    net = torch.jit.script(Counting().eval())
    frozen = torch.jit.freeze(net)
    assert not frozen._c.hasattr("names") and all(
        frozen._c.hasattr(name) for name in ("counts", "first", "sizes", "seen")
    )
    for turn in (1.0, 2.0):
        counts, seen, sizes = frozen(torch.ones(1))
        assert counts.tolist() == [turn, 0] and seen == 2 * turn and sizes == 2 + turn


class Parent(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = Child(), Child()

    def forward(self, x):
        return self.left(x) + self.right(x)


class Child(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain, self.table = 2, {"shift": [1, 2]}

    def forward(self, x):
        return x * self.gain + self.table["shift"][0]

    @torch.jit.export
    def doubled(self, x):
        return x * 2


def test_attributes_and_methods_of_children_are_preserved_by_their_paths():
    frozen = torch.jit.freeze(torch.jit.script(Parent().eval()), ["left.gain", "right.doubled"])
    assert frozen(torch.ones(1)).item() == 6 and frozen.right.doubled(torch.ones(1)).item() == 2
    frozen.left.gain = 10
    assert frozen(torch.ones(1)).item() == 14
    assert (
        frozen._c.left.hasattr("gain") and not frozen._c.left.hasattr("table") and not frozen._c.right.hasattr("gain")
    )
    with pytest.raises(RuntimeError, match=r"no attribute 'left.nothing'"):
        torch.jit.freeze(torch.jit.script(Parent().eval()), ["left.nothing"])


def test_a_module_that_gives_itself_away_cannot_be_frozen():
    class Same(nn.Module):
        def forward(self):
            return self

    with pytest.raises(RuntimeError, match="module that return itself"):
        torch.jit.freeze(torch.jit.script(Same().eval()))


class Forking(nn.Module):
    """Forks methods of its own and of a child, one of which writes to a buffer."""

    def __init__(self, writes=False):
        super().__init__()
        self.w, self.layer, self.writes = nn.Parameter(torch.randn(3)), nn.Linear(3, 3), writes
        self.register_buffer("seen", torch.zeros(()))

    def slow(self, x):
        if self.writes:
            self.seen.add_(1)
        other = torch.jit.fork(self.layer, x)
        return torch.jit.wait(other) * self.w

    def forward(self, x):
        a, b = torch.jit.fork(self.slow, x), torch.jit.fork(self.layer, x)
        return torch.jit.wait(a) + torch.jit.wait(b) + self.seen


@pytest.mark.parametrize("writes", [False, True])
def test_a_module_that_forks_its_own_methods_is_frozen(writes):
    net, x = Forking(writes).eval(), torch.randn(2, 3)
    frozen = torch.jit.freeze(torch.jit.script(copy.deepcopy(net)))
    assert torch.equal(frozen(x), net(x)) and list(frozen.parameters()) == []
    assert frozen._c.hasattr("seen") is writes
    if writes:
        assert torch.equal(frozen(x), net(x)) and frozen.seen.item() == 2


def test_constants_of_unequal_shapes_in_branches_are_saved():
    class Chooses(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Parameter(torch.ones(1, 1)), nn.Parameter(torch.ones(1, 2))

        def forward(self, first: bool):
            if first:
                x = self.a * 2
                return x, [x]
            x = self.b * 3
            return x, [x]

    file = io.BytesIO()
    torch.jit.save(torch.jit.freeze(torch.jit.script(Chooses().eval())), file)
    loaded = torch.jit.load(io.BytesIO(file.getvalue()))
    assert torch.equal(loaded(True)[0], torch.full((1, 1), 2.0)) and torch.equal(
        loaded(False)[1][0], torch.full((1, 2), 3.0)
    )
