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
