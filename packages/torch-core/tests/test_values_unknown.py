"""Calls whose checks look at values: on Meta, where there are none, they give shapes."""

import pytest
import torch


def meta(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype, device="meta")


LONG = torch.int64
CALLS = {
    "searchsorted of a number with an order": (
        lambda: torch.searchsorted(meta(4), 0.5, sorter=meta(4, dtype=LONG)),
        (),
        LONG,
    ),
    "quantile of a number": (lambda: torch.quantile(meta(3, 4), 0.5, dim=1), (3,), torch.float32),
    "nanquantile of a number": (lambda: torch.nanquantile(meta(3), 0.5), (), torch.float32),
    "quantile of a tensor": (lambda: torch.quantile(meta(3), meta(2)), (2,), torch.float32),
    "clamp by 0-d tensors": (lambda: torch.clamp(meta(3), meta(), meta(3)), (3,), torch.float32),
    "clamp by one 0-d tensor": (lambda: torch.clamp(meta(3, dtype=LONG), min=meta()), (3,), torch.float32),
    "linspace": (lambda: torch.linspace(meta(), 3, 5), (5,), torch.float32),
    "logspace": (lambda: torch.logspace(0, meta(dtype=LONG), 5), (5,), torch.float32),
    "scatter of a number": (
        lambda: torch.scatter(meta(3), 0, meta(2, dtype=LONG), 2.5, reduce="multiply"),
        (3,),
        torch.float32,
    ),
    "nonzero_static": (lambda: torch.nonzero_static(meta(2, 3), size=4), (4, 2), LONG),
    "repeat_interleave of a known size": (
        lambda: torch.repeat_interleave(meta(4, 1), meta(4, dtype=LONG), 0, output_size=6),
        (6, 1),
        torch.float32,
    ),
    "segment_reduce": (
        lambda: torch.segment_reduce(meta(5), "max", lengths=meta(2, dtype=LONG)),
        (2,),
        torch.float32,
    ),
    "cov": (lambda: torch.cov(meta(3, 4), fweights=meta(4, dtype=LONG)), (3, 3), torch.float32),
    "unravel_index": (lambda: torch.unravel_index(meta(3, dtype=LONG), (4, 5))[0], (3,), LONG),
    "svd_lowrank of complex numbers": (
        lambda: torch.svd_lowrank(meta(4, 4, dtype=torch.complex64), 2)[1],
        (2,),
        torch.float32,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_shapes_without_values(name):
    call, shape, dtype = CALLS[name]
    result = call()
    assert result.is_meta and result.shape == shape and result.dtype == dtype


def test_what_is_known_to_be_wrong_is_refused():
    x = torch.rand(4)
    with pytest.raises(RuntimeError, match="q values must be in the range"):
        torch.quantile(x, torch.tensor([0.5, 1.5]))
    with pytest.raises(RuntimeError, match="fweights cannot be negative"):
        torch.cov(x, fweights=torch.tensor([1, -1, 1, 1]))
    with pytest.raises(ValueError, match="indices lie outside"):
        torch.unravel_index(torch.tensor([20]), (4, 5))


def test_an_overload_for_tensors_goes_before_numbers_made_of_them():
    x = torch.tensor([1, 5])
    assert torch.clamp(x, max=torch.tensor(2.5)).tolist() == [1.0, 2.5]
    assert torch.max(x, torch.tensor(3)).tolist() == [3, 5]
    assert torch.clamp(x, torch.tensor(2), 4).tolist() == [2, 4]  # no overload for both: the tensor is a number
    assert torch.arange(torch.tensor(3)).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.clamp(x, "a", torch.tensor(1))
