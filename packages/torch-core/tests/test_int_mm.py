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
