"""Regions where gradients are recorded: one node of the tape, with eager's bits forward and backward."""

import gc
import weakref

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.jit import _native

UNARY = ["tanh", "exp", "neg", "abs", "relu", "sigmoid", "square", "sin", "erf", "log1p"]
BINARY = ["add", "sub", "mul", "div", "maximum", "atan2"]
SHAPES = [(3, 4), (4,), (3, 1), (1, 1), ()]


def plan_of(f, *examples):
    return _native.plan(torch.jit.trace(f, examples, check_trace=False).graph)


def leaves(*tensors):
    return [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors]


def gradients(f, args, weights=None):
    """Of a sum of the outputs, weighted, with respect to the arguments that require it."""
    out = f(*args)
    out = out if isinstance(out, tuple) else (out,)
    wanted = [a for a in args if a.requires_grad]
    outputs = [o for o in out if o.requires_grad]
    total = sum((o * (i + 1.5)).sum() for i, o in enumerate(outputs))
    return out, torch.autograd.grad(total, wanted, allow_unused=True)


def agree(f, g, args, times=4):
    expected, wanted = gradients(f, args)
    for _ in range(times):
        out, grads = gradients(g, args)
        for a, b in zip(expected, out, strict=True):
            assert torch.equal(a, b) and a.requires_grad == b.requires_grad and a.stride() == b.stride()
        for a, b in zip(wanted, grads, strict=True):
            assert (a is None) == (b is None)
            assert a is None or (torch.equal(a, b) and a.shape == b.shape)


def chain(a, b):
    return torch.sigmoid(a * b + b) * torch.tanh(a) - b


@st.composite
def chains(draw):
    generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
    inputs = [
        (torch.randn(draw(st.sampled_from(SHAPES)), generator=generator).abs() + 0.1).requires_grad_(
            draw(st.booleans())
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    calls, count = [], len(inputs)
    for _ in range(draw(st.integers(2, 7))):
        value = st.integers(0, count - 1)
        if draw(st.booleans()):
            calls.append((draw(st.sampled_from(UNARY)), draw(value)))
        else:
            calls.append((draw(st.sampled_from(BINARY)), draw(value), draw(value)))
        count += 1
    return inputs, calls, draw(st.integers(1, 2))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chains())
def test_chains_have_eagers_gradients(made):
    inputs, calls, outputs = made

    def f(*xs):
        values = list(xs)
        for name, *args in calls:
            values.append(getattr(torch, name)(*[values[a] for a in args]))
        return tuple(values[len(xs) :][-outputs:])

    if not any(o.requires_grad for o in f(*inputs)):
        return
    # Sums at the tape's edges may be taken in another order where a value is used within and outside of a region.
    plan = plan_of(f, *leaves(*inputs))
    expected, wanted = gradients(f, inputs)
    for _ in range(4):
        out, grads = gradients(plan, inputs)
        for a, b in zip(expected, out, strict=True):
            assert torch.equal(a.nan_to_num(7), b.nan_to_num(7))
        for a, b in zip(wanted, grads, strict=True):
            assert (a is None) == (b is None)
            assert a is None or torch.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True)


def test_a_region_is_one_node():
    plan = plan_of(chain, torch.randn(3, 4), torch.randn(4))
    args = [torch.randn(3, 4, requires_grad=True), torch.randn(4, requires_grad=True)]
    agree(chain, plan, args)
    assert plan(*args).grad_fn.name() == "ProgramBackward0"
    text = plan.describe()
    assert "forward, keeping 2 values" in text  # of sigmoid and tanh
    assert "group  neg mul mul tanh_backward sigmoid_backward mul mul add" in text


def test_what_is_big_is_computed_again():
    plan = plan_of(chain, torch.randn(400_000), torch.randn(400_000))
    agree(chain, plan, [torch.randn(400_000, requires_grad=True), torch.randn(400_000, requires_grad=True)])
    text = plan.describe()
    assert "forward, keeping 0 values" in text
    assert "  backward\n  group  mul add sigmoid tanh neg" in text


def test_who_requires_a_gradient_is_part_of_a_plan():
    plan = plan_of(chain, torch.randn(4), torch.randn(4))
    for _ in range(3):
        for a, b in [(True, True), (True, False), (False, True)]:
            agree(chain, plan, [torch.randn(4, requires_grad=a), torch.randn(4, requires_grad=b)], times=1)
    assert not plan(torch.randn(4), torch.randn(4)).requires_grad


def test_shapes_that_change():
    plan = plan_of(chain, torch.randn(4), torch.randn(4))
    for n in [3, 5, 3, 8, 5, *range(20)]:
        agree(chain, plan, [torch.randn(n, requires_grad=True), torch.randn(n, requires_grad=True)], times=2)


def test_a_tensor_that_is_given_twice():
    plan = plan_of(chain, torch.randn(4), torch.randn(4))
    x = torch.randn(4, requires_grad=True)
    for _ in range(4):
        a, b = (torch.autograd.grad(f(x, x).sum(), x)[0] for f in (chain, plan))
        assert torch.equal(a, b)
    y = torch.randn(4, requires_grad=True)
    agree(chain, plan, [x, y])
    agree(chain, plan, [y, x])


def test_products_and_lists_within():
    def cell(x, h, c, w, u, bias):
        gates = torch.mm(x, w) + torch.mm(h, u) + bias
        i, f, g, o = gates.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    args = [
        torch.randn(2, 5),
        torch.randn(2, 5),
        torch.randn(2, 5),
        torch.randn(5, 20),
        torch.randn(5, 20),
        torch.randn(20),
    ]
    plan = plan_of(cell, *args)
    for a in args[2:]:
        a.requires_grad_()
    agree(cell, plan, args)
    # Gradients that come for only one output.
    for k in (0, 1):
        for f in (cell, plan):
            for a in args:
                a.grad = None
            f(*args)[k].sum().backward()
            grads = [a.grad for a in args[2:]]
            if f is cell:
                expected = grads
        assert all(torch.equal(a, b) for a, b in zip(expected, grads, strict=True))


def test_an_output_nobody_uses_brings_no_gradient():
    f = lambda x: (torch.sqrt(x) * 2 + 1, x * 3 - 1)
    plan = plan_of(f, torch.rand(3))
    x = torch.zeros(3, requires_grad=True)
    for _ in range(4):
        (g,) = torch.autograd.grad(plan(x)[1].sum(), x)
        assert g.tolist() == [3, 3, 3]  # not nan, as 0 * inf would be


def test_gradients_of_gradients():
    plan = plan_of(chain, torch.randn(3), torch.randn(3))
    args = [torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    for _ in range(4):
        results = []
        for f in (chain, plan):
            first = torch.autograd.grad(f(*args).sum(), args, create_graph=True)
            results.append((first, torch.autograd.grad((first[0] * first[1]).sum(), args)))
        for a, b in zip(results[0][0] + results[0][1], results[1][0] + results[1][1], strict=True):
            assert torch.allclose(a, b, rtol=1e-12)
    # while calls are timed, plans and eager calls take turns, and these add gradients in another order
    assert torch.autograd.gradcheck(plan, args, nondet_tol=1e-12)
    assert torch.autograd.gradgradcheck(plan, args, nondet_tol=1e-12)


@pytest.mark.parametrize(
    "program",
    [
        lambda x, y: torch.tanh(x * (x + y)),
        lambda x, y: torch.sigmoid(torch.tanh(x)) + y,
        lambda x, y: torch.softmax((x + y).exp(), 0) * 2,
        lambda x, y: (x / y).rsqrt().exp(),
    ],
)
def test_gradients_with_a_graph_are_those_without_where_only_results_are_kept(program):
    args = [torch.tensor([0.4, 0.3, 1.5]), torch.tensor([0.7, 0.2, 0.1])]
    plan = plan_of(program, *args)
    for _ in range(3):
        results = []
        for f in (program, plan):
            leaves = [a.double().requires_grad_() for a in args]
            first = torch.autograd.grad(f(*leaves)[0], leaves, create_graph=True)
            results.append((*first, *torch.autograd.grad(first[0].sum(), leaves, allow_unused=True)))
        for a, b in zip(*results, strict=True):
            assert (a is None and (b is None or not b.any())) or torch.allclose(a, b, rtol=1e-12)


def test_an_input_that_was_made_from_another_takes_no_part_in_its_gradient():
    def program(x, y):
        weights = (x.abs() + 0.1).softmax(-1)
        rest = x - torch.nn.functional.elu(weights.abs() + 0.1)
        normed = torch.nn.functional.layer_norm(rest.abs() + 0.1, rest.shape[-1:])
        return torch.atan2(torch.maximum(normed, rest), weights) + y

    args = [torch.rand(3, 3, dtype=torch.double) + 0.1, torch.rand(3, 3, dtype=torch.double)]
    plan = torch.jit.trace(program, args, check_trace=False)
    for _ in range(3):
        one, two = (torch.autograd.grad(f(*leaves).sum(), leaves[0], create_graph=True)[0]
                    for f in (program, plan)
                    for leaves in ([a.clone().requires_grad_() for a in args],))  # fmt: skip
        assert torch.allclose(one, two, rtol=1e-10)


def test_a_graph_may_be_walked_twice_when_it_is_kept():
    plan = plan_of(chain, torch.randn(3), torch.randn(3))
    args = [torch.randn(3, requires_grad=True) for _ in range(2)]
    for _ in range(3):
        out = plan(*args).sum()
        a = torch.autograd.grad(out, args, retain_graph=True)
        b = torch.autograd.grad(out, args)
        assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
        with pytest.raises(RuntimeError, match="second time"):
            torch.autograd.grad(out, args)


def test_values_that_were_changed_since_are_noticed():
    plan = plan_of(lambda x, w: torch.tanh(x * w) * 2 + w, torch.randn(3), torch.randn(3))
    w = torch.randn(3, requires_grad=True)
    for _ in range(3):
        x = torch.randn(3)
        out = plan(x, w).sum()
        x.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()


def test_what_no_derivative_reads_may_change():
    f = lambda x, w: torch.tanh(x + w) * 2 + x
    plan = plan_of(f, torch.randn(3), torch.randn(3))
    w = torch.randn(3, requires_grad=True)
    for _ in range(4):
        x = torch.randn(3)
        expected = torch.autograd.grad(f(x, w).sum(), w)[0]
        out = plan(x, w).sum()
        x.zero_()
        assert torch.equal(torch.autograd.grad(out, w)[0], expected)


def test_outputs_may_be_changed_and_hooked():
    plan = plan_of(lambda x: torch.exp(x * 2) + 1, torch.randn(3))
    x = torch.randn(3, requires_grad=True)
    for _ in range(4):
        seen = []
        y = plan(x)
        y.register_hook(lambda g, seen=seen: seen.append(g) or g * 2)
        y.sum().backward()
        assert seen[0].tolist() == [1, 1, 1]
        assert torch.equal(x.grad, torch.exp(x.detach() * 2) * 2 * 2)
        x.grad = None
        y = plan(x)
        y.mul_(3)
        y.sum().backward()
        assert torch.allclose(x.grad, torch.exp(x.detach() * 2) * 6)
        x.grad = None


def test_results_that_are_views_go_step_by_step():
    f = lambda x: ((x * 2 + 1).view(-1), x.t())
    plan = plan_of(f, torch.randn(2, 3))
    x = torch.randn(2, 3, requires_grad=True)
    for _ in range(4):
        flat, turned = plan(x)
        assert turned._base is x or turned.grad_fn is not None
        (g,) = torch.autograd.grad(flat.sum() + (turned * turned).sum(), x)
        assert torch.equal(g, torch.full_like(x, 2) + 2 * x.detach())


def test_views_that_become_part_of_a_graph_are_seen():
    f = lambda x, y: torch.tanh(x * y) + 1
    plan = plan_of(f, torch.randn(3), torch.randn(3))
    w = torch.randn(3, requires_grad=True)
    for _ in range(3):
        plan(torch.randn(3), w)
        base = torch.zeros(3)
        view = base.view(3)
        base.copy_(w * 2)
        a, b = (torch.autograd.grad(g(view, w).sum(), w, retain_graph=True)[0] for g in (f, plan))
        assert torch.equal(a, b)


def test_numbers_that_programs_take():
    @torch.jit.script
    def f(x, a: float, n: int):
        return torch.tanh(x * a + n) * a

    x = torch.randn(4, requires_grad=True)
    for a in (0.5, 2.0, -1.0, 0.0):
        for n in (0, 3):
            (g,) = torch.autograd.grad(f(x, a, n).sum(), x)
            (e,) = torch.autograd.grad((torch.tanh(x * a + n) * a).sum(), x)
            assert torch.equal(g, e)


def test_nothing_is_kept_alive():
    plan = plan_of(chain, torch.randn(3), torch.randn(3))
    gone = []
    for _ in range(5):
        args = [torch.randn(3, requires_grad=True) for _ in range(2)]
        out = plan(*args)
        out.sum().backward()
        gone += [weakref.ref(t) for t in (*args, out, args[0].grad)]
        del args, out
    gc.collect()
    assert not [r for r in gone if r() is not None]


def test_a_graph_outlives_its_program():
    plan = plan_of(chain, torch.randn(3), torch.randn(3))
    args = [torch.randn(3, requires_grad=True) for _ in range(2)]
    for _ in range(3):
        out = plan(*args)
    expected = torch.autograd.grad(chain(*args).sum(), args)
    del plan
    gc.collect()
    assert all(torch.equal(a, b) for a, b in zip(expected, torch.autograd.grad(out.sum(), args), strict=True))


def test_hooks_on_saved_tensors():
    plan = plan_of(chain, torch.randn(3), torch.randn(3))
    args = [torch.randn(3, requires_grad=True) for _ in range(2)]
    expected = torch.autograd.grad(chain(*args).sum(), args)
    for _ in range(4):
        packed = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: packed.append(t) or len(packed) - 1, lambda i: packed[i].clone()
        ):
            out = plan(*args)
        assert packed
        assert all(torch.equal(a, b) for a, b in zip(expected, torch.autograd.grad(out.sum(), args), strict=True))


def test_transforms_go_step_by_step():
    from torch.func import grad, vmap

    plan = plan_of(chain, torch.randn(3), torch.randn(3))
    args = [torch.randn(3, requires_grad=True) for _ in range(2)]
    for _ in range(3):
        plan(*args)
    x, y = torch.randn(5, 3), torch.randn(3)
    per_example = vmap(grad(lambda a, b: plan(a, b).sum()), (0, None))(x, y)
    expected = vmap(grad(lambda a, b: chain(a, b).sum()), (0, None))(x, y)
    assert torch.allclose(per_example, expected)
    with torch.autocast("cpu", torch.bfloat16):
        assert plan(*args).dtype == chain(*args).dtype


def test_training_takes_the_same_steps():
    def train(make):
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)
        )
        run, x, y = make(net), torch.randn(6, 4), torch.randn(6, 2)
        losses = []
        for _ in range(8):
            loss = ((run(x) - y) ** 2).mean()
            net.zero_grad()
            loss.backward()
            with torch.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad
            losses.append(loss.item())
        return losses

    assert train(lambda net: net) == train(torch.jit.script)


def test_a_region_is_planned_both_ways_once_it_is_differentiated():
    plan = plan_of(chain, torch.randn(3, 4), torch.randn(4))
    args = [torch.randn(3, 4, requires_grad=True), torch.randn(4, requires_grad=True)]
    for _ in range(2):
        plan(*args).sum().backward()
    assert "not planned yet" not in plan.describe()


def test_gradients_of_one_result_take_no_view_that_those_of_another_made():
    def grams(a, b):
        return b @ b.t(), a.sum()

    def whole(a, b):
        c = (a > 0).float() * b
        return ((c @ c.t()) @ c * 0.1) * 1.0, a.sum()

    for f in (grams, whole):
        args = [torch.randn(4, 6, requires_grad=True) for _ in range(2)]
        agree(f, torch.jit.script(f), args)
        for which in (0, 1):
            one = lambda run, which=which: lambda *args: run(*args)[which]
            agree(one(f), one(torch.jit.script(f)), args)
