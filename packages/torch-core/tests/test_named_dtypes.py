"""Dtypes of which no tensors exist here, and limits of small ones."""

import copy
import pickle

import pytest
import torch
from torch import _dtypes

NAMES = sorted(_dtypes.NAMED)


@pytest.mark.parametrize("name", NAMES)
def test_a_named_dtype_is_one_object_that_pickles_under_its_name(name):
    dtype = getattr(torch, name)
    assert isinstance(dtype, torch.dtype) and repr(dtype) == f"torch.{name}" and dtype is getattr(torch, name)
    assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype
    assert len({dtype, *(getattr(torch, n) for n in NAMES)}) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_of_a_named_dtype_is_refused_by_its_name(name):
    dtype, x = getattr(torch, name), torch.ones(2)
    for make in (
        lambda: torch.zeros(2, dtype=dtype),
        lambda: torch.tensor([1], dtype=dtype),
        lambda: x.to(dtype),
        lambda: x.view(dtype),
        lambda: x.sum(dtype=dtype),
        lambda: torch.promote_types(dtype, torch.float32),
        lambda: torch.set_default_dtype(dtype),
    ):
        with pytest.raises(
            NotImplementedError, match=rf"torch\.{name}: tensors of this dtype are not part of this stack"
        ):
            make()
    assert torch.get_default_dtype() == torch.float32


def test_what_dtypes_are():
    assert torch.float8_e5m2.is_floating_point and torch.float8_e5m2.itemsize == 1 and torch.float8_e5m2.is_signed
    assert not torch.uint4.is_floating_point and not torch.uint4.is_signed and torch.int4.is_signed
    assert torch.chalf is torch.complex32 and torch.complex32.is_complex and torch.complex32.itemsize == 4
    assert torch.complex32.to_real() is torch.float16 and torch.complex32.to_complex() is torch.complex32
    assert torch.qint32.itemsize == 4 and torch.float8_e4m3fn.to_real() is torch.float8_e4m3fn


@pytest.mark.parametrize(
    "name, fraction, least, largest",
    # OFP8 1.0, table 1; the "uz" formats of arXiv:2206.02915, table 1; MX 1.0, section 5.4.1
    [
        ("float8_e4m3fn", 3, 2.0**-6, 448),
        ("float8_e5m2", 2, 2.0**-14, 57344),
        ("float8_e4m3fnuz", 3, 2.0**-7, 240),
        ("float8_e5m2fnuz", 2, 2.0**-15, 57344),
        ("float8_e8m0fnu", 0, 2.0**-127, 2.0**127),
    ],
)
def test_limits_of_floats_of_8_bits(name, fraction, least, largest):
    limits = torch.finfo(getattr(torch, name))
    assert (limits.eps, limits.smallest_normal, limits.max, limits.bits) == (2.0**-fraction, least, largest, 8)
    assert limits.min == (least if name == "float8_e8m0fnu" else -largest)


def test_limits_of_one_dtype_are_equal():
    assert torch.finfo() == torch.finfo(torch.float32) == torch.finfo(torch.complex64) != torch.finfo(torch.float16)
    assert torch.iinfo(int) == torch.iinfo(torch.int64) != torch.iinfo(torch.uint8) and torch.iinfo(int) != 3
    assert len({torch.finfo(), torch.finfo(torch.float32), torch.iinfo(int)}) == 2


def test_limits_that_do_not_exist():
    with pytest.raises(NotImplementedError, match="float4_e2m1fn_x2"):
        torch.finfo(torch.float4_e2m1fn_x2)
    with pytest.raises(TypeError, match="iinfo.*torch.uint4"):
        torch.iinfo(torch.uint4)
