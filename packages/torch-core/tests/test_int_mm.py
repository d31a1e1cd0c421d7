"""Products of whole numbers of eight bits."""

import numpy as np
import pytest
import torch


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_the_first_matrix_may_be_without_sign(dtype):
    info = torch.iinfo(dtype)
    a = np.array([[info.min, info.max, 3], [1, 2, info.max]])
    b = np.array([[-128, 127], [5, -6], [7, 8]])
    product = torch._int_mm(torch.tensor(a, dtype=dtype), torch.tensor(b, dtype=torch.int8))
    assert product.dtype is torch.int32 and product.tolist() == (a @ b).tolist()


def test_the_second_matrix_has_a_sign():
    with pytest.raises(RuntimeError, match="int8 or uint8 and one of int8, got torch.int8 and torch.uint8"):
        torch._int_mm(torch.ones(2, 2, dtype=torch.int8), torch.ones(2, 2, dtype=torch.uint8))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_floats_times_int8_have_a_scale_for_each_row(dtype):
    x, w, s = torch.randn(5, 8).to(dtype), torch.randint(-127, 128, (3, 8), dtype=torch.int8), torch.rand(3).to(dtype)
    wanted = x.double() @ w.double().T * s.double()
    assert torch._weight_int8pack_mm(x, w, s).dtype == dtype
    torch.testing.assert_close(torch._weight_int8pack_mm(x, w, s), wanted.to(dtype))
    with pytest.raises(RuntimeError, match="expected self of float32, .* got torch.*, torch.float32 and"):
        torch._weight_int8pack_mm(x, w.float(), s)
    with pytest.raises(RuntimeError, match=r"shapes \(M, K\), \(N, K\) and \(N,\), got \(5, 8\), \(3, 8\) and \(2,\)"):
        torch._weight_int8pack_mm(x, w, s[:2])
