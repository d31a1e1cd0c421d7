import pytest
import torch


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_error_of_a_changed_input_names_the_operator_and_both_lines():
    a, b = leaf(1.0, 2.0), torch.ones(2)
    y = a * b
    b.add_(1)
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    text = str(error.value)
    assert text.startswith(
        "mul: one of the variables needed for gradient computation has been modified by an inplace operation: "
    )
    assert f"mul at {__file__}:11 saved its input (2,) torch.float32 at version 0" in text
    assert f"add_ at {__file__}:12 changed it; it is now at version 1" in text


def test_error_of_a_changed_result():
    y = leaf(1.0).exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="exp.*saved its result.*mul_ at .* changed it"):
        y.sum().backward()


def test_in_place_on_a_result_continues_its_history():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.mul_(2)
    y.add_(1)
    y.sum().backward()
    assert y.tolist() == [7, 13] and x.grad.tolist() == [6, 6]


def test_in_place_keeps_the_old_self_where_the_gradient_needs_it():
    x, w = leaf(3.0), leaf(2.0)
    y = x * 1
    y.mul_(w)
    y.sum().backward()
    assert (x.grad.item(), w.grad.item()) == (2, 3)


def test_double_backward_through_in_place():
    x, w = leaf(3.0), leaf(2.0)
    y = x * x
    y.mul_(w)
    gx, gw = torch.autograd.grad(y.sum(), (x, w), create_graph=True)
    assert (gx.item(), gw.item()) == (12, 9)
    (g,) = torch.autograd.grad(gw.sum(), x)
    assert g.item() == 6


def test_in_place_on_a_leaf():
    x = leaf(1.0)
    with pytest.raises(
        RuntimeError, match="^add_: a leaf Variable that requires grad is being used in an in-place operation."
    ):
        x.add_(1)
    assert x.item() == 1 and x._version == 0
    with torch.no_grad():
        x.add_(1)
    assert x.item() == 2


def test_in_place_on_a_view_of_a_leaf():
    x = leaf(1.0, 2.0)
    with pytest.raises(
        RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation."
    ):
        x[0].zero_()


def test_in_place_on_a_view_is_part_of_the_bases_history():
    x, w = leaf(1.0, 2.0, 3.0), leaf(5.0)
    y = x * 2
    v = y[1:]
    v.mul_(w)
    assert y.grad_fn.name() == "CopySlices" and v.grad_fn.name() == "AsStridedBackward0"
    (y * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [2, 100, 1000]
    assert w.grad.item() == 10 * 4 + 100 * 6


def test_gradient_through_the_view_after_its_base_was_changed():
    x = leaf(1.0, 2.0)
    y = x * 2
    v = y[0]
    y.mul_(3)
    v.backward()
    assert x.grad.tolist() == [6, 0]


def test_a_view_joins_the_graph_that_its_base_became_part_of():
    x, w = torch.zeros(3), leaf(1.0, 2.0, 3.0)
    v = x[0]
    x.copy_(w)
    assert v.requires_grad
    (v * 3).backward()
    assert w.grad.tolist() == [3, 0, 0]


def test_filling_a_buffer_piece_by_piece():
    w = leaf(1.0, 2.0)
    out = torch.zeros(2, 2)
    for i in range(2):
        out[i] = w * (i + 1)
    (out * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert w.grad.tolist() == [7, 10]


def test_in_place_on_an_expanded_view_sums():
    x = leaf(2.0)
    y = x * 1
    z = y.expand(3)
    z.sum().backward()
    assert x.grad.item() == 3


def test_one_of_several_views_cannot_be_changed():
    x = leaf(1.0, 2.0) * 1
    a, _ = x.unbind(0)
    with pytest.raises(RuntimeError, match="Output 0 of UnbindBackward0 is a view and is being modified inplace"):
        a.mul_(2)


@pytest.mark.parametrize("parts", [lambda x: x.chunk(2), lambda x: x.split(2), lambda x: x.unbind(0)])
def test_one_of_several_views_takes_no_gradient_of_another_tensor(parts):
    x = torch.zeros(4)
    one, another = parts(x)[:2]
    with pytest.raises(RuntimeError, match="returns multiple views"):
        one.add_(torch.ones(one.shape, requires_grad=True))
    assert x.tolist() == [0] * 4 and not x.requires_grad
    one.add_(1)
    another.add_(2)


def test_a_leaf_that_is_a_view_is_not_changed_through_its_own_views():
    base = torch.ones(4)
    x = base[:3].requires_grad_()
    for y in (x[1:], x[1:].view(-1), x.as_strided((2,), (1,), 1)):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            y.mul_(2)
        assert base.tolist() == [1] * 4
        with torch.no_grad():
            y.mul_(1)
    y.sum().backward()  # whatever was changed without gradients
    assert x.grad.tolist() == [0, 1, 1]
    y = x[1:]
    base.mul_(2)  # a base that needs no gradient may change
    y.sum().backward()
    assert x.tolist() == [2] * 3 and x.grad.tolist() == [0, 2, 2]


def test_data_of_what_requires_a_gradient_is_of_a_dtype_that_has_one():
    for x in (torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True) * 1):
        for dtype in (torch.int64, torch.bool):
            with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
                x.data = torch.ones(3, dtype=dtype)
            assert (x.shape, x.dtype) == ((2,), torch.float32)
        x.data = torch.ones(3, dtype=torch.complex64)
        assert x.dtype == torch.complex64


def test_a_view_made_without_gradients_cannot_be_changed_with_them():
    x = leaf(1.0, 2.0) * 1
    with torch.no_grad():
        v = x[0]
    with pytest.raises(
        RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode enabled"
    ):
        v.mul_(leaf(2.0)[0])


def test_data_does_not_share_the_version():
    x = leaf(1.0, 2.0)
    y = x.sigmoid()
    y.data.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]  # silently wrong, as users of .data know


def test_detach_shares_the_version():
    x = leaf(1.0, 2.0)
    y = x.sigmoid()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*sigmoid.*zero_"):
        y.sum().backward()


def test_detach_in_place_of_a_view():
    v = (leaf(1.0, 2.0) * 1)[0]
    with pytest.raises(RuntimeError, match="Can't detach views in-place. Use detach"):
        v.detach_()


def test_transpose_in_place():
    x = torch.ones(2, 3, requires_grad=True)
    y = x * torch.arange(6.0).reshape(2, 3)
    y.transpose_(0, 1)
    (y * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.tolist() == (torch.arange(6.0).reshape(2, 3) * torch.arange(6.0).reshape(3, 2).t()).tolist()


ARGUMENTS = [
    (), (2,), (0,), (0.5,), (0.2, 0.7), (0, 1), (2, 0, 1.0), (0, torch.tensor([1, 0]), 0.25),
    (torch.linspace(0.2, 0.8, 4, dtype=torch.float64).view(2, 2),),
    (torch.linspace(0.2, 0.8, 4, dtype=torch.float64).view(2, 2), 0.5),
    (torch.tensor([[True, False], [False, True]]), 0.5),
    (0, torch.tensor([1, 0]), torch.linspace(0.2, 0.8, 4, dtype=torch.float64).view(2, 2)),
    (0, torch.tensor([[1, 0], [0, 1]]), torch.linspace(0.2, 0.8, 4, dtype=torch.float64).view(2, 2)),
    *[tuple(torch.linspace(a, b, 4, dtype=torch.float64).view(2, 2) for a, b in ((0.2, 0.8), (0.5, 0.9))[:n]) for n in (2,)],
]  # fmt: skip
METHODS = sorted(
    m for m in dir(torch.Tensor) if m.endswith("_") and not m.startswith("_") and hasattr(torch.Tensor, m[:-1])
)


def results_of(method, arguments, in_place):
    """The result and the gradients by the tensor and by the arguments; None where the call is refused."""
    x = torch.tensor([[0.3, 0.6], [0.8, 0.4]], dtype=torch.float64, requires_grad=True)
    arguments = [
        a.clone().requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments
    ]
    torch.manual_seed(0)
    y = x * 1
    try:
        result = getattr(y, method)(*arguments)
    except (RuntimeError, TypeError, IndexError, ValueError, AttributeError):
        return None
    if not isinstance(result, torch.Tensor) or not result.is_floating_point() or not result.requires_grad:
        return None
    if in_place:
        assert result is y
    wanted = [x, *[a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]]
    return [result.detach(), *torch.autograd.grad(result.sum(), wanted, allow_unused=True)]


def test_every_in_place_method_has_the_gradient_of_the_method_without_the_underscore():
    compared = set()
    for method in METHODS:
        for arguments in ARGUMENTS:
            expected, got = results_of(method[:-1], arguments, False), results_of(method, arguments, True)
            if expected is None or got is None or expected[0].shape != got[0].shape:
                continue
            if not torch.equal(expected[0], got[0]):  # drawn anew
                continue
            compared.add(method)
            for e, g in zip(expected, got):
                e, g = (torch.zeros(2, 2, dtype=torch.float64) if t is None else t for t in (e, g))
                torch.testing.assert_close(g, e, msg=lambda text, call=(method, arguments): f"{call}: {text}")
    assert len(compared) > 90 and {"cumprod_", "renorm_", "float_power_", "lerp_", "addcmul_"} <= compared


@pytest.mark.parametrize("method, arguments", [("cumprod_", (0,)), ("renorm_", (2, 0, 1.0)), ("float_power_", (2.0,))])
def test_in_place_forms_of_compositions_differentiate(method, arguments):
    x = torch.full((2, 2), 0.9, dtype=torch.float64, requires_grad=True)
    for _ in range(2):  # on a result, and on a view of one
        getattr(x * 1, method)(*arguments).sum().backward()
        y = torch.cat([x, x])
        getattr(y[:2], method)(*arguments)
        y[:2].sum().backward()
    once = x.grad / 4
    (expected,) = torch.autograd.grad(getattr(x, method[:-1])(*arguments).sum(), x)
    torch.testing.assert_close(once, expected)


# --- which views may be changed

REFUSED_VIEWS = {
    "of a leaf": lambda x: (x.requires_grad_(), x[:2])[1],
    "older than requires_grad": lambda x: (x[:2], x.requires_grad_())[0],
    "of a view older than requires_grad": lambda x: (x.view(2, 2)[0], x.requires_grad_())[0],
    "made in no_grad": lambda x: torch.no_grad()(lambda: x.requires_grad_()[:2])(),
    "made in inference_mode": lambda x: torch.inference_mode()(lambda y: y[:2])(x.requires_grad_()),
    "of a view made in no_grad": lambda x: torch.no_grad()(lambda: x.requires_grad_().view(2, 2))()[0],
    "one of several made in no_grad": lambda x: torch.no_grad()(lambda: x.requires_grad_().split(2))()[0],
    "made in no_grad, older than requires_grad": lambda x: (torch.no_grad()(lambda: x[:2])(), x.requires_grad_())[0],
    "of parts made in no_grad": lambda x: torch.no_grad()(lambda: x.requires_grad_().view(2, 2).unbind())()[0],
}  # fmt: skip
WRITES = {
    "mul_": lambda v: v.mul_(5),
    "setitem": lambda v: v.__setitem__(0, 5),
    "a view of it": lambda v: v[:1].mul_(5),
    "fill_": lambda v: v.fill_(5),
    "copy_": lambda v: v.copy_(torch.ones(2) * 5),
    "a weight": lambda v: v.mul_(leaf(1.0, 2.0)),
    "out": lambda v: torch.add(torch.ones(2), 4, out=v),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", REFUSED_VIEWS)
def test_a_leaf_is_not_changed_through_a_view_however_old(view, write):
    x = torch.ones(4)
    v = REFUSED_VIEWS[view](x)
    assert v.requires_grad
    with pytest.raises(RuntimeError, match="view of a leaf|created in no_grad mode|out="):
        WRITES[write](v)
    assert x.tolist() == [1, 1, 1, 1] and x._version == 0
    with torch.no_grad():
        v.mul_(5)
    assert x.tolist() == [5, 5, 1, 1]


def test_a_view_older_than_requires_grad_is_part_of_the_graph():
    x = torch.ones(4)
    v = x[:2]
    x.requires_grad_()
    (v * 3).sum().backward()
    assert x.grad.tolist() == [3, 3, 0, 0]


def test_a_view_made_without_gradients_stays_outside_of_the_graph():
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        v = x[:1]
    assert v.requires_grad and v.is_leaf and not (v * 2).requires_grad and not (v.view(-1) * 2).requires_grad
    v.requires_grad_()  # becomes a leaf of its own
    (v * 2).sum().backward()
    assert v.grad.tolist() == [2] and x.grad is None


def test_a_view_made_without_gradients_of_what_needs_none_any_more():
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        v = x[:1]
    x.requires_grad_(False)
    assert not v.requires_grad
    v.mul_(3)
    assert x.tolist() == [3, 2]


def test_a_view_made_without_gradients_and_given_other_data_has_views_of_its_own():
    x = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        v = x[:2]
    assert v.requires_grad
    v.data = torch.full((3,), 2.0)
    assert not v.requires_grad and v.grad_fn is None
    with torch.no_grad():
        w = v.expand(2, -1)
    for y in (w, v[1:], v.view(-1)):
        assert not y.requires_grad and y.sum() == 2 * y.numel()
    v[1:].mul_(torch.ones(1, requires_grad=True))
    assert v.requires_grad


@pytest.mark.parametrize(
    "call", [torch.exp, lambda x, out: torch.mul(x, 2, out=out), lambda x, out: torch.add(1, x, out=out)]
)
def test_out_over_the_memory_of_what_requires_a_gradient_is_refused_before_it_is_written(call):
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="one of the arguments requires grad"):
        call(x, out=x.detach())
    assert x.tolist() == [1, 1, 1] and x._version == 0
    with torch.no_grad():
        right = call(x, out=torch.empty(0))
        assert call(x, out=x.detach()).tolist() == right.tolist() == x.tolist()


@pytest.mark.parametrize(
    "name", ["hardtanh", "relu6", "erfinv", "sin", "log", "celu", "hardsigmoid", "hardswish", "softplus", "i0"]
)
def test_the_result_of_what_keeps_its_input_can_be_changed(name):
    """Programs for PyTorch do so; functions that keep their result refuse there, too (tanh, sigmoid, exp, sqrt, relu)."""
    function = getattr(torch, name, None) or getattr(torch.ops.aten, name)
    x = torch.tensor([-0.7, 0.3, 0.9], dtype=torch.float64).abs_().requires_grad_()
    (expected,) = torch.autograd.grad(function(x).sum(), x)
    y = function(x)
    y.mul_(3)
    y.sum().backward()
    torch.testing.assert_close(x.grad, 3 * expected)


@pytest.mark.parametrize("size, stride", [((5, 5), (0, 1)), ((2, 5), (0, 1)), ((5,), (1,)), ((3, 3), (1, 1))])
def test_as_strided_of_an_expanded_tensor_gives_each_place_its_gradient_once(size, stride):
    x = torch.arange(5.0, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda x: x.expand(5, 5).as_strided(size, stride, 0), [x])
    torch.autograd.gradgradcheck(lambda x: x.expand(5, 5).as_strided(size, stride, 0) ** 2, [x])


def test_an_expanded_tensor_is_not_copied_to_itself_where_gradients_are_recorded():
    x = torch.rand(3, requires_grad=True)
    y = x * 1
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        (e := y.expand(2, 3)).copy_(e)
    y.copy_(y)
    (grad,) = torch.autograd.grad((y * y).sum(), x)
    assert torch.equal(grad, 2 * x)
    plain = torch.rand(3).expand(2, 3)
    assert plain.copy_(plain) is plain
