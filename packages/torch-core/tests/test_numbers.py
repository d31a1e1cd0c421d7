"""torch.tensor(numbers, dtype=...): what a dtype holds, and what it refuses."""

import itertools

import numpy as np
import pytest
import torch

UNSIGNED = [torch.uint8, torch.uint16, torch.uint32, torch.uint64]
SIGNED = [torch.int8, torch.int16, torch.int32, torch.int64]
INTEGERS = [
    -1,
    -127,
    -128,
    -129,
    -255,
    -256,
    -65535,
    -65536,
    -(2**31),
    -(2**32) + 1,
    -(2**32),
    -(2**63),
    0,
    127,
    128,
    255,
    256,
    2**16 - 1,
]
INTEGERS += [2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1]


def forms_of(value):
    """A number as it may stand in data: by itself, in lists, as NumPy's and as a tensor's."""
    yield from (value, [value], (value,), [[0, value]])
    if -(2**63) <= value < 2**63:
        yield from ([np.int64(value)], [torch.tensor(value, dtype=torch.int64)])


@pytest.mark.parametrize(("dtype", "value"), list(itertools.product(UNSIGNED[:3], INTEGERS)))
def test_an_unsigned_dtype_wraps_negative_ints_down_to_minus_its_greatest(dtype, value):
    greatest = 2 ** (8 * dtype.itemsize) - 1
    for data in forms_of(value):
        if -greatest <= value <= greatest:
            assert torch.tensor(data, dtype=dtype).flatten()[-1].item() == value % (greatest + 1)
        else:
            with pytest.raises(RuntimeError, match=f"type {str(dtype)[6:]} without overflow: .*{value}"):
                torch.tensor(data, dtype=dtype)


@pytest.mark.parametrize(("dtype", "value"), list(itertools.product(SIGNED, INTEGERS)))
def test_a_signed_dtype_holds_its_range(dtype, value):
    half = 2 ** (8 * dtype.itemsize - 1)
    for data in forms_of(value):
        if -half <= value < half:
            assert torch.tensor(data, dtype=dtype).flatten()[-1].item() == value
        else:
            with pytest.raises(RuntimeError, match="without overflow"):
                torch.tensor(data, dtype=dtype)


@pytest.mark.parametrize("value", INTEGERS + [2**63, 2**64 - 1])
def test_uint64_holds_no_negative_number(value):
    for data in forms_of(value):
        if value >= 0:
            assert torch.tensor(data, dtype=torch.uint64).flatten()[-1].item() == value
        else:
            with pytest.raises(OverflowError, match="uint64 without overflow"):
                torch.tensor(data, dtype=torch.uint64)


@pytest.mark.parametrize("dtype", UNSIGNED + SIGNED)
@pytest.mark.parametrize(
    "value", [-1.0, -1.5, 3.7, 255.0, 255.5, 256.0, 1e10, 1e19, -1e19, 1e30, float("nan"), float("inf"), -float("inf")]
)
def test_a_float_that_an_integer_dtype_cannot_hold_is_refused(dtype, value):
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    for data in (value, [value], [np.float64(value)]):
        if low <= value <= high:
            assert torch.tensor(data, dtype=dtype).flatten()[-1].item() == int(value)
        else:
            with pytest.raises(RuntimeError, match="without overflow"):
                torch.tensor(data, dtype=dtype)


@pytest.mark.parametrize("value", [2**64, 2**70, -(2**63) - 1, -(2**70)])
def test_ints_beyond_64_bits_go_where_a_float_would(value):
    assert torch.tensor([value], dtype=torch.float64).item() == float(value)
    assert torch.tensor(value, dtype=torch.bool).item() is True
    assert torch.tensor(value, dtype=torch.complex128).item() == complex(value)
    for dtype in SIGNED + UNSIGNED[:3]:
        with pytest.raises(ValueError, match="does not fit into 64 bits"):
            torch.tensor(value, dtype=dtype)
    with pytest.raises(OverflowError, match="does not fit into 64 bits"):
        torch.tensor(value, dtype=torch.uint64)


@pytest.mark.parametrize("value", [2**63, 2**64 - 1])
@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED[:3])
def test_ints_beyond_63_bits_need_uint64(dtype, value):
    with pytest.raises(ValueError, match="without overflow"):
        torch.tensor([value], dtype=dtype)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED + [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_complex_number_is_no_real_one(dtype):
    with pytest.raises(TypeError, match="without losing its imaginary part"):
        torch.tensor([1j], dtype=dtype)
