"""`from torch import *`, and names of old programs."""

import pytest
import torch


def test_star_takes_functions_classes_and_dtypes_and_no_modules():
    names = set(torch.__all__)
    assert {"tensor", "float32", "Tensor", "einsum", "autocast"} <= names
    assert not any(n.startswith("_") for n in names) and not {"nn", "fft", "cuda"} & names
    space = {}
    exec("from torch import *", space)
    assert space["float32"] is torch.float32 and space["einsum"] is torch.einsum


def test_old_casts():
    assert torch._cast_Long(torch.tensor([1.5])).dtype == torch.int64
    assert torch._cast_Half(torch.tensor([1.5])).dtype == torch.float16


def test_products_of_bytes_are_wide():
    a = torch.full((2, 3), 100, dtype=torch.int8)
    assert torch._int_mm(a, a.T.contiguous()).tolist() == [[30000, 30000], [30000, 30000]]
    with pytest.raises(RuntimeError, match="int8"):
        torch._int_mm(a, a.float().T)


def test_schemes_of_quantization_are_names():
    assert repr(torch.per_tensor_affine) == "torch.per_tensor_affine" and isinstance(
        torch.per_tensor_affine, torch.qscheme
    )
    with pytest.raises(RuntimeError, match=r"torch\.linalg\.matrix_rank"):
        torch.matrix_rank(torch.eye(2))
