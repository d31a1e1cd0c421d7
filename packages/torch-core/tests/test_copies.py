"""The *_copy functions, which follow from views, and pieces that are views each by itself."""

import numpy as np
import pytest
import torch
from torch._operators.copies import VIEWS

ARGUMENTS = {
    "as_strided": ((2, 2), (1, 3), 1), "diagonal": (1,), "expand": ((5, 3, 4),), "narrow": (1, 1, 2), "permute": ((1, 0),),
    "select": (1, 2), "slice": (0, 1, 3), "split": (2,), "split_with_sizes": ([1, 2],), "transpose": (0, 1), "unfold": (1, 2, 1),
    "unsqueeze": (1,), "view": ((4, 3),), "unbind": (1,),
}  # fmt: skip


def operand(view):
    x = torch.arange(12.0).reshape(3, 4)
    if view == "view_as_complex":
        return x.reshape(3, 2, 2)
    if view == "view_as_real":
        return torch.complex(x, x + 1)
    if view in ("values", "indices"):
        return x.to_sparse()
    return x


@pytest.mark.parametrize("view", VIEWS)
def test_a_copy_has_the_views_elements_in_memory_of_its_own(view):
    x, arguments = operand(view), ARGUMENTS.get(view, ())
    results = getattr(torch, f"{view}_copy")(x, *arguments)
    operator = getattr(x, view) if hasattr(x, view) else lambda *a: torch._C._operator(view)(x, *a)
    wanted = operator(*arguments)
    several = isinstance(wanted, tuple)
    for got, want in zip(*((results, wanted) if several else ([results], [wanted])), strict=True):
        assert got.equal(want) and got.is_contiguous() and got._base is None
        if view not in ("values", "indices"):
            assert got.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    wanted = wanted if several else [wanted]
    outs = [torch.empty(0, dtype=w.dtype) for w in wanted]
    getattr(torch, f"{view}_copy")(x, *arguments, out=outs if several else outs[0])
    assert all(o.equal(w) for o, w in zip(outs, wanted, strict=True))


def test_out_of_another_dtype_or_number_is_refused():
    x = torch.ones(2, 3)
    with pytest.raises(
        RuntimeError, match=r"t_copy\(\): Expected out tensor to have dtype torch.float32.*got torch.float64"
    ):
        torch.t_copy(x, out=torch.empty(3, 2, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="unbind_copy: there are 2 results, but out= has 1 tensors"):
        torch.unbind_copy(x, out=[torch.empty(3)])
    with pytest.raises(TypeError, match="argument 'out' must be Tensor, not int"):
        torch.t_copy(x, out=3)


def test_gradients_pass_through_copies():
    pytest.importorskip("torch.autograd")
    x = torch.ones(2, 3, requires_grad=True)
    torch.narrow_copy(x, 1, 1, 2).sum().backward()
    assert x.grad.tolist() == [[0, 1, 1]] * 2 and x.detach().narrow_copy(1, 0, 1).tolist() == [[1], [1]]


@pytest.mark.parametrize("name, argument", [("split", 2), ("chunk", 2), ("split_with_sizes", [1, 4])])
def test_unsafe_pieces_may_be_changed_in_place(name, argument):
    pytest.importorskip("torch.autograd")
    leaf = torch.arange(5.0, requires_grad=True)
    x = leaf * 1
    pieces = getattr(torch, f"unsafe_{name}")(x, argument)
    wanted = getattr(leaf.detach(), name)(argument)
    assert all(p.equal(w) for p, w in zip(pieces, wanted, strict=True)) and len(pieces) == len(wanted)
    pieces[0].mul_(3)
    torch.cat(pieces).sum().backward()
    assert leaf.grad.tolist() == [3.0] * len(pieces[0]) + [1.0] * (5 - len(pieces[0]))
    assert all(p.equal(w) for p, w in zip(getattr(leaf.detach(), f"unsafe_{name}")(argument), wanted, strict=True))


def test_chunk_cat_lays_chunks_side_by_side():
    a, b = torch.arange(3), torch.arange(10, 14)
    assert torch._chunk_cat([a, b], 0, 2).tolist() == [[0, 1, 10, 11], [2, 0, 12, 13]]
    out = torch.empty(0, dtype=torch.int64)
    assert torch._chunk_cat([a.reshape(1, 3), b.reshape(1, 4)], -1, 2, out=out).tolist() == [
        [[0, 1, 10, 11], [2, 0, 12, 13]]
    ]
    for tensors, dim, chunks, text in [
        ([a, b], 0, 0, "num_chunks must be positive, got 0"),
        ([a, b.reshape(2, 2)], -1, 2, "dim -1 is counted from the back"),
        ([a.reshape(1, 3), b.reshape(2, 2)], 1, 2, r"before dim 1 must be equal, got shapes \(1, 3\) and \(2, 2\)"),
        ([a, b[:0]], 0, 2, r"tensors with elements, got shape \(0,\)"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            torch._chunk_cat(tensors, dim, chunks)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64", "complex128"])
@pytest.mark.parametrize(
    ("view", "same"),
    [
        (lambda x: x.flip(2), lambda y: y[:, :, ::-1]),
        (lambda x: x.flip(0, 1), lambda y: y[::-1, ::-1]),
        (lambda x: x[:, :, ::2], lambda y: y[:, :, ::2]),
        (lambda x: x[:, ::3, 1::3], lambda y: y[:, ::3, 1::3]),
        (lambda x: x.transpose(0, 1), lambda y: y.swapaxes(0, 1)),
        (lambda x: x[:1].expand(5, -1, -1), lambda y: np.broadcast_to(y[:1], (5, 131, 257))),
        (lambda x: x[:, :, :1].expand(-1, -1, 300), lambda y: np.broadcast_to(y[:, :, :1], (3, 131, 300))),
        (lambda x: x[:, :1, 7:50].expand(-1, 400, -1), lambda y: np.broadcast_to(y[:, :1, 7:50], (3, 400, 43))),
    ],
)
def test_a_copy_has_every_element_of_a_view_in_its_place(view, same, dtype):
    """Sizes at which several threads share the work, and pieces begin within rows."""
    numbers = (np.arange(3 * 131 * 257) % 251).astype(dtype).reshape(3, 131, 257)
    got = view(torch.from_numpy(numbers)).contiguous()
    assert got.is_contiguous()
    np.testing.assert_array_equal(got.numpy(), same(numbers))
