"""Traces that libraries write themselves, with the names of ``torch.fx._symbolic_trace`` that they take for it."""

import functools
import math

import torch
from torch import nn
from torch.fx import Graph, GraphModule
from torch.fx import _symbolic_trace as st


class Whole(torch.fx.Tracer):
    """A tracer with a ``trace`` of its own, in which all layers are leaves."""

    def is_leaf_module(self, m, module_qualified_name):
        return True

    def trace(self, root, concrete_args=None):
        self.root = root
        function = type(root).forward
        assert isinstance(function, st.FunctionType) and not any(
            isinstance(value, st.ScriptObject) for value in vars(root).values()
        )
        self.submodule_paths = {module: name for name, module in root.named_modules()}
        self.graph, self.tensor_attrs = Graph(tracer_cls=type(self)), {}
        call, args = self.create_args_for_root(function, True, concrete_args)

        @functools.wraps(st._orig_module_getattr)
        def getattr_of(module, name):
            self.asked.append(name)
            return st._orig_module_getattr(module, name)

        @functools.wraps(st._orig_module_call)
        def call_of(module, *args, **kwargs):
            return self.call_module(module, lambda *a, **k: st._orig_module_call(module, *a, **k), args, kwargs)

        with st._Patcher() as patcher:
            patcher.patch_method(nn.Module, "__getattr__", getattr_of, deduplicate=False)
            patcher.patch_method(nn.Module, "__call__", call_of, deduplicate=False)
            st._patch_wrapped_functions(patcher)
            st._autowrap_check(patcher, function.__globals__, self._autowrap_function_ids)
            for module in self._autowrap_search:
                st._autowrap_check(patcher, vars(module), self._autowrap_function_ids)
            self.create_node("output", "output", (self.create_arg(call(*args)),), {})
        return self.graph


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return torch.relu(self.layer(x)).sum() * math.sqrt(x.numel())


def test_a_trace_of_a_librarys_own_records_layers_and_functions():
    net, tracer = Net(), Whole()
    tracer.asked = []
    graph = tracer.trace(net)
    assert [node.op for node in graph.nodes if node.op == "call_module"] == ["call_module"] and "layer" in tracer.asked
    targets = [node.target for node in graph.nodes]
    assert torch.relu in targets and math.sqrt in targets  # not numbers of the trace
    made, x = GraphModule(net, graph), torch.randn(2, 3)
    torch.testing.assert_close(made(x), net(x))


def test_what_a_trace_of_a_librarys_own_replaced_is_as_it_was():
    before, tracer = (nn.Module.__call__, nn.Module.__getattr__, math.sqrt, torch.relu), Whole()
    tracer.asked = []
    tracer.trace(Net())
    assert (nn.Module.__call__, nn.Module.__getattr__, math.sqrt, torch.relu) == before
    assert "__getattr__" not in vars(nn.Module)
    count = len(tracer.asked)
    assert Net().layer(torch.ones(3)).shape == (3,) and len(tracer.asked) == count


def test_a_method_is_patched_once_unless_it_says_otherwise():
    class Says:
        def word(self):
            return "own"

    with st._Patcher() as patcher:
        patcher.patch_method(Says, "word", lambda self: "first", deduplicate=False)
        patcher.patch_method(Says, "word", lambda self: "second")
        assert Says().word() == "second"
        patcher.patch_method(Says, "word", lambda self: "third")
        assert Says().word() == "second"
    assert Says().word() == "own"
