"""Tensors with a mask of what is specified. Texts were recorded from PyTorch 2.13."""

import pytest
import torch
from torch.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

DATA = torch.arange(6.0).reshape(2, 3)
MASK = torch.tensor([[True, False, True], [False, True, False]])


def same(found, data, mask):
    assert is_masked_tensor(found)
    assert found.get_mask().tolist() == mask
    assert found.to_tensor(-1).tolist() == data


@pytest.mark.parametrize(
    "call, data, mask",
    [
        (lambda x: x + x, [[0, -1, 4], [-1, 8, -1]], MASK.tolist()),
        (lambda x: x + torch.ones(2, 3), [[1, -1, 3], [-1, 5, -1]], MASK.tolist()),
        (lambda x: x * 2, [[0, -1, 4], [-1, 8, -1]], MASK.tolist()),
        (lambda x: torch.sqrt(x * x), [[0, -1, 2], [-1, 4, -1]], MASK.tolist()),
        (lambda x: x > 1, [[False, True, True], [True, True, True]], MASK.tolist()),
        (lambda x: x.sum(), 6, True),
        (lambda x: x.sum(1), [2, 4], [True, True]),
        (lambda x: x.mean(0), [0, 4, 2], [True, True, True]),
        (lambda x: x.amin(0, keepdim=True), [[0, 4, 2]], [[True, True, True]]),
        (lambda x: x.argmax(1), [2, 1], [True, True]),
        (lambda x: x[0], [0, -1, 2], [True, False, True]),
        (lambda x: x.t(), [[0, -1], [-1, 4], [2, -1]], MASK.t().tolist()),
        (lambda x: x.reshape(6), [0, -1, 2, -1, 4, -1], MASK.flatten().tolist()),
        (lambda x: torch.cat([x, x])[2:], [[0, -1, 2], [-1, 4, -1]], MASK.tolist()),
        (lambda x: x.int(), [[0, -1, 2], [-1, 4, -1]], MASK.tolist()),
        (lambda x: torch.ones_like(x), [[1, -1, 1], [-1, 1, -1]], MASK.tolist()),
        (lambda x: masked_tensor(DATA[:1], MASK[:1] & False).sum(1), [-1], [False]),
    ],
)
def test_operators_act_on_what_is_specified(call, data, mask):
    found = call(masked_tensor(DATA, MASK))
    if found.dtype == torch.bool:
        assert found.to_tensor(True).tolist() == data and found.get_mask().tolist() == mask
    else:
        same(found, data, mask)


def test_a_masked_tensor_shows_what_is_specified():
    assert repr(masked_tensor(DATA, MASK)) == (
        "MaskedTensor(\n  [\n    [  0.0000,       --,   2.0000],\n    [      --,   4.0000,       --]\n  ]\n)"
    )
    assert repr(masked_tensor(DATA * 1000, MASK)[1]) == "MaskedTensor(\n  [       --, 4000.0000,        --]\n)"
    assert repr(masked_tensor(torch.tensor([1, 2]), torch.tensor([True, False]))) == "MaskedTensor(\n  [1,       --]\n)"
    assert repr(masked_tensor(DATA, MASK).sum()) == "MaskedTensor(  6.0000, True)"
    assert repr(masked_tensor(torch.tensor(3.0), torch.tensor(False))) == "MaskedTensor(--, False)"
    assert masked_tensor(DATA, MASK).sum().item() == 6


def test_where_takes_the_mask_of_the_side_that_it_takes():
    x, y = masked_tensor(DATA, MASK), masked_tensor(-DATA, ~MASK)
    found = torch.where(MASK, x, y)
    assert found.get_mask().all() and found.get_data().tolist() == [[0, -1, 2], [-3, 4, -5]]


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (
            lambda: masked_tensor(DATA, MASK) + masked_tensor(DATA, ~MASK),
            ValueError,
            "masks must match, and differ in 6 of 6",
        ),
        (lambda: masked_tensor(DATA, DATA), TypeError, "mask must have dtype bool. Got torch.float32"),
        (lambda: masked_tensor(DATA, MASK[0]), ValueError, r"data.dim\(\) must equal mask.dim\(\), got 2 and 1"),
        (lambda: masked_tensor(DATA, MASK[:1]), ValueError, r"data.size\(\) must equal mask.size\(\)"),
        (lambda: masked_tensor([1.0], MASK), TypeError, "data must be a Tensor, got list"),
        (lambda: masked_tensor(DATA.to_sparse(), MASK), NotImplementedError, "only strided"),
        (lambda: masked_tensor(DATA, MASK).median(), TypeError, "median"),
    ],
)
def test_what_has_no_meaning_is_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_gradients_are_specified_where_the_data_is():
    pytest.importorskip("torch.autograd")
    x = masked_tensor(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True]), requires_grad=True)
    (x * x).sum().backward()
    same(x.grad, [2, -1, 6], [True, False, True])
    # exp(x) where x < 0, else a constant: no gradient that is not a number comes from the side that is not taken
    x = torch.tensor([-10.0, -5.0, 0.0, 50.0, 100.0])
    negative = x < 0
    side, other = masked_tensor(x, negative, requires_grad=True), masked_tensor(torch.zeros(5), ~negative)
    torch.where(negative, torch.exp(side), other).sum().backward()
    assert torch.equal(side.grad.to_tensor(0), torch.where(negative, x.exp(), 0.0))
    x = torch.tensor([1.0, 1.0], requires_grad=True)
    by = torch.tensor([0.0, 1.0])
    as_masked_tensor(x / by, by != 0).sum().backward()
    assert isinstance(x.grad, MaskedTensor)
    same(x.grad, [-1, 1], [False, True])


@pytest.mark.parametrize(
    "part, gradient, mask",
    [
        (lambda x: x[:2], [1, -1, -1], [True, False, False]),
        (lambda x: x[2], [-1, -1, 1], [False, False, True]),
        (lambda x: x.expand(2, 3), [2, -1, 2], [True, False, True]),
    ],
)
def test_gradients_of_parts_and_expansions(part, gradient, mask):
    pytest.importorskip("torch.autograd")
    x = masked_tensor(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True]), requires_grad=True)
    part(x).sum().backward()
    same(x.grad, gradient, mask)
