"""Graphs of a function and of its derivative, for compilers of one's own."""

import pytest
import torch
from functorch.compile import aot_function, aot_module, make_boxed_compiler, make_boxed_func, nop
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import aot_module_simplified
from torch._functorch.partitioners import default_partition


class Kept:
    """A compiler that keeps what it is given."""

    def __init__(self):
        self.modules, self.inputs = [], []

    def __call__(self, module, inputs):
        self.modules.append(module)
        self.inputs.append(inputs)
        return make_boxed_func(module.forward)

    def targets(self, i=0):
        return [str(n.target) for n in self.modules[i].graph.nodes if n.op == "call_function"]


def test_a_backend_gets_forward_and_backward_in_overloads_of_aten():
    forward, backward = Kept(), Kept()
    f = torch.compile(lambda x: (x * x).sum(), backend=aot_autograd(fw_compiler=forward, bw_compiler=backward))
    x = torch.randn(2, 3, requires_grad=True)
    for times in (1, 2):
        f(x).backward()
        assert torch.equal(x.grad, 2 * x * times)
    assert forward.targets() == ["aten.mul.Tensor", "aten.sum.default"] and len(forward.modules) == 1
    assert "aten.expand.default" in backward.targets() and len(backward.modules) == 1
    names = [[n.name for n in each.modules[0].graph.nodes if n.op == "placeholder"] for each in (forward, backward)]
    assert names == [["primals_1"], ["primals_1", "tangents_1"]]
    assert [tuple(t.shape) for t in backward.inputs[0]] == [(2, 3), ()]


def test_without_gradients_there_is_one_graph():
    inference, backward = Kept(), Kept()
    module = nn.Linear(2, 2)
    run = aot_module_simplified(module, (torch.ones(1, 2),), inference, backward)
    with torch.no_grad():
        alone = aot_module_simplified(module, (torch.ones(1, 2),), backward, inference_compiler=inference)
    assert len(inference.modules) == 2 and len(backward.modules) == 1
    x = torch.randn(1, 2)
    with torch.no_grad():
        assert torch.equal(alone(x), module(x)) and len(inference.modules) == 2
    assert torch.equal(run(x), module(x)) and run(x).requires_grad


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Dropout(0.5))
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x, target):
        y = self.layers(x) * self.scale
        return {"loss": nn.functional.mse_loss(y, target), "y": y.detach(), "n": 3, "none": None}


@pytest.mark.parametrize("compile", [False, True])
def test_a_module_trains_as_it_does_by_itself(compile):
    torch.manual_seed(0)
    plain, other = Net().double(), Net().double()
    other.load_state_dict(plain.state_dict())
    x, target = torch.randn(5, 4, dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)
    if compile:
        called = torch.compile(other, backend=aot_autograd(fw_compiler=make_boxed_compiler(nop)))
    else:
        called = aot_module_simplified(other, (x, target), nop, nop)
    for step in range(3):
        for module, run in ((plain, plain), (other, called)):
            torch.manual_seed(step)
            out = run(x, target)
            module.zero_grad()
            out["loss"].backward()
            assert out["n"] == 3 and out["none"] is None and not out["y"].requires_grad
            with torch.no_grad():
                for p in module.parameters():
                    p.sub_(p.grad, alpha=0.1)
    for (name, a), b in zip(plain.state_dict().items(), other.state_dict().values()):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12, msg=name)


def _placed(x):
    y = x.new_zeros(3, 8)
    y[:, 1:] = x
    return y


def _changed(x):
    y = x.clone()
    y[0] = 0
    y[1].mul_(3)
    return y.mul_(2)


@pytest.mark.parametrize("function", [_placed, _changed])
def test_memory_that_a_backward_pass_writes_to_is_new_in_each(function):
    compiled = aot_function(function, fw_compiler=nop, bw_compiler=nop)
    x = torch.randn(3, 7, requires_grad=True)
    y = compiled(x)
    for _ in range(2):
        factor = torch.randn(y.shape)
        (found,) = torch.autograd.grad(y, x, factor, retain_graph=True)
        (wanted,) = torch.autograd.grad(function(x), x, factor)
        assert torch.equal(found, wanted)


def test_compiling_changes_neither_arguments_nor_random_numbers():
    module, x = nn.BatchNorm1d(3), torch.randn(4, 3)
    before, state = module.running_mean.clone(), torch.get_rng_state()
    aot_module_simplified(nn.Sequential(module, nn.Dropout()), (x,), nop)
    assert torch.equal(module.running_mean, before) and module.num_batches_tracked == 0
    assert torch.equal(torch.get_rng_state(), state)


def test_functions_take_and_give_trees_and_gradients_that_are_not_there():
    graphs = Kept()
    f = aot_function(lambda a, b, k=1: (a["x"].sin() * k, [b * 1]), graphs)
    a, b = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    out, (same,) = f({"x": a}, b, k=2)
    out.sum().backward()
    torch.testing.assert_close(a.grad, 2 * a.detach().cos())
    assert torch.equal(b.grad, torch.zeros(3)) and torch.equal(same, b) and len(graphs.modules) == 2
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(torch.autograd.grad(f({"x": a}, b, k=2)[0].sum(), a, create_graph=True)[0].sum(), a)


def test_other_sizes_numbers_and_trees_are_compiled_for_themselves():
    graphs = Kept()
    f = aot_function(lambda x, k=1: x.reshape(-1, x.shape[-1]).sum(0) * k, graphs)
    for args in (
        (torch.ones(2, 3),),
        (torch.ones(4, 3),),
        (torch.ones(4, 3), 5),
        (torch.ones(4, 3), 6),
        (torch.ones(2, 3),),
    ):
        k = args[1] if len(args) > 1 else 1
        assert torch.equal(f(*args), args[0].sum(0) * k)
    assert len(graphs.modules) == 4
    run = torch.compile(lambda x: x.reshape(-1) * 2, backend=aot_autograd(fw_compiler=nop), dynamic=True)
    for n in (2, 3, 5):
        assert torch.equal(run(torch.ones(n, 2)), torch.full((2 * n,), 2.0))


def test_a_module_keeps_its_parameters():
    plain = nn.Linear(2, 1)
    made = aot_module(plain, nop)
    made(torch.ones(1, 2)).sum().backward()
    assert {id(p) for p in made.parameters()} == {id(p) for p in plain.parameters()}
    assert torch.equal(plain.weight.grad, torch.ones(1, 2))


def test_a_partition_of_ones_own_sees_the_joint_graph():
    seen = []

    def partition(joint, inputs, *, num_fwd_outputs):
        seen.append(([n.name for n in joint.graph.nodes if n.op == "placeholder"], num_fwd_outputs))
        return default_partition(joint, inputs, num_fwd_outputs=num_fwd_outputs)

    x = torch.ones(2, requires_grad=True)
    aot_function(lambda x, y: (x.exp(), y + 1), nop, partition_fn=partition)(x, torch.ones(2))[0].sum().backward()
    assert seen == [(["primals_1", "primals_2", "tangents_1"], 2)]
    torch.testing.assert_close(x.grad, x.detach().exp())


def test_backends_that_help_to_find_faults_are_listed_when_asked_for():
    assert "eager" not in torch.compiler.list_backends() and "aot_eager" in torch._dynamo.list_backends(None)
