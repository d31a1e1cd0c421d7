"""Optimisers with sparse gradients take the steps that they take with the same gradients as dense tensors."""

import pytest
import torch

ROWS = [[1, 1, 4], [0, 2, 2], [1, 4, 4]]


def trained(make, as_sparse, dtype=torch.float64):
    torch.manual_seed(0)
    p = torch.randn(6, 3, dtype=dtype, requires_grad=True)
    optimizer = make([p])
    for rows in ROWS:
        g = torch.sparse_coo_tensor([rows], torch.randn(3, 3, dtype=dtype), p.shape)
        p.grad = g if as_sparse else g.to_dense()
        optimizer.step()
    return p.detach()


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, lr=0.1),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5, maximize=True),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
        lambda p: torch.optim.Adagrad(p, lr=0.1),
        lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.01, initial_accumulator_value=0.1, maximize=True),
    ],
)
def test_a_sparse_gradient_is_as_good_as_the_dense_one(make):
    assert torch.allclose(trained(make, True), trained(make, False), rtol=1e-12, atol=1e-14)


def test_sparse_adam_is_adam_on_the_rows_that_occur():
    torch.manual_seed(0)
    p = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    q = p.detach()[[1, 3]].clone().requires_grad_()
    before = p.detach().clone()
    lazy, plain = torch.optim.SparseAdam([p], lr=0.1, eps=1e-20), torch.optim.Adam([q], lr=0.1, eps=1e-20)
    for _ in range(4):
        values = torch.randn(2, 2, dtype=torch.float64)
        p.grad, q.grad = torch.sparse_coo_tensor([[3, 1]], values.flip(0), p.shape), values
        lazy.step()
        plain.step()
    assert torch.allclose(p.detach()[[1, 3]], q.detach(), rtol=1e-6)
    assert torch.equal(p.detach()[[0, 2, 4]], before[[0, 2, 4]])
    assert lazy.state[p]["exp_avg"].shape == p.shape and not lazy.state[p]["exp_avg"][0].any()


def test_equal_rows_are_summed_before_they_are_squared():
    for make in (torch.optim.Adagrad, torch.optim.SparseAdam):
        ends = []
        for values in ([[1.0], [2.0]], [[3.0]]):
            p = torch.zeros(3, 1, requires_grad=True)
            p.grad = torch.sparse_coo_tensor([[1] * len(values)], values, (3, 1))
            make([p], lr=0.1).step()
            ends.append(p.tolist())
        assert ends[0] == ends[1]


def test_who_cannot_use_sparse_gradients_says_so():
    p = torch.zeros(3, 1, requires_grad=True)
    p.grad = torch.sparse_coo_tensor([[1]], [[1.0]], (3, 1))
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients, please consider SparseAdam"):
        torch.optim.Adam([p]).step()
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse"):
        torch.optim.Adagrad([p], weight_decay=0.1).step()
    p.grad = torch.ones(3, 1)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        torch.optim.SparseAdam([p]).step()


def test_an_embedding_learns_with_each():
    for make in (
        lambda p: torch.optim.SGD(p, lr=0.5),
        lambda p: torch.optim.SparseAdam(p, lr=0.1),
        lambda p: torch.optim.Adagrad(p, lr=0.5),
    ):
        torch.manual_seed(1)
        table = torch.randn(8, 4, requires_grad=True)
        optimizer, rows = make([table]), torch.tensor([1, 5, 5, 2])
        losses = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = (torch.embedding(table, rows, sparse=True) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert table.grad.is_sparse and losses[-1] < losses[0] / 5
