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
