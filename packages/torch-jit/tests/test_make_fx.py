"""make_fx: the operators that a call ran, as a graph."""

import copy
import dataclasses
import pickle

import pytest
import torch
from torch.fx.experimental.proxy_tensor import get_isolated_graphmodule, get_proxy_mode, make_fx
from torch.fx.passes.dialect.common.cse_pass import CSEPass

aten = torch.ops.aten


def targets(graph_module):
    return [str(n.target) for n in graph_module.graph.nodes if n.op == "call_function"]


def test_the_graph_names_overloads_and_computes_the_same():
    made = make_fx(lambda x: torch.sin(x).sum())(torch.ones(3))
    assert targets(made) == ["aten.sin.default", "aten.sum.default"]
    assert [n.name for n in made.graph.nodes] == ["x_1", "sin", "sum_1", "output"]
    assert made.graph.find_nodes(op="call_function", target=aten.sin.default)
    x = torch.tensor([0.5, 1.0, 2.0])
    assert torch.equal(made(x), x.sin().sum())


def test_a_backward_pass_is_recorded_with_the_forward_pass():
    def step(x):
        x = x.detach().requires_grad_()
        loss = (x.exp() * x).sum()
        (grad,) = torch.autograd.grad(loss, x)
        return {"x": x - 0.1 * grad, "loss": loss}

    made = make_fx(step)(torch.ones(2))
    x = torch.tensor([0.0, 2.0])
    assert torch.allclose(made(x)["x"], x - 0.1 * (x + 1) * x.exp())
    assert not list(made.buffers())


@pytest.mark.parametrize(
    "transformed",
    [
        torch.func.grad(lambda x: (x * x).sin().sum()),
        torch.func.vmap(lambda x: x.exp() * x),
        torch.func.hessian(lambda x: (x**3).sum()),
        torch.func.jacrev(torch.tanh),
    ],
)
def test_transforms_of_functions_are_recorded(transformed):
    made = make_fx(transformed)(torch.ones(3))
    x = torch.tensor([0.1, -0.2, 3.0])
    assert torch.allclose(made(x), transformed(x))


def test_arguments_may_be_trees():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))

    def loss(parameters, batch):
        return ((torch.func.functional_call(model, parameters, (batch["x"],)) - batch["y"]) ** 2).mean()

    grad = torch.func.grad(loss)
    parameters = {k: v.detach() for k, v in model.named_parameters()}
    made = make_fx(grad)(parameters, {"x": torch.ones(2, 3), "y": torch.ones(2, 1)})
    other = {k: v * 2 for k, v in parameters.items()}
    batch = {"x": torch.arange(6.0).view(2, 3), "y": torch.zeros(2, 1)}
    for name, value in grad(other, batch).items():
        assert torch.allclose(made(other, batch)[name], value)


def test_writes_and_views_are_repeated():
    def f(x):
        y = x.clone()
        y.add_(1)
        y[0] = 5
        view = y.view(-1)
        view.mul_(2)
        return y, view

    made = make_fx(f)(torch.zeros(2, 2))
    x = torch.arange(4.0).view(2, 2)
    y, view = made(x)
    assert y.tolist() == [[10, 10], [6, 8]] and view.data_ptr() == y.data_ptr()
    assert torch.equal(x, torch.arange(4.0).view(2, 2))


def test_tensors_of_the_outside_are_constants_and_parameters_stay_parameters():
    layer = torch.nn.Linear(2, 2)
    made = make_fx(lambda x: layer(x) + torch.tensor([1.0, 2.0]))(torch.zeros(1, 2))
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.fill_(3)
    assert made(torch.ones(1, 2)).tolist() == [[4, 5]]


def test_one_tensor_given_twice_is_two_arguments():
    a = torch.ones(2)
    made = make_fx(lambda x, y: x - y)(a, a)
    assert made(torch.tensor([5.0, 5.0]), torch.tensor([1.0, 2.0])).tolist() == [4, 3]


def test_a_table_of_decompositions_replaces_operators():
    table = {aten.sigmoid.default: lambda x: 1 / (1 + torch.exp(-x))}
    made = make_fx(torch.sigmoid, decomposition_table=table)(torch.zeros(2))
    assert "aten.sigmoid.default" not in targets(made)
    assert torch.allclose(made(torch.tensor([0.0, 2.0])), torch.sigmoid(torch.tensor([0.0, 2.0])))


def test_results_of_several_tensors_are_taken_apart():
    made = make_fx(lambda x: x.topk(2)[0] + x.max(0)[0])(torch.tensor([1.0, 2.0, 3.0]))
    assert made(torch.tensor([5.0, 1.0, 9.0])).tolist() == [18, 14]


@pytest.mark.parametrize("read", [bool, float, lambda x: x.item(), lambda x: x.tolist(), lambda x: x.numpy()])
def test_values_of_what_depends_on_arguments_are_not_read(read):
    def f(x):
        read(x.sum())
        return x

    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        make_fx(f)(torch.ones(2))
    assert get_proxy_mode() is None


@pytest.mark.parametrize(
    "function",
    [
        lambda x, t: torch.full((2,), t),
        lambda x, t: torch.add(x, x, alpha=t),
        lambda x, t: torch.nn.functional.leaky_relu(x, t),
        lambda x, t: torch.addcmul(x, x, x, value=t),
        lambda x, t: x * torch.tensor([t, t, t]),
        lambda x, t: torch.tensor([t]),
    ],
)
def test_a_tensor_in_place_of_a_number_is_refused(function):
    x, t = torch.randn(3), torch.tensor(2.0)
    with pytest.raises(
        RuntimeError, match=r"make_fx: the function gives an operator, in place of a number, a tensor .*\(t_1\)"
    ):
        make_fx(function)(x, t)
    assert torch.equal(make_fx(lambda x: function(x, t))(x)(x), function(x, t))  # a constant may be one


@pytest.mark.parametrize(
    "function",
    [
        lambda x, t: x.narrow(0, t, 1),
        lambda x, t: x.tensor_split(t)[0],
        lambda x, t: x.tensor_split(t[None])[0],
    ],
)
def test_a_place_that_a_tensor_names_is_refused(function):
    x, t = torch.randn(3), torch.tensor(1)
    with pytest.raises(
        RuntimeError, match=r"make_fx: the function gives an operator, in place of a number, a tensor that depends"
    ):
        make_fx(lambda x, t: function(x, t) * 1)(x, t)
    assert torch.equal(make_fx(lambda x: function(x, t))(x)(x), function(x, t))  # a constant may be one


@pytest.mark.parametrize("ask", [torch.equal, torch.allclose, torch.Tensor.equal])
def test_questions_about_values_are_refused(ask):
    with pytest.raises(RuntimeError, match=r"make_fx: the function asks torch\.(equal|allclose) about a tensor"):
        make_fx(lambda x, y: x * 2 if ask(x, y) else x)(torch.ones(2), torch.ones(2))
    one = torch.ones(2)
    made = make_fx(lambda x: x * 2 if ask(one, one) else x)(torch.ones(2))  # about constants they may be asked
    assert made(torch.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize("function", [lambda x, t: x[t], lambda x, t: x.view(1, 3)[:, t], lambda x, t: x[1:][t, None]])
def test_a_tensor_as_the_number_of_an_index_is_refused(function):
    x, t = torch.randn(3), torch.tensor(1)
    with pytest.raises(RuntimeError, match=r"make_fx: the function takes as an index a tensor .*\(t_1\)"):
        make_fx(function)(x, t)
    assert torch.equal(make_fx(lambda x: function(x, t))(x)(x), function(x, t))  # a constant may be one


def test_other_memory_for_a_tensor_is_refused():
    def f(x):
        y = x * 2
        y.data = x
        return y

    with pytest.raises(RuntimeError, match=r"make_fx: the function assigns to \.data, .* use copy_"):
        make_fx(f)(torch.ones(2))
    assert torch.equal(f(x := torch.ones(2)), x)  # as before, outside


@pytest.mark.parametrize("function", [torch.linspace, torch.logspace])
def test_ends_of_a_line_may_be_tensors(function):
    made = make_fx(lambda t: function(0, t, 4))(torch.tensor(2.0))
    torch.testing.assert_close(made(torch.tensor(3.0)), function(0, 3.0, 4))


def test_what_is_in_reverse_on_the_way_is_recorded():
    for function in (lambda x: x.flip(1) * 2, lambda x: x.rot90(1, [0, 1]), torch.flipud):
        made = make_fx(function)(torch.randn(2, 3))
        x = torch.randn(2, 3)
        assert torch.equal(made(x), function(x))


def _in_part_without_gradients(x):
    y = torch.sin(x)
    with torch.no_grad():
        z = y * 2
        with torch.enable_grad():
            w = z * y
    return (z * x).sum() + w.sum()


@pytest.mark.parametrize("mode", ["real", "symbolic"])
def test_before_the_dispatch_it_is_known_where_gradients_are_recorded(mode):
    made = make_fx(_in_part_without_gradients, tracing_mode=mode, pre_dispatch=True)(torch.ones(3))
    made.graph.eliminate_dead_code()
    made.recompile()
    modes = [n.args[0] for n in made.graph.nodes if n.target is torch._C._set_grad_enabled]
    assert modes == [False, True]
    x = torch.randn(3, requires_grad=True)
    (found,) = torch.autograd.grad(made(x), x)
    assert torch.equal(found, torch.autograd.grad(_in_part_without_gradients(x), x)[0])
    assert torch.is_grad_enabled()
    ends_off = make_fx(lambda x: (x * 2, torch._C._set_grad_enabled(False))[0], pre_dispatch=True)
    try:
        assert [n.args for n in ends_off(x).graph.nodes if n.target is torch._C._set_grad_enabled] == [(False,)]
    finally:
        torch._C._set_grad_enabled(True)


def test_constants_may_be_read():
    made = make_fx(lambda x: x * torch.ones(3).sum().item())(torch.ones(2))
    assert made(torch.ones(2)).tolist() == [3, 3]


def test_what_cannot_be_traced_is_named():
    with pytest.raises(ValueError, match="tracing_mode"):
        make_fx(torch.sin, tracing_mode="imaginary")
    with pytest.raises(TypeError, match="callable"):
        make_fx(3)


def test_graphs_are_pickled_and_copied():
    made = make_fx(lambda x: torch.cat([x, x[:1]]))(torch.ones(2))
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert other(torch.tensor([1.0, 2.0])).tolist() == [1, 2, 1]


def test_a_graph_can_be_recorded_apart_within_another():
    def f(x):
        inner = get_isolated_graphmodule(torch.mul, (torch.ones(2), torch.ones(2)), {})
        assert targets(inner) == ["aten.mul.Tensor"]
        return inner(x, x)

    assert make_fx(f)(torch.ones(2))(torch.tensor([2.0, 3.0])).tolist() == [4, 9]


def test_random_numbers_are_drawn_anew():
    made = make_fx(lambda x: x + torch.rand(8))(torch.zeros(8))
    assert not torch.equal(made(torch.zeros(8)), made(torch.zeros(8)))


def test_dims_of_an_alias_that_change_in_place_are_its_own():
    def function(x):
        y = x * 2
        alias = y.detach()
        alias.unsqueeze_(0)
        return y, alias

    y, alias = make_fx(function)(torch.ones(2, 3))(torch.full((2, 3), 2.0))
    assert (y.shape, alias.shape) == ((2, 3), (1, 2, 3))
    assert torch.equal(alias[0], y) and torch.equal(y, torch.full((2, 3), 4.0))


def test_each_run_has_a_tensor_made_of_numbers_of_its_own():
    def counted(x):
        count = torch.tensor(3)
        count.add_(1)
        return x + count

    traced = make_fx(counted)(torch.zeros(2))
    for _ in range(2):
        assert torch.equal(traced(torch.zeros(2)), torch.full((2,), 4.0))
    assert "lift_fresh_copy" in traced.code
    assert torch.equal(CSEPass()(traced).graph_module(torch.zeros(2)), torch.full((2,), 4.0))


@dataclasses.dataclass
class Scored:
    score: torch.Tensor
    parts: list
    count: int = 3


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_an_object_of_a_data_class_is_made_anew_by_each_run(mode):
    def scored(x):
        return {"out": Scored(x * 2, [x + 1, x.sum()], 4)}

    found = make_fx(scored, tracing_mode=mode)(torch.ones(3))(torch.tensor([1.0, 2.0, 3.0]))["out"]
    assert type(found) is Scored and found.count == 4 and found.score.tolist() == [2, 4, 6]
    assert found.parts[0].tolist() == [2, 3, 4] and found.parts[1] == 6
