"""Graphs of modules with their tensors as inputs, nodes copied between graphs, and compiled modules without a method."""

import io

import pytest
import torch
from torch import Tensor, nn
from torch.jit import _state


def loaded(module):
    out = io.BytesIO()
    torch.jit.save(module, out)
    out.seek(0)
    return torch.jit.load(out)


def test_the_graph_of_a_trace_takes_the_parameters_after_the_arguments():
    net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)).eval()
    x = torch.randn(1, 2, 5, 5)
    graph, out, inputs = torch.jit._get_trace_graph(net, x, return_inputs=True)
    held = [*net.parameters(), net[1].running_mean, net[1].running_var]
    assert len(list(graph.inputs())) == len(inputs) == 7 and {id(t) for t in inputs[1:]} == {id(t) for t in held}
    assert torch.equal(torch._C._create_function_from_graph("net", graph)(*inputs), out)


def test_a_parameter_that_is_used_twice_is_one_input():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = self.b = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x * self.a + self.b

    graph, _ = torch.jit._get_trace_graph(Shared(), torch.ones(2))
    assert len(list(graph.inputs())) == 2


def test_a_graph_is_copied_node_by_node():
    graph = torch._C.parse_ir("graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)")
    other, of = torch._C.Graph(), {}
    for value in graph.inputs():
        of[value] = other.addInput()
    for node in graph.nodes():
        made = other.appendNode(other.createClone(node, lambda v: of[v]))
        of.update(zip(node.outputs(), made.outputs(), strict=True))
    for value in graph.outputs():
        other.registerOutput(of[value])
    other.lint()
    assert torch._C._jit_interpret_graph(other, (torch.tensor([-1.0, 2.0]),)).tolist() == [0, 2]


def test_a_module_of_2018_without_a_marked_method_is_saved():
    class Weights(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor([0.3]))
            self.register_buffer("b", torch.tensor([0.9]))

    module = Weights()
    again = loaded(module)
    assert [t.item() for t in (*again.parameters(), *again.buffers())] == [t.item() for t in (module.w, module.b)]


def test_a_choice_of_any_type_is_saved():
    class Choice(nn.Module):
        def forward(self) -> "Any":  # noqa: F821
            return "out" if self.training else {"a": torch.ones(1)}

    net = loaded(torch.jit.script(Choice()))
    assert net() == "out" and net.eval()() == {"a": torch.ones(1)}


def test_nothing_is_compiled_while_it_is_disabled():
    def f(x: Tensor):
        return x + 1

    _state.disable()
    try:
        assert torch.jit.trace(f, torch.ones(1)) is f and torch.jit.script(f) is f
    finally:
        _state.enable()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(x):\n    return torch.sum(foo=4)", "Argument self not provided"),
        ("def f(x):\n    return torch.sum(x, self=x)", "argument self specified twice"),
        ("def f(x):\n    return torch.cat(x)", "'List[Tensor]' for argument 'tensors' but instead found type 'Tensor'"),
        (
            "def f(x):\n    for i in range():\n        x = x + 1\n    return x",
            "range expected at least 1 arguments, got 0",
        ),
        ("def f(x):\n    for i in range(.5):\n        x = x + 1\n    return x", "found float in argument 0"),
        ("def f(x):\n    a, b = x, x, x\n    return a", "too many values to unpack: need 2 but found 3"),
        ("def f(x):\n    a, b, c = x, x\n    return a", "need 3 values to unpack but found only 2"),
        ("def f(x: int):\n    for i in x:\n        x = x + 1\n    return x", "'int' object is not iterable"),
        ("def f(x: int):\n    return x.foo()", "'int' object has no attribute or method 'foo'"),
        ("def f() -> Tuple[int, int]:\n    return 1.0, 1", "but is actually of type Tuple[float, int]"),
        ("def g(x, n: int):\n    return x\ndef f(x):\n    return g(x)", "Argument n not provided"),
        ("def g(x):\n    return x\ndef f(x):\n    return g(x, x)", "Expected at most 1 arguments but found 2"),
    ],
)
def test_errors_use_the_words_of_the_field(text, words):
    with pytest.raises(RuntimeError) as caught:
        torch.jit.CompilationUnit(text)
    assert words in str(caught.value) and "~ <--- HERE" in str(caught.value)
