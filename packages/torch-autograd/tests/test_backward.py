import copy
import gc
import math
import pickle
import threading
import weakref

import pytest
import torch
from torch.autograd import _C


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_gradient_of_a_product():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x * w).sum().backward()
    assert x.grad.tolist() == [3, 4] and w.grad.tolist() == [1, 2]


def test_gradients_of_several_calls_are_added_in_place():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert first.tolist() == [5, 7]


def test_the_first_gradient_of_a_leaf_becomes_its_grad_without_a_copy():
    w, x = torch.randn(4, 5, requires_grad=True), torch.randn(3, 4)
    came = []
    w.register_hook(lambda g: came.append(g.data_ptr()))
    (x @ w).sum().backward()
    assert w.grad.data_ptr() == came[0]


def test_a_gradient_that_others_hold_is_copied():
    given = torch.ones(2)
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    middle = x * 1
    middle.retain_grad()
    (middle + y).backward(given)
    x.grad.zero_()
    y.grad.add_(1)
    assert given.tolist() == [1, 1] and middle.grad.tolist() == [1, 1]
    assert x.grad.tolist() == [0, 0] and y.grad.tolist() == [2, 2]


def test_a_tensor_used_twice_sums_its_gradients():
    x = leaf(2.0)
    y = x * x
    (y * y + y).sum().backward()
    assert x.grad.item() == 4 * 8 + 4


def test_only_what_needs_a_gradient_is_recorded():
    a, b = torch.ones(2), torch.ones(2, requires_grad=True)
    assert not (a + a).requires_grad and (a + a).grad_fn is None
    assert (a + b).requires_grad
    assert not (b > 0).requires_grad
    assert b.detach().requires_grad is False and b.detach().is_leaf


def test_requires_grad_is_for_floating_and_complex_tensors():
    with pytest.raises(
        RuntimeError, match="only Tensors of floating point and complex dtype can require gradients, got torch.int64"
    ):
        torch.tensor([1]).requires_grad_()


def test_requires_grad_of_a_result_cannot_be_cleared():
    y = leaf(1.0) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = False


def test_broadcast_gradients_have_the_inputs_shape():
    x, w, b = (
        torch.ones(4, 3, requires_grad=True),
        torch.ones(3, requires_grad=True),
        torch.ones(4, 1, requires_grad=True),
    )
    (x * w + b).sum().backward()
    assert x.grad.shape == (4, 3) and w.grad.tolist() == [4, 4, 4] and b.grad.tolist() == [[3], [3], [3], [3]]


def test_gradients_have_the_inputs_dtype():
    x = torch.ones(2, dtype=torch.float32, requires_grad=True)
    (x * torch.ones(2, dtype=torch.float64)).sum().backward()
    assert x.grad.dtype == torch.float32


def test_backward_of_a_tensor_without_graph():
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.ones(1).backward()


def test_backward_of_many_elements_needs_a_gradient():
    with pytest.raises(
        RuntimeError, match=r"grad can be implicitly created only for scalar outputs; element 0 has shape \(2,\)"
    ):
        (leaf(1.0, 2.0) * 2).backward()


def test_backward_of_a_gradient_of_another_shape():
    with pytest.raises(
        RuntimeError,
        match=r"Mismatch in shape: grad_output\[0\] has a shape of \(3,\) and output\[0\] has a shape of \(2,\)",
    ):
        (leaf(1.0, 2.0) * 2).backward(torch.ones(3))


def test_backward_twice_needs_retain_graph():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time.*retain_graph=True"):
        y.backward()


def test_operations_that_save_nothing_may_be_differentiated_again():
    x = leaf(1.0, 2.0)
    y = (x + x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4, 4]


def test_a_failed_backward_leaves_no_gradients_behind():
    x = leaf(1.0)
    y = x.exp()
    z = y * y
    h = z.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (z + y).sum().backward(retain_graph=True)
    h.remove()
    (z + y).sum().backward()
    assert x.grad.item() == pytest.approx(2 * math.exp(2) + math.exp(1))


def test_grad_runs_only_what_is_asked_for():
    x, w = leaf(1.0), leaf(2.0)
    called = []
    a, b = x * 2, w * 3
    b.register_hook(lambda g: called.append(1))
    (g,) = torch.autograd.grad((a + b).sum(), x)
    assert g.item() == 2 and not called
    assert x.grad is None and w.grad is None


def test_grad_by_an_intermediate_result():
    x = leaf(3.0)
    y = x * x
    (g,) = torch.autograd.grad((y * y).sum(), y)
    assert g.item() == 18


def test_grad_of_an_unused_input():
    x, w = leaf(1.0), leaf(2.0)
    with pytest.raises(RuntimeError, match=r"appears to not have been used in the graph.*Set allow_unused=True"):
        torch.autograd.grad((x * 2).sum(), w)
    assert torch.autograd.grad((x * 2).sum(), w, allow_unused=True) == (None,)
    (zeros,) = torch.autograd.grad((x * 2).sum(), w, materialize_grads=True)
    assert zeros.tolist() == [0] and not zeros.requires_grad


def test_zeros_of_an_unused_input_can_be_differentiated_again():
    x = leaf(2.0)
    (slope,) = torch.autograd.grad((x * leaf(3.0)).sum(), x, create_graph=True, materialize_grads=True)
    for _ in range(2):  # of a linear function
        (slope,) = torch.autograd.grad(slope, x, create_graph=True, materialize_grads=True)
        assert slope.tolist() == [0] and slope.requires_grad
    rows = torch.autograd.grad(
        slope, x, torch.ones(2, 1), is_grads_batched=True, create_graph=True, materialize_grads=True
    )
    assert rows[0].tolist() == [[0], [0]] and rows[0].requires_grad


def test_gradients_of_a_dict_of_inputs_are_a_dict():
    from types import MappingProxyType

    x, w = leaf(2.0), leaf(5.0)
    found = torch.autograd.grad((x * x).sum(), {"x": x, 1: w}, materialize_grads=True)
    assert list(found) == ["x", 1] and found["x"].item() == 4 and found[1].item() == 0
    with pytest.raises(TypeError, match="a dict of them, not a mappingproxy"):
        torch.autograd.grad(x.sum(), MappingProxyType({"x": x}))


def test_backward_with_inputs_changes_only_those():
    x, w = leaf(1.0), leaf(2.0)
    (x * w).sum().backward(inputs=[x])
    assert x.grad.item() == 2 and w.grad is None


def test_double_backward():
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    assert (first.item(), second.item(), third.item()) == (12, 12, 6)


def test_double_backward_through_a_saved_result():
    x = leaf(0.5)
    (first,) = torch.autograd.grad(x.exp().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.item() == pytest.approx(math.exp(0.5))


def test_the_graph_is_freed_without_the_collector():
    gc.collect()
    before = _C._live_nodes()
    x = leaf(1.0, 2.0)
    y = (x.exp() * x).tanh()
    y.sum().backward()
    assert _C._live_nodes() > before
    del x, y
    assert _C._live_nodes() == before


def test_a_saved_result_does_not_keep_itself_alive():
    x = leaf(1.0)
    y = x.exp()
    ref = weakref.ref(y)
    del y
    assert ref() is None


def test_backward_frees_what_was_saved():
    x = leaf(1.0)
    a = x * 2
    ref = weakref.ref(a)
    y = (a * a).sum()
    del a
    y.backward()
    assert ref() is None


def test_a_million_operations_run_and_are_freed():
    x = torch.ones(1, requires_grad=True)
    h = x
    for _ in range(1_000_000):
        h = -h
    h.backward()
    assert x.grad.item() == 1
    del h


def test_threads_share_a_leaf():
    w = torch.zeros(1, requires_grad=True)

    def work():
        for _ in range(200):
            (w * 2 + w).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert w.grad.item() == 4 * 200 * 3


def test_threads_run_one_retained_graph():
    w = torch.ones(3, requires_grad=True)
    y = (w * w).exp().sum()
    got = []

    def work():
        for _ in range(50):
            got.append(torch.autograd.grad(y, w, retain_graph=True)[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(g.tolist() == got[0].tolist() for g in got) and len(got) == 200


class Length(torch.Tensor):
    """A class that says nothing of its own."""


class Answering:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, args, kwargs["create_graph"]


def test_classes_and_modes_see_the_two_passes_as_one_call():
    x, length = Answering(), Length([1.0, 2.0]).requires_grad_()
    assert torch.autograd.grad(x, [x], create_graph=True) == (torch.autograd.grad, ((x,), (x,)), True)
    assert torch.autograd.backward(x) == (torch.autograd.backward, ((x,),), False)
    assert type(torch.autograd.grad((length * 2).sum(), length)[0]) is Length
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    leaf = torch.ones(2, requires_grad=True)
    with Mode():
        (found,) = torch.autograd.grad(leaf.sum(), leaf)
        torch.autograd.backward(leaf.sum())
    assert seen == ["sum", "grad", "sum", "backward"] and found.tolist() == leaf.grad.tolist() == [1.0, 1.0]


def test_backward_within_backward():
    x = leaf(2.0)

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                y = ctx.saved_tensors[0].detach().requires_grad_()
                (y * y).sum().backward()
            return g * y.grad

    Inner.apply(x * 1).sum().backward()
    assert x.grad.item() == 4


def test_steps_have_a_gradient_of_zeros():
    x = torch.tensor([1.2, -0.7], requires_grad=True)
    (x.round() + x.sign() + torch.nextafter(x, torch.zeros(2))).sum().backward()
    assert x.grad.tolist() == [1, 1]  # only of nextafter
    (g,) = torch.autograd.grad(x.floor().sum(), x, create_graph=True)
    assert g.tolist() == [0, 0]
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [0, 0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        lambda x, y: torch.div(x, y, rounding_mode="trunc"),
        lambda x, y: torch.angle(x) + torch.sgn(y),
        lambda x, y: torch.linalg.vector_norm(x * y, 0),
    ],
    ids=["floor", "trunc", "angle-sgn", "norm-0"],
)
def test_what_is_flat_has_a_gradient_of_zeros_not_none(function):
    x, y = leaf(3.5, -2.0), leaf(1.5, 4.0)
    for g in torch.autograd.grad(function(x, y).sum(), (x, y)):
        assert g.tolist() == [0, 0]


def test_group_norm_of_no_example_has_a_gradient_of_any_order():
    x, w = torch.zeros(0, 4, 3, requires_grad=True), torch.ones(4, requires_grad=True)
    y = torch.group_norm(x, 2, w)
    gx, gw = torch.autograd.grad(y.sum(), (x, w), create_graph=True)
    assert gx.shape == x.shape and gw.tolist() == [0] * 4
    assert torch.autograd.grad(gx.sum(), x)[0].shape == x.shape


def test_of_values_written_to_one_place_only_the_last_one_counts():
    at = torch.tensor([1, 0, 1])
    for write in (
        lambda x, v: x.scatter(0, at, v),
        lambda x, v: x.index_copy(0, at, v),
        lambda x, v: x.index_put((at,), v),
        lambda x, v: x.put(at, v),
    ):
        x, v = torch.zeros(3, requires_grad=True), torch.ones(3, requires_grad=True)
        write(x, v).sum().backward()
        assert x.grad.tolist() == [0, 0, 1] and v.grad.tolist() == [0, 1, 1]


def test_products_have_gradients_at_zeros():
    x = torch.tensor([2.0, 0.0, 3.0, 0.0], requires_grad=True)
    x.cumprod(0).sum().backward()  # 2 + 0 + 0 + 0 = a + ab + abc + abcd
    assert x.grad.tolist() == [1, 2 + 2 * 3, 0, 0]
    x = torch.full((100_000,), 1.0, dtype=torch.float64)
    x[7] = 0
    x.requires_grad_()
    x.prod().backward()  # of a hundred thousand numbers: not by a square of them
    assert x.grad[7].item() == 1 and x.grad.sum().item() == 1


def test_logcumsumexp_does_not_overflow_backward():
    x = torch.tensor([-1000.0, 1000.0, -float("inf"), 999.0], dtype=torch.float64, requires_grad=True)
    y = x.logcumsumexp(0)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    share = 1 / (1 + math.e)
    assert g.tolist() == pytest.approx([1, 3 - share, 0, share])
    (h,) = torch.autograd.grad(g[3], x)
    assert h.tolist() == pytest.approx([0, -share * (1 - share), 0, share * (1 - share)])
    x = torch.full((2,), -math.inf, requires_grad=True)
    x.logcumsumexp(0).sum().backward()
    assert x.grad.tolist() == [0, 0]
    x = torch.tensor([1.0, math.inf, 2.0], requires_grad=True)
    x.logcumsumexp(0).sum().backward()
    assert x.grad.tolist() == [1, 2, 0]


@pytest.mark.parametrize("function, sign", [(torch.special.gammainc, 1), (torch.special.gammaincc, -1)])
def test_second_derivatives_of_the_incomplete_gamma_functions(function, sign):
    a, x = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (2.0, 1.5))
    by_a, by_x = torch.autograd.grad(function(a, x), (a, x), create_graph=True)
    density = 1.5 * math.exp(-1.5)  # x exp(-x) / gamma(2)
    assert by_x.item() == pytest.approx(sign * density)
    assert torch.autograd.grad(by_x, x, retain_graph=True)[0].item() == pytest.approx(sign * (1 - 1.5) * math.exp(-1.5))
    mixed = density * (math.log(1.5) - (1 - 0.5772156649015329))  # digamma(2) is 1 less Euler's constant
    assert torch.autograd.grad(by_x, a, retain_graph=True)[0].item() == pytest.approx(sign * mixed)
    assert torch.autograd.grad(by_a, x, retain_graph=True)[0].item() == pytest.approx(sign * mixed)
    with pytest.raises(NotImplementedError, match="the second derivative with respect to the first argument"):
        torch.autograd.grad(by_a, a)


def test_gradients_of_parts_are_summed_where_the_whole_is():
    rows = torch.tensor([2, 0, 2])
    parts = [
        lambda x: x[1],
        lambda x: x[1:, ::2],
        lambda x: x.diagonal(),
        lambda x: x[rows],
        lambda x: x[rows, rows],
        lambda x: x.index_select(1, rows),
        lambda x: x.take(rows),
        lambda x: x.gather(0, rows.view(1, 3)),
        lambda x: torch.embedding(x, rows),
        lambda x: torch.embedding(x, rows[:1]),
        lambda x: torch.embedding(x, rows, 0),
        lambda x: torch.embedding(x, rows[:2], 0),
        lambda x: torch.embedding(x, rows[:2], -1, True),
    ]
    for dtype in (torch.float64, torch.float16):
        whole = torch.arange(12.0, dtype=dtype).view(3, 4)
        want = torch.zeros(3, 4, dtype=dtype)
        for f in parts:
            x = whole.clone().requires_grad_()
            f(x).sum().backward()
            want += x.grad
        for order in (parts, parts[::-1]):
            x = whole.clone().requires_grad_()
            y = x * 1  # its gradient is no leaf's
            sum(f(z).sum() for f in order for z in (x, y)).backward()
            assert torch.equal(x.grad, 2 * want)


def test_the_gradient_of_a_part_does_not_reach_what_others_hold():
    x = torch.ones(3, 3, requires_grad=True)
    given = torch.ones(3, 3)
    seen = []
    y = x * 1
    y.register_hook(lambda g: seen.append(g))
    z = y[0]
    torch.autograd.backward([y, z], [given, torch.ones(3)])
    assert given.tolist() == [[1] * 3] * 3 and seen[0].tolist() == x.grad.tolist() == [[2] * 3, [1] * 3, [1] * 3]
    w = x.expand(2, 3, 3)[0]  # a sum of which elements share memory
    (w.sum() + x[1].sum()).backward()
    assert x.grad.tolist() == [[3] * 3, [3] * 3, [2] * 3]


def test_hooks_of_nodes_see_the_gradient_of_each_part_alone():
    x = torch.ones(2, 2, requires_grad=True)
    first, second = x[0], x[0]
    seen = []
    for part in (first, second):
        part.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs[0].tolist()))
    (first.sum() + 2 * second.sum()).backward()
    assert seen == [[[2, 2], [0, 0]], [[1, 1], [0, 0]]] and x.grad.tolist() == [[3, 3], [0, 0]]


@pytest.mark.parametrize(
    "function, value, gradient",
    [
        (torch.sinc, [0.0, 1.0, 1e-200], [0, -1, 0]),
        *[(f, [math.nan, 1.0, math.nan], [0.5, 0, 0.5]) for f in (torch.max, torch.min, torch.amax, torch.median)],
        (lambda x: x.norm(math.inf), [math.nan, 1.0], [0, 0]),
        *[(f, [0.0, 1e-310], [0.5, 0.5]) for f in (torch.special.i1, torch.special.i1e)],
        (lambda x: torch.std_mean(x)[0], [2.0, 2.0], [0, 0]),
        (lambda x: sum(torch.std_mean(x, correction=0)), [2.0], [1]),
        (torch.sgn, [0j, 1j], [0, 1]),
        (torch.angle, [0j, 2 + 0j], [0, 0.5j]),
        (torch.amax, [2.0, 2.0, 1.0], [0.5, 0.5, 0]),
        (torch.amin, [2.0, 1.0, 1.0, 1.0], [0, 1 / 3, 1 / 3, 1 / 3]),
        (torch.std, [2.0, 2.0], [0, 0]),
        (lambda x: x[0].prod() * 5, [2.0, 3.0], [5, 0]),
        (torch.prod, [0.0, 2.0, 3.0], [6, 0, 0]),
        (torch.prod, [0.0, 2.0, 0.0], [0, 0, 0]),
        *[(lambda x, p=p: x.norm(p), [0.0, 0.0], [0, 0]) for p in (1, 1.5, 2, 3, math.inf)],
        *[(lambda x, p=p: x.norm(p), [0.0, -3.0], [0, -1]) for p in (1, 1.5, 2, 3, math.inf)],
    ],
)
def test_gradients_where_a_formula_divides_by_zero_or_several_win(function, value, gradient):
    x = torch.tensor(value, dtype=torch.complex128 if isinstance(value[0], complex) else torch.float64)
    x.requires_grad_()
    y = function(x)
    torch.view_as_real(y).sum().backward() if y.is_complex() else y.sum().backward()
    assert x.grad.tolist() == pytest.approx(gradient)


@pytest.mark.parametrize(
    "function, a, b, by_a, by_b",
    [
        (torch.maximum, [1, 2], [1, 3], [0.5, 0], [0.5, 1]),
        (torch.minimum, [1, 2], [1, 3], [0.5, 1], [0.5, 0]),
        (torch.fmax, [1, 2], [1, 3], [1, 0], [0, 1]),
        (torch.fmin, [1, 2], [1, 3], [1, 1], [0, 0]),
        (torch.nextafter, [1, 2], [1, 3], [0, 1], [0, 0]),
        (torch.heaviside, [0, 1], [5, 6], None, [1, 0]),
        (lambda x, y: torch.atan2(x.detach().to(torch.uint8), y), [200, 3], [2, 1], None, [-200 / 40004, -0.3]),
        (torch.copysign, [0, 2], [1, -1], [0, -1], [0, 0]),
        (torch.xlogy, [0, 0, 2], [0.5, -1, 3], [math.log(0.5), 0, math.log(3)], [0, 0, 2 / 3]),
        (torch.xlogy, [0], [0], [0], [math.nan]),
        (torch.pow, [0, 2, 0], [2, 3, 0], [0, 12, 0], [0, 8 * math.log(2), 0]),
    ],
)
def test_gradients_of_two_where_they_meet(function, a, b, by_a, by_b):
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (a, b))
    function(x, y).sum().backward()
    for t, want in ((x, by_a), (y, by_b)):
        assert t.grad is None if want is None else t.grad.tolist() == pytest.approx(want, nan_ok=True)


@pytest.mark.parametrize("dtype", [torch.int16, torch.float32, torch.float64])
def test_exponents_have_gradients_in_the_dtype_of_the_power(dtype):
    base = torch.tensor([-3, 2, -7, 0], dtype=dtype)
    z = torch.tensor([1 + 2j, 0.5 - 1j, 2, 1 + 1j], dtype=torch.complex128, requires_grad=True)
    (by_z,) = torch.autograd.grad(torch.pow(base, z).real.sum(), z, create_graph=True)
    log = base.to(z.dtype).log().where(base != 0, 0)
    expected = (torch.pow(base, z.detach()) * log).conj()
    torch.testing.assert_close(by_z.detach(), expected, rtol=1e-13, atol=0)
    (twice,) = torch.autograd.grad(by_z.real.sum(), z)
    torch.testing.assert_close(twice, expected * log.conj(), rtol=1e-13, atol=0)
    x = torch.tensor([1.5], dtype=torch.float64, requires_grad=True)
    torch.pow(base[1:2], x).sum().backward()
    assert x.grad.item() == pytest.approx(2**1.5 * math.log(2), rel=1e-15)


def test_bounds_that_need_gradients_are_tensors_even_without_dims():
    x, low, high = leaf(-1.0, 0.5, 4.0), torch.tensor(0.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    torch.clamp(x, low, high).backward(torch.tensor([1.0, 10.0, 100.0]))
    assert x.grad.tolist() == [0, 10, 0] and low.grad.item() == 1 and high.grad.item() == 100
    with pytest.raises(TypeError, match="alpha"):
        torch.add(x, x, alpha=high)


def test_gradients_of_clamp_go_where_a_comparison_holds():
    """NaN, of self or of a bound, is on no side; with bounds that have crossed, or meet, min has no part."""
    x, low, high = (
        leaf(math.nan, 1.0, 2.0, 5.0, 2.0, 2.0),
        leaf(1.0, math.nan, 1.0, 4.0, 3.0, 1.0),
        leaf(3.0, 3.0, math.nan, 1, 3, 3),
    )
    torch.clamp(x, low, high).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 0, 0, 1]
    assert low.grad.tolist() == [0, 0, 0, 0, 0, 0] and high.grad.tolist() == [0, 0, 0, 1, 0, 0]
    x, bound = leaf(math.nan, 1.0, 2.0), leaf(1.5, 1.5, 1.5)
    torch.clamp_min(x, bound).sum().backward()
    assert x.grad.tolist() == [0, 0, 1] and bound.grad.tolist() == [0, 1, 0]
    x.grad = bound.grad = None
    torch.clamp_max(x, bound).sum().backward()
    assert x.grad.tolist() == [0, 1, 0] and bound.grad.tolist() == [0, 0, 1]


def test_products_without_inner_elements_have_gradients():
    a, b = torch.ones(5, 4, 0, requires_grad=True), torch.ones(0, 3, requires_grad=True)
    (a @ b).sum().backward()
    assert a.grad.shape == (5, 4, 0) and b.grad.shape == (0, 3)
    x, w = torch.ones(2, 3, 0, requires_grad=True), torch.ones(4, 0, requires_grad=True)
    torch._C._functions()["nn.functional"]["linear"](x, w).sum().backward()
    assert x.grad.shape == (2, 3, 0) and w.grad.shape == (4, 0)
    v = torch.ones(0, requires_grad=True)
    (torch.ones(5, 4, 0) @ v).sum().backward()
    assert v.grad.shape == (0,)


def test_slopes_of_logaddexp_are_halves_where_both_are_equal_and_large():
    for f in (torch.logaddexp, torch.logaddexp2):
        x, y = (torch.tensor([1e20, -1e20, 3.0, 800.0], dtype=torch.float64, requires_grad=True) for _ in range(2))
        f(x, y).sum().backward()
        assert x.grad.tolist() == y.grad.tolist() == [0.5] * 4
    x, y = leaf(800.0, -800.0), leaf(-800.0, 800.0)
    slopes = torch.autograd.grad(torch.logaddexp(x, y).sum(), (x, y), create_graph=True)
    assert slopes[0].tolist() == [1, 0] and slopes[1].tolist() == [0, 1]
    assert torch.autograd.grad(slopes[0].sum(), x)[0].tolist() == [0, 0]


def test_the_second_slope_of_elu_at_its_bend_is_that_from_the_right():
    x = torch.tensor([0.0, -1.0, 1.0], dtype=torch.float64, requires_grad=True)
    elu = torch._C._operator("elu")
    (slope,) = torch.autograd.grad(elu(x).sum(), x, create_graph=True)
    assert torch.autograd.grad(slope.sum(), x)[0].tolist() == pytest.approx([0, math.exp(-1), 0])


def test_logit_has_a_slope_where_it_is_defined():
    x = torch.tensor([0.25, math.inf, -math.inf, 2.0, math.nan], dtype=torch.float64, requires_grad=True)
    torch.logit(x).sum().backward()
    assert x.grad[0].item() == pytest.approx(1 / (0.25 * 0.75)) and x.grad[1:].isnan().all()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_tensor_with_a_history_is_pickled_as_a_leaf(protocol):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.note = "mine"
    with torch.no_grad():
        view = x[:1]
    for t in (y, y[:1], y.view(2, 1).t(), view):
        back = pickle.loads(pickle.dumps(t, protocol))
        assert torch.equal(back, t) and back.requires_grad and back.is_leaf and type(back) is type(t)
    assert pickle.loads(pickle.dumps(y, protocol)).note == "mine"


@pytest.mark.filterwarnings("ignore:This overload of add is deprecated")
def test_gradients_flow_through_arguments_in_the_order_of_2018():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    y = torch.ones(2, dtype=torch.float64, requires_grad=True)
    torch.add(x, 3, y).sum().backward()
    assert x.grad.tolist() == [1, 1] and y.grad.tolist() == [3, 3]


def test_a_gradient_of_whole_numbers_becomes_one_of_the_results_dtype():
    x = torch.ones(2, requires_grad=True)
    x.sum().backward(torch.tensor(3))
    assert x.grad.tolist() == [3, 3] and x.grad.dtype == torch.float32


def test_a_quotient_is_called_so_under_both_names():
    x = torch.ones(2, requires_grad=True)
    assert {(x / 2).grad_fn.name(), torch.div(x, 2).grad_fn.name(), torch.true_divide(x, x).grad_fn.name()} == {
        "DivBackward0"
    }
    assert repr(x / 2) == "tensor([0.5000, 0.5000], grad_fn=<DivBackward0>)"


@pytest.mark.parametrize("sequence", [list, tuple])
def test_backward_takes_a_sequence_of_one_gradient(sequence):
    x = torch.ones(2, requires_grad=True)
    (2 * x).backward(sequence([torch.tensor([1.0, 3.0])]))
    assert x.grad.tolist() == [2, 6]
    (2 * x).sum().backward(sequence([None]))
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="got 1 tensors and 0 gradients"):
        (2 * x).backward(sequence([]))
    with pytest.raises(TypeError, match="expected Tensors or None, but element 0 is of type float"):
        (2 * x).backward(sequence([1.0]))


@pytest.mark.parametrize("dim", [None, 0, (0, 1)])
def test_the_gradient_of_a_mean_may_be_written_to(dim):
    x = torch.ones(3, 4, requires_grad=True)
    (g,) = torch.autograd.grad(x.mean(dim).sum(), x)
    expected = g.clone() * 2
    assert torch.equal(g.mul_(2), expected)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_a_deep_copy_has_the_gradient_of_its_tensor(requires_grad):
    x = torch.zeros(2, requires_grad=requires_grad)
    x.grad = torch.ones(2)
    twin, gradient = copy.deepcopy([x, x.grad])
    assert twin.grad is gradient and gradient is not x.grad and gradient.tolist() == [1, 1]
    sparse = torch.zeros(2).to_sparse().requires_grad_(requires_grad)
    sparse.grad = torch.ones(2).to_sparse()
    assert copy.deepcopy(sparse).grad.to_dense().tolist() == [1, 1]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda y: torch.autograd.grad(y, 3), "grad: inputs"),
        (lambda y: torch.autograd.grad(3, y), "grad: outputs"),
        (lambda y: torch.autograd.backward(3), "backward: tensors"),
    ],
)
def test_what_is_no_tensor_is_named(call, name):
    with pytest.raises(TypeError, match=f"{name} must be a tensor or several, got int: 3"):
        call(torch.ones(1, requires_grad=True).sum())


def test_gradients_do_not_vanish_in_distinct_elements():
    x = leaf(3.0, 1.0, 3.0)
    for function, dim in ((torch.unique, None), (torch.unique, 0), (torch.unique_consecutive, None)):
        found = values, _, _ = function(x, return_inverse=True, return_counts=True, dim=dim)
        assert all(t.requires_grad == (t is values) for t in found)
        with pytest.raises(NotImplementedError, match="unique: the derivative is not implemented"):
            (values.sum() + x.sum()).backward()
    assert x.grad is None


@pytest.mark.parametrize("parts, expected", [([1 + 2j, 3 - 1j], [3, 1]), ([1j, 3], [3, 0]), ([0, 2j], [0, 0])])
def test_a_real_product_of_complex_numbers_is_differentiated_by_the_real_parts(parts, expected):
    z = torch.tensor(parts, dtype=torch.complex128, requires_grad=True)
    z.prod(dtype=torch.float64).backward()
    assert z.grad.tolist() == expected


def test_where_a_slope_is_masked_that_of_the_gradient_is_zero():
    """0 / 0 behind a mask would come back as NaN in the derivative by the gradient that came in."""
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.0, 3.0, -0.0], [0.0, 4.0, 0.0]))
    for function, slopes in (
        (lambda: torch.copysign(x, -1.0), {x: [0.0, -1.0, 0.0]}),
        (lambda: torch.atan2(x, y), {x: [0.0, 4 / 25, 0.0], y: [0.0, -3 / 25, 0.0]}),
    ):
        for leaf, want in slopes.items():
            g = torch.ones(3, dtype=torch.float64, requires_grad=True)
            (found,) = torch.autograd.grad(function(), leaf, g, create_graph=True)
            (by_g,) = torch.autograd.grad(found.sum(), g)
            for each in found, by_g:
                torch.testing.assert_close(each, torch.tensor(want, dtype=torch.float64))
