"""``inlined_graph``: calls of operators as PyTorch's graphs have them, for converters that look at names and numbers of arguments."""

import pytest
import torch
from torch import nn

X = torch.arange(1.0, 7.0).reshape(2, 3)
TO, LIKE = "aten::to(Tensor,Int,Bool,Bool,None)", "(Tensor,None,None,None,Bool,None)"
#: what PyTorch 2.13 writes (numbers that are operands are tensors there)
FORMS = {
    "aten::div(Tensor,Tensor)": lambda x: x / x,
    "aten::div(Tensor,Int)": lambda x: torch.true_divide(x, 2),
    "aten::reciprocal(Tensor) aten::mul(Tensor,Int)": lambda x: 1 / x,
    "aten::rsub(Tensor,Int,Int)": lambda x: 1 - x,
    TO: lambda x: x.double(),
    "aten::to(Tensor,DeviceObj,Int,Bool,Bool,None)": lambda x: x.to("cpu", torch.float64),
    "aten::zeros(List,None,None,DeviceObj,Bool) aten::add(Tensor,Tensor,Int)": lambda x: torch.zeros(2, 3) + x,
    "aten::ones(List,Int,None,DeviceObj,Bool) aten::mul(Tensor,Tensor)": lambda x: torch.ones(2, 3, dtype=torch.float64) * x,
    "aten::full(List,Float,None,None,DeviceObj,Bool) aten::add(Tensor,Tensor,Int)": lambda x: torch.full((2, 3), 1.5) + x,
    "aten::arange(Int,None,None,DeviceObj,Bool) aten::add(Tensor,Tensor,Int)": lambda x: torch.arange(3) + x,
    "aten::arange(Int,Int,Int,None,None,DeviceObj,Bool) aten::add(Tensor,Tensor,Int)": lambda x: torch.arange(1, 4, 1) + x,
    "aten::linspace(Int,Int,Int,None,None,DeviceObj,Bool) aten::add(Tensor,Tensor,Int)": lambda x: torch.linspace(0, 1, 3) + x,
    "aten::eye(Int,None,None,DeviceObj,Bool) aten::matmul(Tensor,Tensor)": lambda x: torch.eye(2) @ x,
    "aten::empty(List,None,None,DeviceObj,Bool,None) aten::mul(Tensor,Tensor)": lambda x: torch.empty(2, 3) * x,
    "aten::randn(List,None,None,DeviceObj,Bool) aten::mul(Tensor,Tensor)": lambda x: torch.randn(2, 3) * x,
    f"aten::zeros_like{LIKE} aten::add(Tensor,Tensor,Int)": lambda x: torch.zeros_like(x) + x,
    f"aten::rand_like{LIKE} aten::mul(Tensor,Tensor)": lambda x: torch.rand_like(x) * x,
    "aten::full_like(Tensor,Int,None,None,None,Bool,None) aten::add(Tensor,Tensor,Int)": lambda x: torch.full_like(x, 2) + x,
    "aten::new_zeros(Tensor,List,None,None,None,Bool) aten::add(Tensor,Tensor,Int)": lambda x: x.new_zeros(2, 3) + x,
    "aten::new_full(Tensor,List,Int,None,None,None,Bool) aten::add(Tensor,Tensor,Int)": lambda x: x.new_full((2, 3), 2) + x,
    "aten::std(Tensor,List,Bool,Bool)": lambda x: x.std(1),
    "aten::numpy_T(Tensor)": lambda x: x.T,
    "aten::unsqueeze(Tensor,Int) aten::squeeze(Tensor,Int)": lambda x: x.unsqueeze(0).squeeze(0),
    "aten::slice(Tensor,Int,Int,Int,Int)": lambda x: x[:1],
    "aten::sort(Tensor,Int,Bool)": lambda x: x.sort()[0],
    "aten::round(Tensor)": lambda x: x.round(),
    "aten::gt(Tensor,Int) aten::any(Tensor)": lambda x: (x > 2).any(),
    "aten::gt(Tensor,Int) aten::all(Tensor,Int,Bool)": lambda x: (x > 2).all(1),
    "aten::prod(Tensor,None)": lambda x: x.prod(),
    "aten::linalg_vector_norm(Tensor,Int,List,Bool,None)": lambda x: torch.linalg.vector_norm(x, dim=1),
}  # fmt: skip


def calls(graph):
    operators = [n for n in graph.nodes() if n.kind().startswith("aten::")]
    return " ".join(
        f"{n.kind()}({','.join(v.type().kind().replace('Type', '') for v in n.inputs())})" for n in operators
    )


@pytest.mark.parametrize("form", FORMS)
def test_calls_are_written_as_pytorch_writes_them(form):
    traced = torch.jit.trace(FORMS[form], (X,), check_trace=False)
    before = calls(traced.graph)
    graph = traced.inlined_graph
    graph.lint()
    assert calls(graph) == form
    assert calls(traced.graph) == before, "the program that runs stays as it is"


def test_modules_and_scripts_show_the_same_and_run_by_their_own_graphs():
    class Halved(nn.Module):
        def forward(self, x):
            return (x / 2).to(torch.float64) + torch.zeros(3)

    for made in (torch.jit.trace(Halved(), (X,)), torch.jit.script(Halved())):
        kinds = [n.kind() for n in made.inlined_graph.nodes() if n.kind().startswith("aten::")]
        assert kinds == ["aten::div", "aten::to", "aten::zeros", "aten::add"]
        assert torch.equal(made(X), Halved()(X))
        frozen = torch.jit.freeze(made.eval())
        assert torch.equal(frozen(X), Halved()(X))


def test_what_is_no_constant_keeps_its_form():
    graph = torch._C.parse_ir(
        "graph(%x : Tensor, %d : int, %s : bool):\n  %a : bool = prim::Constant[value=0]()\n"
        "  %l : int[] = prim::ListConstruct(%d)\n  %y : Tensor = aten::squeeze(%x, %l)\n"
        "  %v : Tensor, %i : Tensor = aten::sort(%y, %d, %a, %s)\n  return (%v)"
    )
    from torch.jit._forms import in_pytorchs_form

    assert calls(in_pytorchs_form(graph)) == "aten::squeeze(Tensor,List) aten::sort(Tensor,Int,Bool,Bool)"


def test_branches_within_are_written_so_too():
    @torch.jit.script
    def f(x, up: bool):
        if up:
            x = x / 3
        return x

    branch = f.inlined_graph.findNode("prim::If")
    assert [n.kind() for block in branch.blocks() for n in block.nodes() if "div" in n.kind()] == ["aten::div"]
    assert torch.equal(f(X, True), X / 3)
