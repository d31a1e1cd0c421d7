"""Changes in place, views, and what cuts or exchanges tensors, in every order over a base and its views."""

import itertools

import pytest
import torch
from torch.autograd import gradcheck


def weight():
    return torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)


def plain(w):
    return torch.arange(1.0, 5.0, dtype=torch.float64)


def made(w):
    return torch.cat([w, w * w])


def leaf(w):
    return plain(w).requires_grad_()


def without_gradients(action):
    def act(b, v, w):
        with torch.no_grad():
            action(b, v, w)

    act.__name__ = f"no_grad_{action.__name__}"
    return act


def change_view(b, v, w):
    v.mul_(w[: len(v)])


def fill_view(b, v, w):
    v.fill_(3)


def change_base(b, v, w):
    b.mul_(2)


def change_base_by_weight(b, v, w):
    b.add_(w.sum())


def change_another_view(b, v, w):
    b.view(-1)[-2:].mul_(w)


def detach_base(b, v, w):
    b.detach_()


def detach_view(b, v, w):
    v.detach_()


def change_detached(b, v, w):
    v.detach().mul_(2)


def exchange_base(b, v, w):
    b.data = torch.ones(4, dtype=torch.float64)


def exchange_base_for_float32(b, v, w):
    b.data = torch.ones(4)


def exchange_view(b, v, w):
    v.data = torch.ones(2, dtype=torch.float64)


def exchange_view_for_float32(b, v, w):
    v.data = torch.ones(3)


def set_base(b, v, w):
    b.set_(torch.ones(6, dtype=torch.float64))


def set_view(b, v, w):
    v.set_(torch.ones(3, dtype=torch.float64))


def resize_base(b, v, w):
    b.resize_(2)


def resize_view(b, v, w):
    v.resize_(1)


def require_base(b, v, w):
    b.requires_grad_()


def require_view(b, v, w):
    v.requires_grad_()


def release_base(b, v, w):
    b.requires_grad_(False)


def transpose_base(b, v, w):
    b.unsqueeze_(0)


ACTIONS = [
    change_view, fill_view, change_base, change_base_by_weight, change_another_view, detach_base, detach_view, change_detached,
    exchange_base, exchange_base_for_float32, exchange_view, exchange_view_for_float32, set_base, set_view, resize_base,
    resize_view, require_base, require_view, release_base, transpose_base,
]  # fmt: skip
ACTIONS += [without_gradients(a) for a in (fill_view, change_base, set_base, set_view, resize_base, resize_view)]


RESIZING = {a for a in ACTIONS if any(word in a.__name__ for word in ("exchange", "set_", "resize"))}


def in_view(b):
    return b[:2]


def in_view_without_gradients(b):
    with torch.no_grad():
        return b[:2]


def use(b, v, w, resized):
    """Everything that asks for a history. A tensor that was given another size has no gradient of its node's shape."""
    for t in (b, v, b.view(-1)[:1], v.view(-1)[:1]):
        claims = t.requires_grad
        assert claims or t.grad_fn is None
        assert t.is_leaf == (t.grad_fn is None)
        try:
            (t.sum() * w.sum()).backward(retain_graph=True)
            if claims and t.grad_fn is not None:
                t.sum().backward(retain_graph=True)
        except RuntimeError as error:
            assert resized or "modified by an inplace operation" in str(error), error


@pytest.mark.parametrize("view", [in_view, in_view_without_gradients])
@pytest.mark.parametrize("make", [plain, made, leaf])
def test_every_order_ends_in_a_use_or_an_error(make, view):
    pairs = list(itertools.product(ACTIONS, repeat=2))
    for actions in pairs + [(first, *pair) for first in (change_view, change_base_by_weight) for pair in pairs]:
        w = weight()
        b = make(w)
        v = view(b)
        for action in actions:
            try:
                action(b, v, w)
            except (RuntimeError, IndexError):
                continue
        use(b, v, w, RESIZING & set(actions))


@pytest.mark.parametrize("cut", [detach_base, exchange_base, exchange_base_for_float32, set_base])
def test_a_view_keeps_its_history_when_the_base_is_cut_off(cut):
    w, b = weight(), plain(None)
    v = b[:2]
    v.mul_(w)
    with torch.no_grad():
        cut(b, v, w)
    v.sum().backward()
    assert w.grad.tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_view_keeps_its_history_when_its_data_is_exchanged(dtype):
    w, b = weight(), plain(None)
    v = b[:2]
    v.mul_(w)
    v.data = torch.ones(2, dtype=dtype)
    assert v._base is None
    v.sum().backward()
    assert w.grad.tolist() == [1, 2]


def test_truncated_backpropagation_cuts_the_buffer_that_views_were_written_to():
    w, state = weight(), torch.ones(4, dtype=torch.float64)
    for _ in range(3):
        state.detach_()
        state[:2].mul_(w)
        w.grad = None
        state.sum().backward()
    assert w.grad.tolist() == [4, 9]


def test_a_view_of_exchanged_memory_is_no_view_any_more():
    w, b = weight(), plain(None)
    v = b[:2]
    b.data = torch.ones(4, dtype=torch.float64)
    v.mul_(w)
    assert not b.requires_grad and b.tolist() == [1, 1, 1, 1]
    v.sum().backward()
    assert w.grad.tolist() == [1, 2]


def test_a_view_beyond_a_base_that_shrank_is_not_changed():
    w, b = weight(), plain(None)
    v = b[:2]
    b.resize_(1)
    with pytest.raises(RuntimeError, match=r"mul_: the view of shape \(2,\) reaches beyond its base of shape \(1,\)"):
        v.mul_(w)
    assert v.tolist() == [1, 2]
    v.mul_(2)  # nothing to be recorded
    assert v.tolist() == [2, 4]


# --- numbers: a change through any view is that change of the base

VIEWS = {
    "slice": lambda b: b[1:3],
    "select": lambda b: b[2],
    "transposed": lambda b: b.view(2, 2).t()[1],
    "reversed rows": lambda b: b.view(2, 2)[-1:],
    "strided": lambda b: b[::2],
    "real parts": lambda b: (torch.view_as_real(b) if b.is_complex() else b)[1:].reshape(-1)[:4:3],
    "imaginary": lambda b: b.imag[1:] if b.is_complex() else b[1:],
    "complex": lambda b: b[1:] if b.is_complex() else torch.view_as_complex(b.view(2, 2)),
    "complex row": lambda b: b[:1] if b.is_complex() else torch.view_as_complex(b.view(2, 2))[1:],
}  # fmt: skip
CHANGES = {
    "mul": lambda t, w: t.mul_(w.sum()),
    "sin": lambda t, w: t.sin_(),
    "fill": lambda t, w: t.fill_(w[0].real if not t.is_complex() else w[0]),
    "own square": lambda t, w: t.mul_(t.clone()),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("first, second", itertools.product(VIEWS, repeat=2))
def test_changes_through_two_views_have_the_gradient_of_finite_differences(dtype, first, second):
    w = torch.linspace(0.3, 0.6, 4, dtype=torch.float64).to(dtype).requires_grad_()
    for change, another in zip(CHANGES, [*list(CHANGES)[1:], "mul"]):

        def function(w, change=change, another=another):
            b = w * 1.5
            one, two = VIEWS[first](b), VIEWS[second](b)
            real = w if one.is_complex() == w.is_complex() else w.real
            CHANGES[change](one, real if one.dtype == w.dtype or not w.is_complex() else w.real)
            CHANGES[another](two, w if two.is_complex() or not w.is_complex() else w.real)
            return b, one * 2, two * 3

        assert gradcheck(function, (w,), check_undefined_grad=False)
