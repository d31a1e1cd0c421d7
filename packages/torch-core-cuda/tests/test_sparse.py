"""Sparse tensors: places, sums of segments, products, conversions; against the CPU's."""

import pytest
import torch

torch.manual_seed(0)
I = torch.tensor([[2, 0, 2, 1, 2], [1, 3, 1, 0, 3]])
V = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
M = torch.randn(4, 6)


def coo(device, values=V):
    return torch.sparse_coo_tensor(I.to(device), values.to(device), (3, 4))


#: by name, what is done on a device
DONE = {
    "to_dense": lambda d: coo(d).to_dense(),
    "coalesce": lambda d: coo(d).coalesce(),
    "values": lambda d: coo(d).coalesce().values(),
    "indices": lambda d: coo(d).coalesce().indices(),
    "to_sparse": lambda d: M.relu().to(d).to_sparse(),
    "hybrid": lambda d: M.relu().to(d).to_sparse(1),
    "mm": lambda d: torch.sparse.mm(coo(d), M.to(d)),
    "mv": lambda d: coo(d) @ M[:, 0].to(d),
    "bmm": lambda d: torch.bmm(torch.stack([coo(d), coo(d) * 2]), torch.stack([M, M * 3]).to(d)),
    "addmm": lambda d: torch.sparse.addmm(torch.ones(3, 6, device=d), coo(d), M.to(d)),
    "sparse times sparse": lambda d: coo(d) @ coo(d).t(),
    "add": lambda d: coo(d) + coo(d).t().t() * 2,
    "add to dense": lambda d: torch.ones(3, 4, device=d) + coo(d),
    "mul": lambda d: coo(d) * coo(d).coalesce(),
    "sum": lambda d: torch.sparse.sum(coo(d), 0),
    "softmax": lambda d: torch.sparse.softmax(coo(d), 1),
    "mask": lambda d: M[:3, :4].to(d).sparse_mask(coo(d).coalesce()),
    "select": lambda d: coo(d)[2],
    "narrow": lambda d: coo(d).narrow(1, 1, 3),
    "index_select": lambda d: coo(d).index_select(1, torch.tensor([3, 1, 3], device=d)),
    "cat": lambda d: torch.cat([coo(d), coo(d)], 1),
    "transpose": lambda d: coo(d).t(),
    "empty": lambda d: torch.sparse_coo_tensor(size=(2, 3), device=d).coalesce(),
    "no size": lambda d: torch.sparse_coo_tensor(I.to(d), V.to(d)),
    "halves": lambda d: coo(d, V.half()).coalesce().to_dense().float(),
    "bools": lambda d: coo(d, V > 2).coalesce().to_dense(),
    "complex": lambda d: torch.sparse.mm(coo(d, V * 1j), (M * 1j).to(d)),
    "csr": lambda d: coo(d).to_sparse_csr(),
    "csr of dense": lambda d: M.relu().to(d).to_sparse_csr(),
    "csc": lambda d: M.relu().to(d).to_sparse_csc(),
    "bsr": lambda d: M.relu().to(d).to_sparse_bsr((2, 3)),
    "csr to dense": lambda d: coo(d).to_sparse_csr().to_dense(),
    "csr mm": lambda d: coo(d).to_sparse_csr() @ M.to(d),
    "csc mm": lambda d: coo(d).to_sparse_csc() @ M.to(d),
    "bsr mm": lambda d: M.relu().to(d).to_sparse_bsr((2, 3)) @ M.t().to(d),
    "sampled": lambda d: torch.sparse.sampled_addmm(
        coo(d).to_sparse_csr(), M[:3].to(d), M[:3].t().to(d)[:, :1].expand(6, 4)
    ),
}


@pytest.mark.parametrize("name", DONE)
def test_results_are_those_of_the_cpu(name):
    here, there = DONE[name]("cpu"), DONE[name]("cuda")
    assert there.is_cuda and there.layout == here.layout and there.shape == here.shape and there.dtype == here.dtype
    back, here = ((t if t.layout == torch.strided else t.to_dense()) for t in (there.cpu(), here))
    assert torch.allclose(back, here)


def test_they_move_and_print():
    s = coo("cuda")
    assert s.cpu().to_dense().equal(coo("cpu").to_dense()) and "device='cuda:0'" in repr(s)
    assert coo("cpu").cuda().to_dense().cpu().equal(coo("cpu").to_dense())


def test_a_place_out_of_range_is_told_at_the_next_wait_and_the_device_goes_on():
    s = torch.sparse_coo_tensor(torch.tensor([[0, 7]], device="cuda"), torch.ones(2, device="cuda"), (3,))
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 0 with size 3"):
        s.to_dense().cpu()
    assert coo("cuda").to_dense().sum().item() == 15


def test_many_elements_of_one_place_add_up_in_order():
    n = 5000
    at, v = torch.arange(n)[None] % 7, torch.rand(n)
    here = torch.sparse_coo_tensor(at, v, (7,)).coalesce()
    there = torch.sparse_coo_tensor(at.cuda(), v.cuda(), (7,)).coalesce()
    assert there.values().cpu().equal(here.values())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int64, torch.uint8])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_the_greatest_and_the_least_term_of_a_product(reduce, dtype):
    generator = torch.Generator().manual_seed(1)
    here = (torch.randn(7, 9, generator=generator) * 4).to(dtype)
    here[torch.rand(7, 9, generator=generator) < 0.6] = 0
    here[2] = 0  # a row without elements
    mat = (torch.randn(9, 5, generator=generator) * 4).to(dtype)
    if dtype.is_floating_point:
        mat[3, 2] = float("nan")
    product = torch._C._operator("_sparse_mm_reduce")
    expected, found = (product(t.to_sparse_csr(), m, reduce) for t, m in ((here, mat), (here.cuda(), mat.cuda())))
    assert found.is_cuda and torch.equal(found.cpu().nan_to_num(77), expected.nan_to_num(77))
