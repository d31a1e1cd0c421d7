"""Gradients of and through sparse tensors: at the elements of the sparse tensor itself, sparse where the tensor is."""

import copy

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

PLACES = [[0, 1, 1, 2, 1], [3, 0, 2, 2, 0]]  # one of them twice


def sparse(coalesced=False, seed=0):
    values = torch.tensor(np.random.default_rng(seed).uniform(0.5, 2, 5))
    s = torch.sparse_coo_tensor(PLACES, values, (3, 4))
    return (s.coalesce() if coalesced else s).detach().requires_grad_()


def dense(*shape, seed=1):
    return torch.tensor(np.random.default_rng(seed).uniform(0.5, 2, shape), requires_grad=True)


def compressed(layout, seed=0):
    values = torch.tensor(np.random.default_rng(seed).uniform(0.5, 2, (4, 6)))
    there = torch.tensor([[1, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 1], [1, 0, 0, 0, 0, 0]])
    blocks = (2, 3) if layout in (torch.sparse_bsr, torch.sparse_bsc) else None
    return (values * there).to_sparse(layout=layout, blocksize=blocks).requires_grad_()


CSR, CSC, BSR, BSC = torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc
COMPRESSED = {
    "to_dense": lambda s: s.to_dense() ** 2,
    "to_sparse": lambda s: s.to_sparse() * 2,
    "sum": lambda s: s.sum(),
    "sum over rows": lambda s: s.sum(0, keepdim=True),
    "times a number": lambda s: s * 3,
    "times itself": lambda s: s * s,
    "sine": lambda s: s.sin(),
    "sum of two": lambda s: s + 2 * compressed(s.layout, seed=3).detach(),
    "dense + sparse": lambda s: torch.ones(4, 6, dtype=torch.float64) + s,
    "values": lambda s: s.values() ** 2,
    "transpose": lambda s: s.t().to_dense(),
    "row": lambda s: s[2].to_dense(),
    "clone and cast": lambda s: s.clone().to(torch.complex128).to_dense().real,
    "in place": lambda s: (s * 1).mul_(s),
    "norm": lambda s: s.norm(),
}

FUNCTIONS = {
    "to_dense": (lambda s: s.to_dense() ** 2, [sparse()]),
    "coalesce": (lambda s: s.coalesce().values() ** 2, [sparse()]),
    "to_sparse": (lambda d: d.to_sparse() * 2, [dense(3, 4)]),
    "to_sparse hybrid": (lambda d: d.to_sparse(1) * 2, [dense(3, 4)]),
    "sparse_mask": (lambda d: d.sparse_mask(sparse().detach()), [dense(3, 4)]),
    "sparse_mask of sparse": (lambda s: s.sparse_mask(sparse(True).detach()), [sparse()]),
    "sum": (lambda s: s.sum(), [sparse()]),
    "sum over a sparse dim": (lambda s: s.sum(0), [sparse()]),
    "sum of dense dims": (lambda d: d.to_sparse(1).sum(1), [dense(3, 4)]),
    "sparse + sparse": (lambda a, b: a + b, [sparse(), sparse(seed=3)]),
    "dense - sparse": (lambda d, s: d - s, [dense(3, 4), sparse()]),
    "sparse * sparse": (lambda a, b: a * b, [sparse(), sparse(seed=3)]),
    "sparse * dense": (lambda s, d: s * d, [sparse(), dense(3, 4)]),
    "sparse * row": (lambda s, d: s * d, [sparse(), dense(4)]),
    "sparse / number": (lambda s: s / 3, [sparse()]),
    "sqrt": (lambda s: s.sqrt(), [sparse()]),
    "pow": (lambda s: s**3, [sparse()]),
    "transpose": (lambda s: s.t() * s.t(), [sparse()]),
    "mm": (torch.sparse.mm, [sparse(), dense(4, 2)]),
    "dense mm": (lambda d, s: d @ s, [dense(2, 3), sparse()]),
    "mv": (lambda s, d: s @ d, [sparse(), dense(4)]),
    "sparse mm": (lambda a, b: a @ b.t(), [sparse(), sparse(seed=3)]),
    "addmm": (lambda d, s, m: torch.sparse.addmm(d, s, m, beta=2, alpha=3), [dense(3, 2), sparse(), dense(4, 2)]),
    "hspmm": (torch.hspmm, [sparse(), dense(4, 2)]),
    "smm": (torch.smm, [sparse(), dense(4, 2)]),
    "cat": (lambda a, b: torch.cat([a, b], 1), [sparse(), sparse(seed=3)]),
    "index_select": (lambda s: s.index_select(1, torch.tensor([0, 0, 2])), [sparse()]),
    "select": (lambda s: s[1], [sparse()]),
    "slice": (lambda s: s[1:, :3], [sparse()]),
    "softmax": (lambda s: torch.sparse.softmax(s, 1), [sparse()]),
    "log_softmax": (lambda s: torch.sparse.log_softmax(s, 0), [sparse()]),
    "norm": (lambda s: s.norm(), [sparse()]),
    "mul_": (lambda s: (s * 1).mul_(s), [sparse()]),
    "add_ to dense": (lambda d, s: (d * 1).add_(s, alpha=2), [dense(3, 4), sparse()]),
    "copy_": (lambda s: torch.zeros(3, 4, layout=torch.sparse_coo, dtype=torch.float64).copy_(s), [sparse()]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_agree_with_finite_differences(name):
    function, inputs = FUNCTIONS[name]
    assert gradcheck(function, inputs) and gradgradcheck(function, inputs)


@pytest.mark.parametrize("layout", [CSR, CSC, BSR, BSC])
@pytest.mark.parametrize("name", COMPRESSED)
def test_gradients_of_compressed_tensors(name, layout):
    assert gradcheck(COMPRESSED[name], [compressed(layout)]) and gradgradcheck(COMPRESSED[name], [compressed(layout)])


@pytest.mark.parametrize("layout", [CSR, CSC, BSR, BSC])
def test_gradients_of_products_with_compressed_tensors(layout):
    s, d = compressed(layout), dense(6, 2)
    for function, inputs in (
        (lambda s, d: s @ d, [s, d]),
        (lambda s, d: d.t() @ s.t(), [s, d]),
        (lambda s, d: torch.addmm(torch.ones(4, 2, dtype=torch.float64), s, d, beta=2, alpha=3), [s, d]),
        (lambda s, d: s @ d[:, 0], [s, d]),
        (lambda a, b: (a @ b.t()).to_dense(), [s, compressed(layout, seed=3)]),
        (lambda d: d.to_sparse(layout=layout, blocksize=(2, 2) if layout in (BSR, BSC) else None).to_dense(), [d]),
        (lambda d: d.sparse_mask(compressed(layout).detach()).to_dense(), [dense(4, 6)]),
        (lambda s, d: s * d, [s, dense(4, 6)]),
    ):
        assert gradcheck(function, inputs) and gradgradcheck(function, inputs)


def test_gradients_of_reductions_and_of_products_at_given_places():
    s, d = compressed(CSR), dense(6, 2)
    for reduce in ("sum", "mean", "amax", "amin"):
        assert gradcheck(lambda s, d: torch.sparse.mm(s, d, reduce), [s, d])
    sampled = torch.sparse.sampled_addmm
    assert gradcheck(lambda s, a, b: sampled(s, a, b, beta=2, alpha=3), [s, dense(4, 3), dense(3, 6, seed=2)])


@pytest.mark.parametrize("layout", [CSR, CSC, BSR, BSC])
def test_the_gradient_of_a_compressed_leaf_has_its_layout_and_its_places(layout):
    s = compressed(layout)
    (s.to_dense() * 2).sum().backward()
    assert s.grad.layout == layout and s.grad.values().unique().tolist() == [2]
    (s * 3).sum().backward()
    assert s.grad.layout == layout and s.grad.values().unique().tolist() == [5]
    values = compressed(CSR).detach().values().clone().requires_grad_()
    made = torch.sparse_csr_tensor(s := compressed(CSR).crow_indices(), compressed(CSR).col_indices(), values, (4, 6))
    (made @ torch.ones(6, 1, dtype=torch.float64)).sum().backward()
    assert s.numel() == 5 and values.grad.tolist() == [1] * 6


def test_the_gradient_of_a_sparse_leaf_is_sparse_and_has_each_place_once():
    s = sparse()
    (s.to_dense() * torch.arange(12.0, dtype=torch.float64).reshape(3, 4)).sum().backward()
    assert s.grad.is_sparse and s.grad._nnz() == 4 and s.grad.coalesce().values().tolist() == [3, 4, 6, 10]
    (s.to_dense() * 1).sum().backward()
    assert s.grad.coalesce().values().tolist() == [4, 5, 7, 11]


def test_values_with_a_graph_make_a_tensor_with_one():
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    s = torch.sparse_coo_tensor([[0, 1]], v, (3,))
    assert s.requires_grad and not s._values().requires_grad and s.coalesce().values().requires_grad
    (s * s).sum().backward()
    assert v.grad.tolist() == [2, 4]
    leaf = torch.sparse_coo_tensor([[0, 1]], v, (3,), requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad and torch.zeros(2, layout=torch.sparse_coo, requires_grad=True).is_leaf


def test_a_table_gets_the_gradient_of_the_rows_that_were_looked_up():
    w = torch.ones(6, 2, requires_grad=True)
    rows = torch.tensor([[1, 4], [4, 0]])
    torch.embedding(w, rows, sparse=True).sum().backward()
    assert w.grad.is_sparse and w.grad._nnz() == 4 and w.grad.shape == (6, 2)
    assert w.grad.to_dense()[:, 0].tolist() == [1, 1, 0, 0, 2, 0]
    torch.embedding(w, rows, sparse=True).mul(2).sum().backward()  # sparse + sparse
    assert w.grad.is_sparse and w.grad.to_dense()[:, 0].tolist() == [3, 3, 0, 0, 6, 0]
    (w * 1).sum().backward()  # sparse + dense
    assert not w.grad.is_sparse and w.grad[:, 0].tolist() == [4, 4, 1, 1, 7, 1]
    torch.embedding(w, rows, sparse=True).sum().backward()  # dense + sparse
    assert not w.grad.is_sparse and w.grad[:, 1].tolist() == [5, 5, 1, 1, 9, 1]


def test_both_kinds_of_gradient_meet_in_one_pass():
    w = torch.ones(4, 2, requires_grad=True)
    for first in (True, False):
        w.grad = None
        a, b = torch.embedding(w, torch.tensor([1, 1]), sparse=True).sum(), (w * 3).sum()
        (a + b if first else b + a).backward()
        assert not w.grad.is_sparse and w.grad[:, 0].tolist() == [3, 5, 3, 3]


def test_padding_gets_no_gradient_and_frequencies_are_refused():
    w = torch.ones(4, 2, requires_grad=True)
    torch.embedding(w, torch.tensor([1, 2, 1]), padding_idx=1, sparse=True).sum().backward()
    assert w.grad._indices().tolist() == [[2]]
    with pytest.raises(RuntimeError, match="scale_grad_by_freq=True is not supported with sparse"):
        torch.embedding(w, torch.tensor([1]), scale_grad_by_freq=True, sparse=True)


def test_hooks_see_sparse_gradients():
    w, seen = torch.ones(4, 2, requires_grad=True), []
    w.register_hook(lambda g: seen.append(g.is_sparse) or g * 2)
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.is_sparse))
    torch.embedding(w, torch.tensor([3]), sparse=True).sum().backward()
    assert seen == [True, True] and w.grad.to_dense()[3].tolist() == [2, 2]


def test_gradients_of_sparse_tensors_take_part_in_the_usual_rules():
    s = sparse()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        s.mul_(2)
    with torch.no_grad():
        assert not s.mul_(2).is_coalesced()
    t = s * 1
    out = t.to_dense()
    kept = (t * t).sum()
    t.zero_()
    assert out.requires_grad and kept.requires_grad
    assert copy.deepcopy(sparse()).requires_grad and sparse().data.requires_grad is False


def test_anomaly_mode_looks_into_sparse_gradients():
    w = torch.ones(3, 1, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="nan"):
        (torch.embedding(w, torch.tensor([1]), sparse=True) * float("nan")).sum().backward()
