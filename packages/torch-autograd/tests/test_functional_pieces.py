"""Pieces of torch.autograd.functional that libraries put Jacobians of their own together from."""

import pytest
import torch
from torch.autograd.functional import _as_tuple, _construct_standard_basis_for, _grad_postprocess, _tuple_postprocess


def test_the_rows_of_a_standard_basis_give_the_jacobian():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    outputs = (x**2, x.sum().view(1))
    basis = _construct_standard_basis_for(outputs, (2, 1))
    assert [b.shape for b in basis] == [(3, 2), (3, 1)] and torch.equal(torch.cat(basis, 1), torch.eye(3).double())
    rows = [
        torch.autograd.grad(outputs, x, [b[i].view_as(o) for b, o in zip(basis, outputs)], retain_graph=True)
        for i in range(3)
    ]
    assert torch.stack([r[0] for r in rows]).tolist() == [[2, 0], [0, 4], [1, 1]]
    with pytest.raises(ValueError, match="2 tensors and 1 numbers"):
        _construct_standard_basis_for(outputs, (2,))


def test_tuples_come_and_go():
    x = torch.ones(2, requires_grad=True)
    assert _as_tuple(x, "inputs", "jacobian") == (False, (x,)) and _as_tuple((x,))[0]
    with pytest.raises(TypeError, match=r"jacobian: inputs\[1\] must be a Tensor, got int"):
        _as_tuple((x, 3), "inputs", "jacobian")
    nested = ((x * 2,),)
    assert (
        _tuple_postprocess(nested, (False, False)) is nested[0][0]
        and _tuple_postprocess(nested, (True, True)) == nested
    )
    assert not _grad_postprocess(nested, create_graph=False)[0][0].requires_grad
    assert _grad_postprocess(nested, create_graph=True)[0][0].requires_grad
