"""Programs that write to parts of tensors, fill lists, print and raise; and modules whose Python follows values, as traces."""

import numpy
import pytest
import torch
from agreement import agree, run
from torch import nn
from torch.onnx.errors import SymbolicValueError
from written_programs import Buffer, Checks, Fills, FillsAndChanges, InABranch, Places, Rows, Slices, Views

X, MORE = torch.rand(2, 3) + 0.1, torch.rand(5, 3)
AXES = {"input_names": ["x"], "dynamic_axes": {"x": {0: "n"}}}


def compared(compiled, module, others, **options):
    proto = torch.onnx.export(compiled, (X,), **options).model_proto
    for x in (X, *others):
        wanted = module(x)
        for found, each in zip(run(proto, x), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            numpy.testing.assert_allclose(found, torch.as_tensor(each).detach().numpy(), rtol=1e-5, atol=1e-5)
    return [node.op_type for node in proto.graph.node]


@pytest.mark.parametrize(
    "module", [Slices(), Views(), Places(), Rows(), Buffer(), Fills(), FillsAndChanges(), Checks()]
)
@pytest.mark.parametrize(
    "compiled", [torch.jit.script, lambda m: torch.jit.trace(m, X, check_trace=False, strict=False)]
)
def test_a_script_and_a_trace_that_write(compiled, module):
    compared(compiled(module), module, [torch.rand(2, 3)])


@pytest.mark.parametrize("module", [Slices(), Views(), Places(), Fills(), FillsAndChanges(), Checks()])
def test_a_script_that_writes_for_any_number_of_rows(module):
    compared(torch.jit.script(module), module, [MORE], **AXES)


def test_a_write_in_a_branch():
    compared(torch.jit.script(InABranch()), InABranch(), [-X])


def test_a_list_that_a_loop_fills_comes_from_the_loop():
    proto = torch.onnx.export(torch.jit.script(Fills()), (X,), **AXES).model_proto
    (loop,) = [node for node in proto.graph.node if node.op_type == "Loop"]
    assert len(loop.output) == 2  # the state, and the rows


class Parts(nn.Module):
    def forward(self, x):
        one, two = x.clone().chunk(2, 1)
        one.add_(1)
        return two


class Outer(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        for i in range(x.size(0)):
            y[i] = x[i]
        return y


class Read(nn.Module):
    def forward(self, x):
        found = [x.sum()]
        found.clear()
        for i in range(x.size(0)):
            found.append(x[i].sum())
        return found[1:][0]


class Raises(nn.Module):
    def forward(self, x):
        if x.dim() == 2:
            raise ValueError("not these")
        return x


@pytest.mark.parametrize(
    ("module", "text", "options"),
    [
        (Parts(), "a tensor that others share .chunk, split, unbind.", {}),
        (Outer(), "a tensor of the outside in a branch or loop", AXES),
        (Read(), "a list that a loop has filled cannot be written", AXES),
        (Raises(), "the program raises for the example: not these", {}),
    ],
)
def test_what_cannot_be_written_is_told_with_its_line(module, text, options):
    with pytest.raises(SymbolicValueError, match=rf"test_written_programs.py:\d+.*{text}"):
        torch.onnx.export(torch.jit.script(module), (torch.rand(2, 4),), **options)


# --- modules of Python, as PyTorch's exporter of traces writes them ---


class Follows(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x, options=None, deterministic: bool = False):
        if x.sum() > 0 and deterministic:
            return {"a": self.one(x), "b": (x + options["shift"],)}
        return self.two(x)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.log_std, self.value = nn.Linear(3, 2), nn.Parameter(torch.zeros(2)), nn.Linear(3, 4)

    def forward(self, x):
        mean, scale, logits = self.net(x), self.log_std.exp(), self.value(x)
        if not (scale > 0).all() or not torch.isfinite(mean).all():  # as torch.distributions looks at its arguments
            raise ValueError("not a distribution")
        logits = logits - logits.logsumexp(-1, keepdim=True)
        action = logits.softmax(-1).argmax(1)
        wide, chosen = torch.broadcast_tensors(logits, action.unsqueeze(-1))
        density = -((mean - 1) ** 2) / (2 * scale**2) - scale.log()
        return mean, density.sum(1), action, wide.gather(-1, chosen[..., :1]).squeeze(-1)


def traced(model, args, **options):
    with pytest.warns(torch.jit.TracerWarning, match="holds what the program did for this example"):
        return torch.onnx.export(model, args, dynamo=False, **options).model_proto


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_a_policy_that_checks_values_is_a_trace_for_any_number_of_rows():
    agree(Policy(), X, others=[(MORE,)], dynamo=False, **AXES)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_a_module_that_follows_values_is_written_as_it_went_for_the_example():
    model = Follows().eval()
    args = (X, {"shift": torch.ones(3)}, True)
    proto = traced(model, args, input_names=["x", "shift"], output_names=["a", "b"], dynamic_axes={"x": {0: "n"}})
    assert [i.name for i in proto.graph.input] == ["x", "shift"]
    assert {i.name for i in proto.graph.initializer} == {"one.weight", "one.bias"}
    for x in (X, MORE, -MORE):
        found = run(proto, x, torch.ones(3))
        numpy.testing.assert_allclose(found[0], model.one(x).detach().numpy(), rtol=1e-5, atol=1e-5)
        numpy.testing.assert_allclose(found[1], (x + 1).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_arguments_by_name_are_those_of_a_trace_too():
    model = Follows().eval()
    proto = traced(model, (X,), kwargs={"deterministic": True, "options": {"shift": torch.ones(3)}})
    numpy.testing.assert_allclose(run(proto, X, torch.ones(3))[0], model.one(X).detach().numpy(), rtol=1e-5, atol=1e-5)


def test_the_exporter_of_programs_refuses_what_follows_values():
    with pytest.raises(RuntimeError, match="asks whether a tensor is true"):
        torch.onnx.export(Follows(), (X, {"shift": torch.ones(3)}, True))
