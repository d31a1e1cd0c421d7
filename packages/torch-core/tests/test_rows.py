"""What every element-wise operator must do, generated from its row: dtypes, layouts, in-place and out= forms, Meta."""

import numpy as np
import pytest
import torch
from rows import DEVICE, HALF, PLAIN, POINTWISE, ROWS, inputs, tensor
from torch import _C

pairs = [pytest.param(row, dtype, id=f"{row}-{str(dtype)[6:]}") for row in PLAIN for dtype in row.dtypes]


def same(a, b, tolerance=0.0):
    a, b = (np.asarray(x.cpu().to(torch.complex128 if x.is_complex() else torch.float64)) for x in (a, b))
    return np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def run(row, arguments):
    try:
        return row.call(*arguments)
    except NotImplementedError as error:
        assert row.name.rstrip("_") in str(error)
        pytest.skip(str(error))


@pytest.mark.parametrize("row, dtype", pairs)
def test_strided_reversed_and_expanded_inputs_give_what_contiguous_ones_give(row, dtype):
    a = inputs(row, dtype, (4, 6))
    plain = run(row, a)
    assert plain.shape == (4, 6)
    transposed = [x.t().contiguous().t() for x in a]
    assert same(row.call(*transposed), plain)
    gaps = [torch.stack([x, x], 2).reshape(4, 12)[:, ::2] for x in a]
    assert same(row.call(*gaps), plain)
    if DEVICE == "cpu":  # only NumPy has negative strides
        backwards = [torch.from_dlpack(np.asarray(x)[::-1].copy()[::-1]) if x.dtype != torch.bfloat16 else x for x in a]
        assert same(row.call(*backwards), plain)
    expanded = [x[:1].expand(4, 6) for x in a]
    assert same(row.call(*expanded), row.call(*[x.contiguous() for x in expanded]))


@pytest.mark.parametrize("row, dtype", pairs)
def test_empty_and_zero_dimensional_inputs_keep_their_shape(row, dtype):
    run(row, inputs(row, dtype, (2,)))
    for shape in ((), (0,), (2, 0, 3)):
        out = row.call(*inputs(row, dtype, shape))
        outs = out if isinstance(out, tuple) else (out,)
        assert all(o.shape == shape for o in outs)


@pytest.mark.parametrize("row, dtype", pairs)
def test_meta_tensors_tell_shape_and_dtype(row, dtype):
    a = inputs(row, dtype, (2, 3))
    real = run(row, a)
    meta = row.call(*[x.to("meta") for x in a])
    assert meta.is_meta and meta.shape == real.shape and meta.dtype == real.dtype


@pytest.mark.parametrize("row, dtype", [p for p in pairs if p.values[1] in HALF or p.values[1] == torch.float32])
def test_lower_precision_agrees_with_float64(row, dtype):
    a = inputs(row, dtype, (50,))
    low = run(row, a)
    if low.dtype != dtype:
        return
    want = row.call(*[x if x.dtype == torch.bool else x.double() for x in a])
    got, want = np.asarray(low.double().cpu()), np.asarray(want.cpu())
    epsilon = torch.finfo(dtype).eps
    assert np.allclose(got, want, rtol=4 * epsilon, atol=4 * epsilon, equal_nan=True), (a, got, want)


@pytest.mark.parametrize("row, dtype", pairs)
def test_out_gets_the_result(row, dtype):
    a = inputs(row, dtype, (3, 4))
    plain = run(row, a)
    if not isinstance(plain, torch.Tensor):
        pytest.skip("several results")
    out = torch.empty(0, dtype=plain.dtype, device=DEVICE)
    assert row.call(*a, out=out) is out and same(out, plain)
    assert row.call(*a, out=out) is out and same(out, plain)  # written to directly this time
    if plain.shape == a[0].shape and plain.dtype == a[0].dtype:
        assert row.call(a[0], *a[1:], out=a[0]) is a[0] and same(a[0], plain)


in_place = [pytest.param(row, id=str(row)) for row in POINTWISE if row.in_place and row.name.endswith("_")]


@pytest.mark.parametrize("row", in_place)
def test_in_place_form_writes_what_the_plain_form_returns(row):
    plain = _C._operator(row.name[:-1])
    for dtype in row.dtypes:
        a = inputs(row, dtype, (3, 4))
        try:
            expected = plain(*a)
        except NotImplementedError:
            continue
        if expected.dtype != dtype:
            continue
        target, version = a[0].clone(), a[0]._version
        before = target._version
        assert row.call(target, *a[1:]) is target
        assert same(target, expected) and target._version > before and a[0]._version == version


@pytest.mark.parametrize("row", in_place)
def test_in_place_refuses_memory_that_overlaps_itself(row):
    dtype = next(d for d in (torch.float32, torch.int64, torch.bool) if d in row.dtypes)
    target = tensor(row, dtype, (1,)).expand(3)
    if row.name in ("fill_", "zero_", "index_fill_", "masked_fill_"):
        pytest.skip("writes one number wherever it writes")
    with pytest.raises(RuntimeError, match="single memory location"):
        row.call(target, *inputs(row, dtype, (3,))[1:])


@pytest.mark.parametrize("row", [pytest.param(r, id=str(r)) for r in POINTWISE])
@pytest.mark.parametrize("wrong", [None, "text", [1, 2]], ids=["None", "str", "list"])
def test_wrong_types_are_named(row, wrong):
    with pytest.raises(TypeError) as caught:
        row.call(*[wrong] * len(row.tensors))
    assert row.name in str(caught.value)


def test_every_row_has_documentation_and_a_readable_signature():
    for row in ROWS:
        assert row.info["doc"].endswith((".", "``", ")")), row.schema
        assert row.call.__doc__.startswith(row.name + "(")
