"""Products of tensors against NumPy: einsum, tensordot and the like."""

import numpy as np
import pytest
import torch


def pair(*shape, seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return torch.from_numpy(values), values


def check(result, expected):
    assert tuple(result.shape) == np.shape(expected)
    assert np.allclose(np.asarray(result.tolist()).reshape(np.shape(expected)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("i,i->", [(3,), (3,)]), ("i,j->ij", [(3,), (4,)]), ("ij->ji", [(3, 4)]), ("ij->", [(3, 4)]), ("ij->j", [(3, 4)]), ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]), ("ij,jk", [(3, 4), (4, 5)]), ("ij,jk->ki", [(3, 4), (4, 5)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)]), ("...ij,...jk->...ik", [(2, 6, 3, 4), (6, 4, 5)]), ("...,...->...", [(2, 3), (3,)]),
        ("ij,kj,lj->ikl", [(2, 3), (4, 3), (5, 3)]), ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]), ("ijj->ij", [(2, 3, 3)]), ("iji->j", [(3, 2, 3)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]), ("i,ij,j", [(3,), (3, 4), (4,)]), ("a...b->b...a", [(2, 3, 4, 5)]), ("ab...->...", [(2, 3, 4)]),
        (" i j , j k -> i k ", [(3, 4), (4, 5)]), ("iI,Ij->ij", [(2, 3), (3, 4)]), ("...i->...", [(4,)]), ("i,->i", [(3,), ()]), ("ij,ij->ij", [(2, 3), (2, 3)]),
        ("abc,cde,bf->adef", [(2, 3, 4), (4, 5, 2), (3, 6)]), ("ij,jk->ik", [(0, 3), (3, 2)]), ("ij,jk->ik", [(2, 0), (0, 3)]),
    ],
)  # fmt: skip
def test_einsum_agrees_with_numpy(equation, shapes):
    tensors, arrays = zip(*(pair(*s, seed=i) for i, s in enumerate(shapes)))
    check(torch.einsum(equation, *tensors), np.einsum(equation.replace(" ", ""), *arrays))
    check(torch.einsum(equation, list(tensors)), np.einsum(equation.replace(" ", ""), *arrays))


def test_einsum_takes_labels_as_numbers():
    a, x = pair(2, 3, 4)
    b, y = pair(4, 5)
    check(torch.einsum(a, [0, 1, 2], b, [2, 3], [0, 3]), np.einsum("abc,cd->ad", x, y))
    check(torch.einsum(a, [..., 2], b, [2, 3]), np.einsum("...c,cd->...d", x, y))


def test_einsum_broadcasts_sizes_of_one():
    a, x = pair(1, 3)
    b, y = pair(2, 3)
    check(torch.einsum("ij,ij->ij", a, b), x * y)
    check(torch.einsum("ij,ij->i", a, b), (x * y).sum(1))


@pytest.mark.parametrize(
    "equation, shapes, text",
    [
        ("ij,jk->ik", [(2, 3), (4, 5)], "label 'j' of operand 1 (4, 5) has size 4, but 3 before"),
        ("ij->ik", [(2, 3)], "output label 'k' is in no operand"),
        ("ij->ii", [(2, 3)], "output label 'i' stands twice"),
        ("ij,jk", [(2, 3)], "names 2 operands, but 1 were given"),
        ("ijk", [(2, 3)], "operand 0 of \"ijk\" has 3 labels, but its shape is (2, 3)"),
        ("i1", [(2, 3)], "labels are letters, got '1'"),
        ("i..", [(2, 3)], "'.' stands in one '...' per operand only"),
        ("ii", [(2, 3)], "stands twice"),
    ],
)  # fmt: skip
def test_einsum_names_what_is_wrong(equation, shapes, text):
    with pytest.raises(RuntimeError) as error:
        torch.einsum(equation, *(pair(*s)[0] for s in shapes))
    assert text in str(error.value) or "has size" in str(error.value)


@pytest.mark.parametrize("dims", [0, 1, 2, ([1], [0]), ([2, 1], [1, 0]), ([-1], [1])])
def test_tensordot_agrees_with_numpy(dims):
    a, x = pair(2, 3, 4, seed=1)
    b, y = pair(3, 4, 5, seed=2) if dims != 1 else pair(4, 3, 5, seed=2)
    check(torch.tensordot(a, b, dims), np.tensordot(x, y, dims))
    check(torch.tensordot(a, b, dims, out=torch.empty(0, dtype=torch.float64)), np.tensordot(x, y, dims))


def test_tensordot_takes_the_number_of_dims_as_a_tensor():
    a, x = pair(2, 3, seed=1)
    b, y = pair(3, 2, seed=2)
    check(torch.tensordot(a, b, torch.tensor([1])), np.tensordot(x, y, 1))
    check(torch.tensordot(a, b, torch.tensor([[1], [0]])), np.tensordot(x, y, ([1], [0])))


def test_tensordot_names_sizes_that_differ():
    with pytest.raises(
        RuntimeError, match="contracted dims must match, but dim 1 of a .* has size 3 and dim 0 of b .* has size 4"
    ):
        torch.tensordot(pair(2, 3)[0], pair(4, 5)[0], 1)
    with pytest.raises(RuntimeError, match="tensordot expects dims >= 0, but got dims=-1"):
        torch.tensordot(pair(2)[0], pair(2)[0], -1)
    for dims in ("a", 1.5):
        with pytest.raises(RuntimeError, match=f"tensordot: dims must be a number or two lists of dims, got {dims!r}"):
            torch.tensordot(pair(2)[0], pair(2)[0], dims)


def test_outer_inner_kron_trace():
    v, x = pair(3, seed=1)
    w, y = pair(4, seed=2)
    check(torch.outer(v, w), np.outer(x, y))
    check(v.ger(w), np.outer(x, y))
    a, p = pair(2, 3, 4, seed=3)
    b, q = pair(5, 4, seed=4)
    check(torch.inner(a, b), np.inner(p, q))
    check(torch.inner(a, torch.tensor(2.0, dtype=torch.float64)), p * 2)
    check(torch.kron(b, a), np.kron(q, p))
    check(torch.trace(b), np.trace(q))
    assert torch.outer(torch.tensor([1, 2]), torch.tensor([0.5])).dtype == torch.float32
    with pytest.raises(RuntimeError, match=r"outer: expected two vectors \(1-d\), got shapes \(5, 4\) and \(3,\)"):
        torch.outer(b, v)


def test_cross_products():
    a, x = pair(4, 3, seed=1)
    b, y = pair(4, 3, seed=2)
    check(torch.cross(a, b, dim=1), np.cross(x, y))
    check(torch.cross(a.t(), b.t()), np.cross(x, y).T)
    check(torch.linalg.cross(a, b[:1]), np.cross(x, y[:1]))
    with pytest.raises(RuntimeError, match="cross: expected size 3 along dim 0"):
        torch.cross(a, b, dim=0)


def test_chains_of_products():
    shapes = [(10, 30), (30, 5), (5, 60), (60, 2)]
    tensors, arrays = zip(*(pair(*s, seed=i) for i, s in enumerate(shapes)))
    expected = np.linalg.multi_dot(arrays)
    check(torch.chain_matmul(*tensors), expected)
    check(torch.linalg.multi_dot(tensors), expected)
    v, x = pair(10, seed=9)
    w, y = pair(2, seed=8)
    check(torch.linalg.multi_dot([v, *tensors, w]), x @ expected @ y)
    with pytest.raises(
        RuntimeError, match=r"linalg.multi_dot: tensors 0 \(10, 30\) and 1 \(10, 30\) cannot be multiplied"
    ):
        torch.linalg.multi_dot([tensors[0], tensors[0]])


def test_vecdot_and_bilinear():
    a, x = pair(4, 3, seed=1)
    b, y = pair(4, 5, seed=2)
    w, z = pair(6, 3, 5, seed=3)
    c, u = pair(6, seed=4)
    check(torch.linalg.vecdot(a, a + 1), (x * (x + 1)).sum(-1))
    check(torch.bilinear(a, b, w, c), np.einsum("ni,oij,nj->no", x, z, y) + u)
    with pytest.raises(RuntimeError, match="bilinear: last dims of input1"):
        torch.bilinear(a, a, w)


def test_addr_of_half_types_is_rounded_once():
    a, b, c = (torch.randn(n, generator=torch.Generator().manual_seed(len(n))).bfloat16() for n in ((5, 4), (5,), (4,)))
    want = (0.6 * a.double() + 0.2 * torch.outer(b.double(), c.double())).bfloat16()
    assert torch.equal(torch.addr(a, b, c, beta=0.6, alpha=0.2), want)


def test_addr_follows_type_promotion():
    v, w = torch.tensor([True, False]), torch.tensor([True, True])
    assert torch.addr(torch.zeros(2, 2, dtype=torch.bool), v, w).tolist() == [[True, True], [False, False]]
    assert torch.addr(
        torch.zeros(2, 2, dtype=torch.int64), torch.tensor([1, 2]), torch.tensor([0.5, 1.0])
    ).tolist() == [[0.5, 1], [1, 2]]
    with pytest.raises(RuntimeError, match="addr: beta and alpha must be integers"):
        torch.addr(torch.zeros(1, 1, dtype=torch.int64), torch.tensor([1]), torch.tensor([1]), alpha=0.5)


def test_linalg_cross_broadcasts_other_dims_only():
    assert torch.linalg.cross(torch.ones(1, 3), torch.ones(4, 3)).shape == (4, 3)
    with pytest.raises(RuntimeError, match="inputs dimension -1 must have length 3, got shapes"):
        torch.linalg.cross(torch.ones(5, 3), torch.ones(5, 1))


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.complex64], ids=str
)
@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 2)]),
        ("i,i->", [(3,), (3,)]),
        ("ij,kl->i", [(2, 2), (2, 2)]),
        ("i,j,k->", [(2,), (2,), (2,)]),
        ("ij,j", [(2, 2), (2,)]),
    ],
)
def test_einsum_of_several_operands_keeps_their_dtype(equation, shapes, dtype):
    tensors = [torch.full(shape, 5, dtype=dtype) for shape in shapes]
    result = torch.einsum(equation, *tensors)
    exact = np.einsum(equation, *(np.full(shape, 5) for shape in shapes))
    # What only one operand has is summed first, and sums of integers are int64.
    sums_first = equation in ("ij,kl->i", "i,j,k->") and not (dtype.is_floating_point or dtype.is_complex)
    expected = torch.int64 if sums_first else dtype
    assert result.dtype == expected and result.tolist() == torch.tensor(exact).to(expected).tolist()


def test_einsum_of_one_operand_sums_as_sum_does():
    for dtype in (torch.uint8, torch.int32, torch.bool):
        assert torch.einsum("ij->i", torch.ones(2, 3, dtype=dtype)).dtype == torch.int64
        x = torch.ones(2, 3, dtype=dtype)  # what only one operand has is summed first
        for equation, operands in (("ij,ik->i", (x, x)), ("ij,i->i", (x, x[:, 0])), ("ij,i->", (x, x[:, 0]))):
            assert torch.einsum(equation, *operands).dtype == torch.int64


def test_a_cross_product_needs_dims():
    number = torch.tensor(1.0)
    for call in (lambda: torch.linalg.cross(number, number), lambda: torch.cross(number, number, dim=0)):
        with pytest.raises(IndexError, match="Dimension specified as (-1|0) but tensor has no dimensions"):
            call()
    with pytest.raises(RuntimeError, match="no dimension of size 3"):
        torch.cross(number, number)


def test_a_chain_of_one_matrix_is_a_copy_and_takes_out():
    matrix, out = torch.ones(2, 3), torch.zeros(2, 3)
    torch.chain_matmul(matrix).zero_()
    assert matrix.sum() == 6 and torch.chain_matmul(matrix, out=out) is out and out.sum() == 6
