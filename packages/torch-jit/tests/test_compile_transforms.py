"""Transforms of functions, casts, hooks and graphs within compiled and traced functions."""

import pytest
import torch
from compiling import programs_run  # noqa: F401  (a fixture of every test)
from torch import _pytree, nn

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
net = nn.Linear(2, 2)
PARAMETERS = dict(net.named_parameters())


def loss(parameters, row):
    return torch.func.functional_call(net, parameters, (row.unsqueeze(0),)).square().sum()


TRANSFORMED = {
    "vmap": lambda x: torch.vmap(lambda row: row.sum() * row.softmax(0))(x),
    "vmap_of_a_part": lambda x: torch.vmap(torch.dot, in_dims=(0, None))(x, x[0]),
    "vmap_within_vmap": lambda x: torch.vmap(torch.vmap(lambda a, b: a * b, (0, None)), (None, 0))(x[0], x[1]),
    "vmap_in_chunks": lambda x: torch.vmap(lambda row: row.cumsum(0), chunk_size=1)(x),
    "grad": lambda x: torch.func.grad(lambda a: (a**3).sum())(x),
    "second_derivative": lambda x: torch.func.grad(torch.func.grad(lambda a: a**3))(x[0, 1]),
    "value_beside_it": lambda x: torch.func.grad_and_value(lambda a, b: ((a * b).sum(), a), 1, has_aux=True)(x, x + 1),
    "vjp": lambda x: torch.func.vjp(torch.exp, x)[1](x),
    "jvp": lambda x: torch.func.jvp(lambda a: a.sin() * a, (x,), (x + 1,)),
    "jvp_of_one": lambda x: torch.func.jvp(torch.exp, (x,), (x + 1,)),
    "jvp_of_softmax": lambda x: torch.func.jvp(lambda a: a.softmax(-1), (x,), (x + 1,)),
    "jacobians": lambda x: (torch.func.jacrev(torch.tanh)(x[0]), torch.func.jacfwd(torch.tanh)(x[0])),
    "hessian": lambda x: torch.func.hessian(lambda a: (a**3).prod())(x[1]),
    "linearize": lambda x: torch.func.linearize(torch.cos, x)[1](x),
    "gradients_of_examples": lambda x: torch.vmap(torch.func.grad(loss), (None, 0))(PARAMETERS, x),
}


def leaves(value):
    return _pytree.tree_leaves(value)


@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_transform_is_captured_and_computes_what_it_computes_eagerly(name):
    function = TRANSFORMED[name]
    compiled = torch.compile(function, fullgraph=True)
    for x in (X, X * 2 + 1, X.clone().requires_grad_()):
        for made, expected in zip(leaves(compiled(x)), leaves(function(x)), strict=True):
            torch.testing.assert_close(made, expected)
            assert made.requires_grad == expected.requires_grad
    assert compiled._compiled.reason is None


@pytest.mark.parametrize("name", [name for name in TRANSFORMED if name != "gradients_of_examples"])
def test_a_trace_of_a_transform_holds_for_other_values(name):
    function = TRANSFORMED[name]
    traced = torch.jit.trace(lambda x: tuple(leaves(function(x))), X, check_trace=False)
    for made, expected in zip(traced(X * 2 + 1), leaves(function(X * 2 + 1)), strict=True):
        torch.testing.assert_close(made, expected)


def test_a_transform_that_cannot_be_captured_leaves_the_thread_as_it_was():
    @torch.compile
    def f(x):
        return torch.vmap(lambda row: row * int(torch.ones(1).item()))(x)

    assert f(X).tolist() == X.tolist()
    g = torch.compile(lambda x: x.numpy(), fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported):  # it is looked at, as everything that this thread calls
        g(X)


def test_a_compiled_function_runs_as_it_was_written_within_a_transform():
    f = lambda a, b: (a @ b).tanh().sum()
    compiled, row = torch.compile(f, fullgraph=True), X[0]
    for _ in range(2):
        for g, h in ((compiled, f), (torch.compile(f, fullgraph=True), f)):
            assert torch.equal(torch.vmap(g, (0, None))(X, row), torch.vmap(h, (0, None))(X, row))
            per_row = [torch.vmap(torch.func.grad(each), (0, None))(X, row) for each in (g, h)]
            assert torch.equal(*per_row)
            tangents = [torch.func.jvp(lambda a, f=each: f(a, row), (row,), (row + 1,)) for each in (g, h)]
            assert all(map(torch.allclose, *tangents))
            assert torch.allclose(torch.func.hessian(g)(row, row), torch.func.hessian(h)(row, row))
        assert torch.equal(compiled(row, row), f(row, row))


def test_gradients_go_through_a_transform_that_was_captured():
    function = TRANSFORMED["grad"]
    x = X.clone().requires_grad_()
    torch.compile(function, fullgraph=True)(x).sum().backward()
    torch.testing.assert_close(x.grad, 6 * X)


def test_functional_call_reads_the_tensors_it_is_given_at_each_call():
    @torch.compile(fullgraph=True)
    def f(parameters, x):
        return torch.func.functional_call(net, parameters, (x,))

    for scale in (1.0, 2.0, 3.0):
        given = {name: p.detach() * scale for name, p in net.named_parameters()}
        torch.testing.assert_close(f(given, X), net(X).detach() * scale)
    torch.testing.assert_close(net(X), X @ net.weight.T + net.bias)


def test_tied_tensors_are_replaced_together():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2, bias=False)
            self.b = nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    tied = Tied()
    f = torch.compile(lambda w, x: torch.func.functional_call(tied, {"a.weight": w}, (x,)), fullgraph=True)
    for scale in (1.0, 2.0):
        torch.testing.assert_close(f(torch.eye(2) * scale, X), X * scale**2)


CAST = {
    "linear": (nn.Linear(4, 4), (3, 4)),
    "convolution": (nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()), (1, 1, 5, 5)),
    "attention": (nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (2, 3, 4)),
    "normalised": (nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4), nn.Softmax(-1)), (3, 4)),
    "weight_used_twice": (nn.Sequential(*[nn.Linear(4, 4)] * 2), (3, 4)),
}


class Cast(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.module(x)
            with torch.autocast("cpu", enabled=False):
                z = x @ x.transpose(-1, -2)
        return y, z


@pytest.mark.parametrize("name", CAST)
def test_casts_of_autocast_are_part_of_what_is_recorded(name):
    module, shape = CAST[name]
    f = Cast(module).eval()
    examples = [torch.randn(shape) for _ in range(2)]
    compiled, traced = torch.compile(f, fullgraph=True), torch.jit.trace(f, (examples[0],), check_trace=False)
    for x in (*examples, *examples):
        for made in (compiled(x), traced(x)):
            for a, b in zip(made, f(x), strict=True):
                assert a.dtype == b.dtype
                torch.testing.assert_close(a, b)


def test_a_region_without_casts_stays_one_where_the_program_runs_in_another():
    def f(x):
        with torch.autocast("cpu", enabled=False):
            return x @ x

    compiled = torch.compile(f, fullgraph=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert [compiled(X).dtype for _ in range(3)] == [torch.float32] * 3


def test_a_weight_that_changes_is_cast_anew():
    module = nn.Linear(2, 2, bias=False)

    @torch.compile(fullgraph=True)
    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return module(x)

    for scale in (1.0, 2.0, 3.0):
        with torch.no_grad():
            module.weight.copy_(torch.eye(2) * scale)
        torch.testing.assert_close(f(X), (X * scale).bfloat16())


def test_hooks_around_forward_are_captured_and_guarded():
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda module, args, kwargs, output: output * 2 + args[0], with_kwargs=True)
    handle = layer.register_forward_pre_hook(lambda module, args: args[0] * 3)
    compiled = torch.compile(layer, fullgraph=True)
    for _ in range(2):
        torch.testing.assert_close(compiled(X), layer(X))
    handle.remove()
    torch.testing.assert_close(compiled(X), layer(X))
    layer.register_full_backward_hook(lambda *_: None)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="hooks"):
        compiled(X)


def test_a_graph_module_is_captured_by_its_nodes_and_may_change():
    graph = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    outer = nn.Sequential(graph, nn.Tanh())
    compiled = torch.compile(outer, fullgraph=True)
    torch.testing.assert_close(compiled(X), outer(X))
    for node in graph.graph.nodes:
        if node.op == "output":
            with graph.graph.inserting_before(node):
                node.args = (graph.graph.call_method("neg", (node.args[0],)),)
    graph.recompile()
    torch.testing.assert_close(compiled(X), outer(X))


def test_a_checkpoint_is_captured_as_what_it_calls():
    checkpoint = pytest.importorskip("torch.utils.checkpoint").checkpoint
    layer = nn.Linear(2, 2)
    compiled = torch.compile(lambda x: checkpoint(layer, x, use_reentrant=False).sum(), fullgraph=True)
    compiled(X).backward()
    torch.testing.assert_close(layer.weight.grad, X.sum(0).expand(2, 2))
