import pytest
import torch


def test_traces_of_2018():
    graph, out = torch.jit.get_trace_graph(lambda x: 2 * x, torch.ones(2))
    assert "mul" in str(graph) and out.tolist() == [2.0, 2.0]
    with pytest.raises(NotImplementedError, match="derivatives are not part of the graph"):
        torch.jit.get_trace_graph(lambda x: 2 * x, torch.ones(2), nderivs=1)
    assert torch.jit.get_tracing_state(torch.ones(1)) is None


def test_verify_finds_what_a_trace_does_not_hold():
    torch.jit.verify(torch.nn.Linear(2, 3), torch.ones(1, 2))

    class Counts(torch.nn.Module):
        calls = 0

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            self.calls += 1
            return self.weight * x * self.calls

    with pytest.raises(AssertionError):
        torch.jit.verify(Counts(), torch.ones(2))


def test_names_of_the_insides():
    from torch.export._trace import _export
    from torch.export.decomp_utils import CustomDecompTable

    assert torch.jit._recursive.concrete_type_store.type_store == {}
    table = CustomDecompTable()
    table["a"] = len
    assert table.copy() == table == table.materialize() and type(table.copy()) is CustomDecompTable
    assert _export(torch.nn.ReLU(), (torch.ones(2),)).module()(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]


def test_weak_marks_leave_what_they_mark_and_scripts_call_it():
    @torch.jit.weak_script
    def double(x):
        return x * 2

    @torch.jit.weak_module
    class Layer(torch.nn.Module):
        @torch.jit.weak_script_method
        def forward(self, x):
            return double(x) + 1

    assert torch.jit.script(Layer())(torch.ones(1)).tolist() == [3]


def test_compile_of_0_4_marks_functions_and_classes():
    @torch.jit.compile(nderivs=1)
    def half(x):
        return x / 2

    x = torch.ones(2, requires_grad=True)
    half(x).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5]

    @torch.jit.compile
    class Net(torch.nn.Module):
        def forward(self, x):
            return x * 3

    assert Net()(torch.ones(2)).tolist() == [3, 3] and Net()(torch.ones(3)).tolist() == [3, 3, 3]
    assert torch.jit.compile(Net, enabled=False) is Net


def test_a_name_that_is_not_there_is_said_to_be_none():
    with pytest.raises(AttributeError, match="^module 'torch.jit' has no attribute 'nothing'$"):
        _ = torch.jit.nothing


def commented(x, y):
    # type: (Tensor, Optional[int]) -> Tuple[Tensor, List[int]]
    return x, [1]


def test_signatures_are_read_from_annotations_and_comments():
    from torch.jit.annotations import get_signature, parse_type_line

    assert str(get_signature(commented)) == "([Tensor, Optional[int]], Tuple[Tensor, List[int]])"
    assert get_signature(lambda x: x) is None
    assert str(parse_type_line("# type: () -> int")) == "([], int)"
    with pytest.raises(RuntimeError, match="Syntax error in type annotation"):
        parse_type_line("# type: int -> Tensor")
