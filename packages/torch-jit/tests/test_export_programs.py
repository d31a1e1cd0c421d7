"""Programs that torch.export takes: names of their inputs, numbers they give, sizes that agree, writes."""

import contextlib
import math

import pytest
import torch
from torch import nn
from torch.export import Dim, UserError, export
from torch.export._errors import GuardError


class Module(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(self, *args)


def same(module, program, *args):
    torch.testing.assert_close(program.module()(*args), module(*args), rtol=0, atol=0)


def test_tensors_made_of_numbers_may_be_written_to():
    def written(_, x):
        y, z = torch.tensor([1.0, 2.0]), torch.as_tensor(3)
        part = y[0]
        y.add_(1)
        part.mul_(x[0])
        z += 1
        return x + y + z, part

    module = Module(written)
    program = export(module, (torch.ones(2),))
    for _ in range(2):
        same(module, program, torch.randn(2))


def test_names_of_inputs_that_collide_are_told_apart():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.param = nn.Parameter(torch.full((2,), 3.0))
            self.register_buffer("alpha", torch.full((2,), 5.0))

        def forward(self, x, x_a, x_a_0, p, b_alpha, mul):
            return x["a"][0] * self.param + x_a[0] * self.alpha - x_a_0 * p["param"] + b_alpha * mul

    draw = lambda: torch.randn(2)
    args = ({"a": [draw()]}, (draw(),), draw(), {"param": draw()}, draw(), draw())
    program = export(Net(), args)
    names = [spec.arg.name for spec in program.graph_signature.input_specs]
    assert names == ["p_param_1", "b_alpha_1", "x_a_0", "x_a_0_1", "x_a_0_2", "p_param", "b_alpha", "mul"]
    same(Net(), program, *args)


def test_a_bool_of_a_tensor_and_what_is_asked_of_numbers_are_results():
    program = export(
        Module(lambda _, x, n: (x.item(), n.item() > 2, n.item() + 1)), (torch.tensor([True]), torch.tensor(5))
    )
    assert program.module()(torch.tensor([False]), torch.tensor(1)) == (False, False, 2)
    assert program.module()(torch.tensor([True]), torch.tensor(3)) == (True, True, 4)


@pytest.mark.parametrize(
    "dims",
    [
        [(Dim.AUTO, Dim.AUTO), (Dim.AUTO, Dim.AUTO), (Dim.AUTO, Dim.AUTO)],
        [(Dim.AUTO, Dim("b", min=3)), (Dim("a", max=8), Dim.DYNAMIC), (Dim.AUTO, Dim.DYNAMIC)],
    ],
)
def test_sizes_that_agree_dim_by_dim_do_so_only_there(dims):
    module = Module(lambda _, x, y, z: x * y - z)
    program = export(module, tuple(torch.randn(4, 4) for _ in range(3)), dynamic_shapes=(tuple(dims),))
    same(module, program, *(torch.randn(5, 7) for _ in range(3)))
    with pytest.raises(RuntimeError, match="Guard failed"):
        program.module()(torch.randn(5, 7), torch.randn(5, 6), torch.randn(5, 7))


def test_a_module_without_dead_code_still_writes_to_its_buffers():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count += 1
            return x + self.count

    made = export(Counter(), (torch.zeros(2),)).module()
    assert not made.graph.eliminate_dead_code()
    made.recompile()
    assert [made(torch.zeros(1, 1).expand(2, 1)[:, 0])[0].item() for _ in range(3)] == [1.0, 2.0, 3.0]
    traced = torch.fx.symbolic_trace(lambda x, y: (x.copy_(y), x.zero_(), x * 1)[2])
    assert not traced.graph.eliminate_dead_code()
    assert torch.equal(traced(torch.ones(2), torch.ones(2)), torch.zeros(2))


def test_examples_may_be_fake_tensors_and_modules_not():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        x, fake = torch.randn(3, 2), nn.Linear(2, 4)
    module = nn.Linear(2, 4)
    same(module, export(module, (x,), dynamic_shapes=({0: Dim("b")},)), torch.randn(5, 2))
    with pytest.raises(NotImplementedError, match="weight is a fake tensor"):
        export(fake, (x,))


@pytest.mark.parametrize(
    "f",
    [
        lambda _, x, z: x * torch.tensor(z.shape[0]) + torch.tensor([x.shape[0], 2, z.shape[0] // 2]).sum(),
        lambda _, x, z: x * torch.tensor(z.shape[0] / 4) - torch.tensor(float(x.shape[0])),
    ],
)
def test_tensors_made_of_sizes_follow_them(f):
    sizes = ({0: Dim("a")}, {0: Dim("b")})
    program = export(Module(f), (torch.randn(3), torch.randn(4)), dynamic_shapes=(sizes,))
    for n in (2, 7, 300):
        same(Module(f), program, torch.randn(n), torch.randn(n + 3))


@pytest.mark.parametrize(
    "f",
    [
        lambda _, x: x + torch.tensor([(x.shape[0] + x.shape[1]) % 2]),
        lambda _, x: x.new_tensor([max(x.shape[1], 2 * x.shape[1] - 3) % 2]) * x,
        lambda _, x: x * (1 if int(x.shape[1] / 2) > 2 else 2),
        lambda _, x: x.tril(int((x.shape[0] % 4) / 1) % 3),
        lambda _, x: x.tril(2 ** min(3, round(int(math.sqrt(x.shape[1])) / 3)) % 3),
        lambda _, x: x.bool() & (math.sqrt(x.shape[1]) > 2),
    ],
)
def test_numbers_that_lose_their_names_follow_sizes_or_are_guards(f):
    program = export(Module(f), (torch.randn(5, 6),), dynamic_shapes=(({0: Dim.AUTO, 1: Dim.AUTO},),))
    same(Module(f), program, torch.randn(5, 6))
    for size in ((2, 2), (3, 7), (8, 3), (4, 4), (11, 2), (2, 9), (7, 3)):
        x = torch.randn(size)
        with contextlib.suppress(GuardError):
            assert torch.equal(program.module()(x), f(None, x)), size


def test_functions_within_take_formulas_of_the_program_around():
    def forward(_, x, z):
        k = z.shape[0]
        j = k * 5 % 7
        return torch.cond(x.sum() > 0, lambda y: y * k + j, lambda y: y - torch.zeros(k).sum() - k, [x])

    sizes = ({0: Dim("a")}, {0: Dim("b")})
    program = export(Module(forward), (torch.randn(3), torch.randn(4)), dynamic_shapes=(sizes,))
    for n in (2, 7, 300):
        for x in (torch.ones(n), -torch.ones(n)):
            same(Module(forward), program, x, torch.randn(n + 3))


class Kept(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(3)
        self.register_buffer("whole", torch.arange(4.0))
        self.register_buffer("first", self.whole[:2])
        self.register_buffer("last", self.whole[2:])
        self.register_buffer("plain", torch.ones(3))

    def forward(self, x):
        self.first.add_(1)
        self.last.mul_(2)
        return self.norm(x) * self.plain * self.whole.sum()


def test_a_gradient_that_is_yet_to_be_computed_finds_buffers_as_they_were():
    net, x = Kept(), torch.randn(4, 3, requires_grad=True)
    loss = (net(x) * net.plain * net.whole.sum()).sum()
    before = [(b.clone(), b._version) for b in net.buffers()]
    torch.export.export(net, (torch.randn(4, 3),))
    assert all(torch.equal(b, value) and b._version == count for b, (value, count) in zip(net.buffers(), before))
    loss.backward()
    assert x.grad.isfinite().all()


def test_buffers_made_in_inference_mode_are_put_back():
    with torch.inference_mode():
        net = Kept()
        torch.export.export(net, (torch.randn(4, 3),))
    assert net.whole.tolist() == [0.0, 1.0, 2.0, 3.0] and net.norm.num_batches_tracked == 0


def test_a_parameter_that_a_program_writes_to_is_as_before():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            with torch.no_grad():
                self.weight.mul_(2)
            return x * self.weight

    net = Scaled()
    with pytest.raises(UserError, match="writes to parameter 'weight'"):
        torch.export.export(net, (torch.ones(3),))
    assert net.weight.tolist() == [1.0, 1.0, 1.0] and net.weight._version == 0


class Assigning(nn.Module):
    """Counts its calls, and keeps their sums in a buffer that it gets anew."""

    def __init__(self):
        super().__init__()
        self.calls, self.last = 0, None
        self.register_buffer("total", torch.ones(3))

    def forward(self, x):
        self.calls += 1
        self.total = self.total + x.sum(0)
        if self.last is None:
            self.last = x * 2
        return self.total * self.calls + self.last


@pytest.mark.parametrize("shapes", [None, ({0: Dim("n", min=2)},)], ids=["of one size", "of all sizes"])
def test_what_a_program_assigns_to_modules_is_there_in_none_of_its_runs(shapes):
    module, x = Assigning(), torch.ones(4, 3)
    total = module.total
    program = export(module, (x,), dynamic_shapes=shapes).module()
    assert module.calls == 0 and module.last is None and module.total is total and total.tolist() == [1.0, 1.0, 1.0]
    for y in (x, x * 2) if shapes is None else (x, torch.ones(7, 3)):
        assert torch.equal(program(y), Assigning()(y))


def test_no_run_at_another_size_writes_to_a_parameter():
    class Writing(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            with torch.no_grad():
                self.weight.mul_(2)
            return x * self.weight

    module = Writing()
    with pytest.raises(UserError, match="the program writes to parameter 'weight'"):
        export(module, (torch.ones(4, 3),), dynamic_shapes=({0: Dim("n")},))
    assert module.weight.tolist() == [1.0, 1.0, 1.0] and module.weight._version == 0
