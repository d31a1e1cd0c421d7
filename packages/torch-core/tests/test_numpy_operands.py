"""Arrays and numbers of NumPy beside tensors in operators, and as indices."""

import numpy as np
import pytest
import torch


def test_what_numpy_gives_for_a_tensor_of_one_number_keeps_its_dtype():
    for dtype, own in ((torch.float64, np.float64), (torch.float32, np.float32), (torch.int16, np.int16)):
        t, a = torch.tensor([3, 4], dtype=dtype), np.array([1, 2], dtype=own)
        product = t @ a
        assert product.dtype == dtype and product.item() == 11
        total = torch.tensor(3, dtype=dtype) + np.array(2, dtype=own)
        assert total.dtype == dtype and total.shape == () and total.item() == 5


def test_an_array_is_divided_by_a_tensor():
    quotient = np.array([1.0, 2.0]) / torch.tensor([4.0, 8.0])
    assert isinstance(quotient, torch.Tensor) and quotient.dtype == torch.float64 and quotient.tolist() == [0.25, 0.25]
    with pytest.raises(TypeError, match="unsupported operand"):
        np.array([1.0]) * torch.tensor([4.0])


@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_dates_of_numpy_are_no_index(kind):
    date = getattr(np, kind)("2020" if kind == "datetime64" else 1, "D")
    with pytest.raises(TypeError, match=f"can't convert elements of numpy.{kind} that are no numbers"):
        torch.ones(2)[date]


@pytest.mark.parametrize("index", [np.float32(1.7), np.float64(2.0), np.float16(1)])
def test_floats_of_numpy_are_no_index(index):
    x = torch.arange(12)
    with pytest.raises((IndexError, TypeError)):
        x[index]
    assert x[np.int64(3)].item() == 3
