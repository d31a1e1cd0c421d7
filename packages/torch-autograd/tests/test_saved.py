"""What nodes of the graph show of the tensors that they saved."""

import gc
import weakref

import pytest
import torch

VALUES = [0.5, 1.5, 2.5]


def leaf():
    return torch.tensor(VALUES, dtype=torch.float64, requires_grad=True)


def saved_names(node):
    return {name.removeprefix("_saved_") for name in dir(node) if name.startswith("_saved_")}


def test_a_node_shows_the_inputs_and_the_result_that_its_derivative_needs():
    x, factor = leaf(), torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64)
    assert (x * factor).grad_fn._saved_other.tolist() == [2, 3, 4]
    y = x.exp()
    assert y.grad_fn._saved_result.equal(y) and y.grad_fn._saved_result is not y
    assert saved_names((x * x).grad_fn) == {"self", "other"}
    assert saved_names(y.grad_fn) == {"result"}
    assert saved_names((x + 1).grad_fn) == set()
    assert x.view(1, 3).max(1)[0].grad_fn._saved_indices.tolist() == [2]


def test_the_saved_tensor_of_a_leaf_is_the_leaf():
    x = leaf()
    assert x.sin().grad_fn._saved_self is x
    y = x * 2
    assert y.sin().grad_fn._saved_self.grad_fn is y.grad_fn
    assert y.exp().grad_fn._saved_result.requires_grad


def test_constants_are_told_from_inputs_of_the_graph_by_name():
    x = leaf()
    lowest = torch.zeros(3, dtype=torch.float64)
    node = torch.where(x.detach() > 1, x, lowest).grad_fn
    assert node._saved_condition.tolist() == [False, True, True]
    node = torch.addcmul(x, lowest + 5, x).grad_fn
    assert node._saved_tensor1.tolist() == [5, 5, 5]
    with pytest.raises(AttributeError, match="_saved_self"):
        _ = node._saved_self


def test_an_overwritten_input_is_shown_as_it_was():
    x = leaf()
    y = x * 1
    y.sin_()
    assert y.grad_fn._saved_self.tolist() == VALUES


def test_a_node_that_let_go_of_its_tensors_says_so():
    x = leaf()
    y = x.exp()
    node = y.grad_fn
    raw = node._raw_saved_result
    y.sum().backward()
    with pytest.raises(RuntimeError, match="ExpBackward0.*already been freed.*retain_graph=True"):
        _ = node._saved_result
    with pytest.raises(RuntimeError, match="already been freed"):
        raw.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(AttributeError):
        _ = node._savings


def test_an_in_place_change_is_an_error_where_the_tensor_is_shown():
    y = leaf() * 1
    z = y.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match="exp: one of the variables needed for gradient computation"):
        _ = z.grad_fn.next_functions[0][0]._saved_result


def test_one_saved_tensor_is_packed_by_hooks_of_its_own():
    x = leaf()
    y = x.exp()
    packed = []

    def pack(tensor):
        packed.append(tensor.tolist())
        return tensor.clone() * 8

    y.grad_fn._raw_saved_result.register_hooks(pack, lambda tensor: tensor / 4)
    assert packed == [y.tolist()]
    assert y.grad_fn._saved_result.equal(y * 2)
    y.sum().backward()
    assert x.grad.equal(y.detach() * 2)
    again = x.exp().grad_fn._raw_saved_result
    again.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="has hooks already"):
        again.register_hooks(lambda t: t, lambda t: t)


def test_what_hooks_of_a_block_packed_is_unpacked_when_it_is_shown():
    x = leaf()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda v: torch.tensor(v, dtype=torch.float64)):
        y = x.sin()
    assert y.grad_fn._saved_self.tolist() == VALUES


def test_looking_at_a_saved_tensor_holds_no_graph():
    x = leaf()
    y = x * x
    node = weakref.ref(y.grad_fn)
    raw = y.grad_fn._raw_saved_self
    _ = y.grad_fn._saved_self
    del y, raw
    gc.collect()
    assert node() is None


def test_the_node_that_a_gradient_goes_to_is_found_by_tensor_and_by_edge():
    from torch.autograd.graph import _get_grad_fn_or_grad_acc, get_gradient_edge

    x = leaf()
    y = x * 2
    assert _get_grad_fn_or_grad_acc(y) is y.grad_fn is _get_grad_fn_or_grad_acc(get_gradient_edge(y))
    assert _get_grad_fn_or_grad_acc(x).variable is x
    with pytest.raises(RuntimeError, match="does not require gradients"):
        _get_grad_fn_or_grad_acc(x.detach())
