"""functionalize: the same results, from operators that change nothing."""

import pytest
import torch
from torch import _dispatch, func


class Log:
    def __init__(self):
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func).split(".")[1])
        return func(*args, **kwargs or {})

    def __enter__(self):
        _dispatch.push(self)
        return self

    def __exit__(self, *error):
        _dispatch.pop()


def in_place(x):
    y = x * 2
    y.add_(1).mul_(y)
    return y


def views(x):
    y = x.clone()
    y[0].fill_(7)
    y[:, 1:].mul_(2)
    y.t()[0].add_(100)
    z = y.view(-1)
    z[::2] = 0
    y.diagonal().sub_(1)
    return y, z, y.t()


def made_within(x):
    out = torch.zeros(3, 2)
    out[1] = x[0]
    parts = out.split(1)
    parts[2].copy_(x[1:])
    rows = out.unbind()
    rows[0].add_(5)
    return out, x.new_ones(2).add_(x[0]), torch.zeros_like(x).index_fill_(0, torch.tensor([0]), 3)


def statistics(x):
    mean, var = torch.zeros(2), torch.ones(2)
    y = torch.native_batch_norm(x, None, None, mean, var, True, 0.5, 1e-5)[0]
    return y, mean, var


def wider(x):
    y = torch.zeros(2, 2, dtype=torch.float64)
    y.copy_(x[0]).add_(x)
    y[1] = x.sum()
    y.t()[0].zero_()
    return y


def moved(x):
    y = x * 2
    row = y[0]
    y.transpose_(0, 1)
    y[0].add_(1)
    row.mul_(3)
    y.t_().unsqueeze_(0)
    y.squeeze_(0).swapaxes_(0, 1).swapdims_(0, 1)
    y[1] = 7
    return y, y.detach().clone().as_strided_((2,), (2,)).sub_(1)


def written_through_views(x):
    y = torch.arange(24.0).reshape(2, 3, 4) + x.sum()
    y.permute(2, 0, 1)[1].add_(1)
    y.movedim(0, -1).mul_(2)
    y[:, 1:, ::2].neg_()
    y.diagonal(0, 1, 2).zero_()
    y.as_strided((2, 2), (1, 5), 3).fill_(7)
    y.unfold(2, 2, 2).mul_(3)
    y.unfold(2, 2, 1)[0, 0, 0].sub_(1)
    y.flatten(1).chunk(2, 1)[1].copy_(x[0, 0])
    y.view(6, 4).t().squeeze().unsqueeze(0).swapaxes(0, 2).add_(0.5)
    y.reshape(4, 6)[1].view(2, 3).transpose(0, 1)[2].mul_(-1)
    return y


def drawn(x):
    torch.manual_seed(0)
    return x.clone().normal_(), torch.rand(2) + x[0]


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize(
    "function", [in_place, views, moved, made_within, written_through_views, statistics, wider, drawn]
)
def test_results_are_the_same_and_nothing_is_changed(function, remove):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    expected = function(x.clone())
    with Log() as log:
        got = func.functionalize(function, remove=remove)(x)
    for a, b in zip(_flat(got), _flat(expected), strict=True):
        torch.testing.assert_close(a, b)
    assert {n for n in log.names if n.endswith("_")} <= {"normal_"}  # drawn into a copy


def _flat(result):
    return result if isinstance(result, tuple) else (result,)


def test_a_change_of_an_input_is_made_at_the_end():
    def f(x):
        x.add_(1)
        view = x[0]
        view.zero_()
        return x, view + 1

    x = torch.ones(2, 2)
    with Log() as log:
        same, row = func.functionalize(f)(x)
    assert same is x and x.tolist() == [[0.0, 0.0], [2.0, 2.0]] and row.tolist() == [1.0, 1.0]
    assert log.names.count("copy_") == 1 and log.names[-1] == "copy_" and "add" in log.names


def test_views_are_copies_where_they_are_to_be_removed():
    x = torch.ones(2, 2)
    with Log() as log:
        y = func.functionalize(lambda x: x.view(4), remove="mutations_and_views")(x)
    assert log.names == ["view", "clone"] and y.data_ptr() != x.data_ptr()


def test_gradients_pass_inside_and_outside():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    scalar = lambda x: (views(x)[0] ** 2).sum()
    expected = func.grad(scalar)(x)
    torch.testing.assert_close(func.grad(func.functionalize(scalar))(x), expected)
    torch.testing.assert_close(func.functionalize(func.grad(scalar))(x), expected)
    w = x.clone().requires_grad_()
    func.functionalize(scalar)(w).backward()
    torch.testing.assert_close(w.grad, expected)
    torch.testing.assert_close(func.hessian(func.functionalize(in_place_sum))(x), func.hessian(in_place_sum)(x))


def in_place_sum(x):
    return in_place(x).sum()


@pytest.mark.parametrize("function", [in_place, moved, written_through_views])
def test_batches_inside_and_outside(function):
    x = torch.randn(3, 2, 2)
    mapped = lambda x: _flat(function(x))[0]
    expected = torch.stack([mapped(one.clone()) for one in x])
    torch.testing.assert_close(func.vmap(func.functionalize(mapped))(x), expected)
    torch.testing.assert_close(func.functionalize(func.vmap(mapped))(x), expected)


def test_dims_of_an_input_move_at_the_end():
    def f(x):
        x.transpose_(0, 1)
        x[0].add_(1)
        return x.unsqueeze_(0)

    x = torch.zeros(2, 3)
    assert func.functionalize(f)(x) is x and x.tolist() == [[[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]]
    unchanged = torch.tensor([[1.0, 2.0]])
    func.functionalize(lambda x: x.t_().sum())(unchanged)
    assert unchanged.tolist() == [[1.0], [2.0]]


def test_gradients_pass_through_dims_that_moved_in_place():
    scalar = lambda x: (moved(x)[0] ** 2).sum()
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    expected = func.grad(scalar)(x)
    torch.testing.assert_close(func.grad(func.functionalize(scalar))(x), expected)
    torch.testing.assert_close(func.functionalize(func.grad(scalar))(x), expected)


def test_values_are_read_within():
    def f(x):
        y = x * 1
        y[0] = 5
        assert y.tolist() == [5.0, 2.0] and y[0].item() == 5.0 and float(y[1]) == 2.0 and [0, 1, 2][y[1].long()] == 2
        assert torch.equal(y, x) is False and torch.allclose(y, y + 1e-9) and bool((y > 1).all())
        parts = torch.tensor_split(y, torch.tensor([1]))
        return y.narrow(0, torch.tensor(1), 1) if y.sum() > 6 else parts[0]

    assert func.functionalize(f)(torch.tensor([1.0, 2.0])).tolist() == [2.0]
    assert func.functionalize(func.functionalize(f))(torch.tensor([1.0, 2.0])).tolist() == [2.0]


@pytest.mark.parametrize("name", ["equal", "allclose"])
def test_values_of_a_batch_are_not_read_within(name):
    compared = func.functionalize(lambda x: getattr(torch, name)(x, x))
    with pytest.raises(RuntimeError, match=f"^vmap: {name} depends on the values of"):
        func.vmap(compared)(torch.ones(2, 3))


def test_modules_and_optimizers_run_within():
    nn = pytest.importorskip("torch.nn")
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(inplace=True), nn.Linear(3, 1))
    x = torch.randn(4, 2)
    parameters = dict(net.named_parameters())

    def loss(parameters, x):
        return func.functional_call(net, parameters, (x,)).square().sum()

    expected = func.grad(loss)(parameters, x)
    got = func.functionalize(func.grad(loss))(parameters, x)
    for name in parameters:
        torch.testing.assert_close(got[name], expected[name])


def test_it_nests():
    x = torch.ones(2)
    assert func.functionalize(func.functionalize(in_place))(x).tolist() == in_place(x).tolist()


def test_what_is_refused():
    outside = torch.ones(2)
    with pytest.raises(RuntimeError, match="would change a tensor .* from outside of the function"):
        func.functionalize(lambda x: outside.add_(x))(torch.ones(2))
    assert outside.tolist() == [1.0, 1.0]
    for change in (lambda x: x.resize_(1), lambda x: x.set_(outside), lambda x: x.resize_as_(outside)):
        with pytest.raises(NotImplementedError, match="_: a tensor keeps its memory within functionalize"):
            func.functionalize(change)(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="functionalize: numpy: a tensor has no memory of its own to share"):
        func.functionalize(lambda x: x.numpy())(torch.ones(2))
    with pytest.raises(RuntimeError, match="remove must be 'mutations' or 'mutations_and_views'"):
        func.functionalize(in_place, remove="all")
    with pytest.raises(ZeroDivisionError):
        func.functionalize(lambda x: 1 / 0)(torch.ones(1))
    assert torch.ones(1).add_(1).item() == 2.0


def test_an_operator_of_a_program_that_writes_writes_into_a_copy():
    @torch.library.custom_op("functionalized::bump", mutates_args={"x"})
    def bump(x: torch.Tensor) -> None:
        x.add_(1)

    x, seen = torch.zeros(2), []

    def f(x):
        y = x.view(2, 1)
        bump(y)
        seen.append(given.tolist())
        return x * 2

    given = x
    assert func.functionalize(f)(x).tolist() == [2.0, 2.0] and seen == [[0.0, 0.0]] and x.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("outside", [func.functionalize, func.vmap, lambda f: f])
@pytest.mark.parametrize("level", ["jvp", "jvp of jvp", "dual"])
def test_tangents_made_within_have_gradients_outside(outside, level):
    x = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64)

    def along(f, x):
        if level == "dual":
            with torch.autograd.forward_ad.dual_level():
                dual = torch.autograd.forward_ad.make_dual(x, torch.exp(x))
                return torch.autograd.forward_ad.unpack_dual(f(dual)).tangent
        return func.jvp(f, (x,), (torch.exp(x),))[1]

    def f(x):
        if level == "jvp of jvp":
            return along(lambda y: along(torch.sin, y), x)
        return along(torch.sin, x)

    first = x.exp() * x.cos()
    expected = first - x.exp() * x.sin()
    if level == "jvp of jvp":  # e^x (e^x cos x)' and its derivative
        expected = x.exp() ** 2 * (2 * (x.cos() - x.sin()) - x.sin() - x.cos())
    got = func.grad(lambda x: outside(f)(x).sum())(x)
    torch.testing.assert_close(got, expected)
