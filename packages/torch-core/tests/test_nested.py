"""Nested tensors: rows of several lengths, packed (torch.jagged) or one by one (torch.strided)."""

import copy
import pickle

import pytest
import torch

A, B = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(4, 3)
LAYOUTS = [torch.jagged, torch.strided]


def rows(nested):
    return list(nested.unbind())


def agree(nested, expected):
    found = rows(nested)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        assert torch.allclose(a, b)


@pytest.fixture(params=LAYOUTS, ids=["jagged", "strided"])
def layout(request):
    return request.param


def make(layout):
    return torch.nested.nested_tensor([A, B], layout=layout)


def test_a_nested_tensor_is_a_tensor_of_its_layout(layout):
    x = make(layout)
    assert isinstance(x, torch.Tensor) and x.is_nested and not A.is_nested
    assert (x.layout, x.dtype, x.dim(), x.ndim, x.numel(), len(x)) == (layout, torch.float32, 3, 3, 18, 2)
    agree(x, [A, B])
    assert torch.equal(x[1], B) and torch.equal(x[0, 1], A[1]) and torch.equal(x.select(0, -1), B)
    agree(x[..., 0], [A[:, 0], B[:, 0]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: 2 - x,
        lambda x: (x * x).sqrt(),
        lambda x: x > 2,
        lambda x: torch.where(x > 2, x, 0.0),
        lambda x: x.masked_fill(x > 2, -1.0),
        lambda x: torch.clamp(x, 1, 3).double(),
        lambda x: torch.zeros_like(x),
        lambda x: x.softmax(-1),
        lambda x: x.sum(-1, keepdim=True),
        lambda x: x.mean(-1),
        lambda x: x @ torch.ones(3, 5),
        lambda x: x.transpose(-2, -1),
        lambda x: x.unsqueeze(-1).squeeze(-1),
        lambda x: x.unflatten(-1, (3, 1)),
        lambda x: x.to(torch.float64).clone(),
        lambda x: torch.nn.functional.layer_norm(x, (3,)) if hasattr(torch, "nn") else x,
    ],
)
def test_operators_do_to_each_row_what_they_do_to_a_tensor(layout, function):
    agree(function(make(layout)), [function(A), function(B)])


def test_softmax_and_cumsum_along_the_ragged_dim(layout):
    x = make(layout)
    agree(x.softmax(1), [A.softmax(0), B.softmax(0)])
    agree(x.cumsum(1), [A.cumsum(0), B.cumsum(0)])


def test_reductions_of_all_elements(layout):
    x = make(layout)
    assert x.sum().item() == 81 and x.max().item() == 11 and (x > -1).all()
    assert x.mean().item() == pytest.approx(81 / 18)


def test_a_reduction_over_the_ragged_dim_is_a_plain_tensor():
    x = make(torch.jagged)
    assert torch.equal(x.sum(1), torch.stack([A.sum(0), B.sum(0)]))
    assert torch.equal(x.sum(1, keepdim=True), torch.stack([A.sum(0, True), B.sum(0, True)]))
    assert torch.equal(x.max(1).indices, torch.stack([A.max(0).indices, B.max(0).indices]))
    assert torch.equal(x.sum((0, 1)), A.sum(0) + B.sum(0))
    with pytest.raises(RuntimeError, match="only together with their ragged dim 1"):
        x.sum(0)


def test_plain_tensors_broadcast_beside_nested_ones(layout):
    x, per_row = make(layout), torch.tensor([10.0, 20.0]).view(2, 1, 1)
    agree(x + per_row, [A + 10, B + 20])
    agree(x * torch.tensor([1.0, 2.0, 3.0]), [A * torch.tensor([1.0, 2.0, 3.0]), B * torch.tensor([1.0, 2.0, 3.0])])
    with pytest.raises(RuntimeError, match="does not go beside a nested one"):
        x + torch.ones(3, 4, 3)


def test_padding(layout):
    padded = make(layout).to_padded_tensor(-1.0)
    assert (
        padded.shape == (2, 4, 3) and torch.equal(padded[0, 2:], torch.full((2, 3), -1.0)) and torch.equal(padded[1], B)
    )
    assert torch.nested.to_padded_tensor(make(layout), 0.0, (2, 5, 3)).shape == (2, 5, 3)


def test_the_shape_holds_a_size_that_is_equal_only_to_itself():
    x = make(torch.jagged)
    size = x.size(1)
    assert x.shape == (2, size, 3) and (x * 2).shape == x.shape and repr(x.shape) == f"torch.Size([2, {size}, 3])"
    assert size != 4 and size != make(torch.jagged).size(1) and size >= 1
    for wrong in (lambda: size + 1, lambda: int(size), lambda: size > 5):
        with pytest.raises(NotImplementedError, match="size of a ragged dim"):
            wrong()
    with pytest.raises(RuntimeError, match="other rows"):
        x + make(torch.jagged)


def test_views_keep_the_rows_and_move_the_ragged_dim():
    x = make(torch.jagged)
    heads = x.unflatten(-1, (3, 1)).transpose(1, 2)
    assert heads.shape == (2, 3, x.size(1), 1)
    agree(heads.transpose(1, 2).flatten(2), [A, B])
    agree(x.view(2, -1, 3, 1), [A.view(2, 3, 1), B.view(4, 3, 1)])
    agree(x.reshape(2, x.size(1), 1, 3), [A.view(2, 1, 3), B.view(4, 1, 3)])
    agree(torch.cat([x, x], -1), [torch.cat([A, A], -1), torch.cat([B, B], -1)])
    with pytest.raises(RuntimeError, match="no place for its rows"):
        x.view(18)
    with pytest.raises(RuntimeError, match="stay dim 0"):
        x.transpose(0, 1)


def test_products_of_nested_tensors():
    x = make(torch.jagged)
    assert torch.equal(x.transpose(1, 2) @ x, torch.stack([A.T @ A, B.T @ B]))
    w = torch.arange(30.0).view(2, 3, 5)
    agree(x @ w, [A @ w[0], B @ w[1]])
    with pytest.raises(RuntimeError, match="two ragged dims"):
        x @ x.transpose(1, 2)
    s = make(torch.strided)
    agree(s @ s.transpose(1, 2), [A @ A.T, B @ B.T])


def test_packed_values_offsets_and_lengths():
    values = torch.arange(6.0)
    x = torch.nested.nested_tensor_from_jagged(values, offsets=torch.tensor([0, 1, 6]))
    assert x.values() is values and x.offsets().tolist() == [0, 1, 6] and x.lengths() is None
    assert (x._get_min_seqlen(), x._get_max_seqlen()) == (1, 5)
    agree(torch.nested.nested_tensor_from_jagged(values, lengths=torch.tensor([2, 4])), [values[:2], values[2:]])
    holes = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 3, 6]), torch.tensor([1, 2]))
    agree(holes, [values[:1], values[3:5]])
    assert not holes.is_contiguous() and holes.contiguous().values().tolist() == [0, 3, 4]
    assert holes.sum().item() == 7


def test_narrow_and_masked_select():
    x = torch.arange(12.0).view(3, 4)
    pieces = torch.nested.narrow(x, 1, torch.tensor([0, 1, 0]), torch.tensor([1, 2, 4]), layout=torch.jagged)
    agree(pieces, [x[0, :1], x[1, 1:3], x[2]])
    assert pieces.values().data_ptr() == x.data_ptr()
    agree(torch.nested.masked_select(x, x % 2 == 0), [x[i, ::2] for i in range(3)])
    with pytest.raises(RuntimeError, match="leave rows of 4"):
        torch.nested.narrow(x, 1, 3, 2, layout=torch.jagged)


def test_gradients_of_a_leaf_are_nested(layout):
    pytest.importorskip("torch.autograd")
    x = torch.nested.nested_tensor([A, B], layout=layout, requires_grad=True)
    assert x.requires_grad and x.is_leaf and x.grad is None
    (x * x).sum().backward()
    assert x.grad.is_nested
    agree(x.grad, [2 * A, 2 * B])
    y = x * 3
    assert y.grad_fn is not None
    y.backward(torch.ones_like(y))
    agree(x.grad, [2 * A + 3, 2 * B + 3])


def test_gradients_reach_the_tensors_of_as_nested_tensor(layout):
    pytest.importorskip("torch.autograd")
    a, b = A.clone().requires_grad_(), B.clone().requires_grad_()
    nested = torch.nested.as_nested_tensor([a, b], layout=layout)
    (nested.softmax(-1) * nested).to_padded_tensor(0.0).sum().backward()
    c = A.clone().requires_grad_()
    (c.softmax(-1) * c).sum().backward()
    assert torch.allclose(a.grad, c.grad) and b.grad.shape == B.shape


def test_copies_and_pickles(layout):
    x = make(layout)
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone(), x.detach()):
        agree(other, [A, B])
    y = copy.deepcopy(x)
    y.add_(1)
    agree(x, [A, B])


def test_inner_names_that_libraries_use():
    from torch.nested._internal import nested_tensor, ops

    x = make(torch.jagged)
    assert isinstance(x, nested_tensor.NestedTensor) and not isinstance(make(torch.strided), nested_tensor.NestedTensor)
    assert nested_tensor._tensor_symint_registry[x.offsets()] is x.size(1)
    assert ops.extract_kwargs(x)["_ragged_idx"] == 1
    view = torch._nested_view_from_buffer(
        torch.arange(18.0), torch.tensor([[2, 3], [4, 3]]), torch.tensor([[3, 1], [3, 1]]), torch.tensor([0, 6])
    )
    agree(view, [A, B + 6])


def test_what_would_tell_of_the_inside_is_refused_by_name(layout):
    x = make(layout)
    for name in ("numpy", "tolist", "item", "data_ptr", "storage_offset", "untyped_storage"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(x, name)()
    with pytest.raises(NotImplementedError, match="not there for nested tensors"):
        torch.linalg.svd(x)
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(x)


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda: torch.nested.nested_tensor(3), TypeError, "expected a list"),
        (lambda: torch.nested.nested_tensor([A, torch.ones(2)]), RuntimeError, "as many dims each"),
        (lambda: torch.nested.nested_tensor([], layout=torch.jagged), RuntimeError, "one row at least"),
        (
            lambda: torch.nested.nested_tensor([A, torch.ones(1, 4)], layout=torch.jagged),
            RuntimeError,
            "in one dim only",
        ),
        (
            lambda: torch.nested.nested_tensor([A], layout=torch.sparse_coo),
            RuntimeError,
            "torch.strided or torch.jagged",
        ),
        (lambda: torch.nested.as_nested_tensor("ab"), TypeError, "list of tensors, got str"),
        (lambda: torch.nested.nested_tensor_from_jagged(A), RuntimeError, "offsets or lengths"),
        (
            lambda: torch.nested.nested_tensor_from_jagged(A, torch.tensor([0, 9])).unbind(),
            RuntimeError,
            "leaves the 2 values",
        ),
        (lambda: torch.zeros(2, layout=torch.jagged), RuntimeError, "torch.nested"),
        (lambda: make(torch.jagged)[7], IndexError, "out of bounds"),
    ],
)
def test_errors(wrong, error, says):
    with pytest.raises(error, match=says):
        wrong()


def test_nested_tensors_of_different_rows_do_not_broadcast():
    rows = [torch.ones(2, 3), torch.ones(1, 3)]
    x, y = torch.nested.nested_tensor(rows), torch.nested.nested_tensor(rows[::-1])
    for operation in (torch.add, torch.sub, torch.mul, torch.div):
        with pytest.raises(
            RuntimeError, match=r"does not support broadcasting .*tensors 0 have shapes \(2, 3\) and \(1, 3\)"
        ):
            operation(x, y)
    assert torch.matmul(x, torch.nested.nested_tensor([torch.ones(3, 2), torch.ones(3, 5)])).unbind()[1].shape == (1, 5)
