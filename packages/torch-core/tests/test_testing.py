"""torch.testing: what counts as close, and what the messages say."""

import subprocess
import sys

import pytest
import torch
from torch.testing import assert_allclose, assert_close, make_non_contiguous, make_tensor

a = torch.tensor([1.0, 2.0])


def test_close_values_pass():
    assert_close(a, a + 1e-7)
    assert_close({"x": [a, 1.0, None]}, {"x": [a.clone(), 1.0 + 1e-9, None]})
    assert_close(torch.tensor([float("nan")]), torch.tensor([float("nan")]), equal_nan=True)
    assert_close(a, a + 0.5, rtol=0, atol=0.6)
    assert_close(1, 1)


@pytest.mark.parametrize(
    "actual, expected, text",
    [
        (a, a + 1, r"not close!\s+Mismatched elements: 2 / 2 .100.0%.\s+Greatest absolute difference: 1 at index .0,."),
        (a, torch.tensor([1.0, 3.0]), r"1 / 2 .50.0%.\s+Greatest absolute difference: 1 at index .1,..*1e-05 allowed"),
        (a, a.double(), "'dtype' do not match: torch.float32 != torch.float64"),
        (a, torch.ones(3), r"'shape' do not match: torch.Size\(\[2\]\) != torch.Size\(\[3\]\)"),
        ([a, a], [a, a + 1], "At index 1: Tensor-likes are not close"),
        ({"k": a}, {"k": a + 1}, "At key 'k'"),
        ({"k": a}, {"l": a}, r"keys of the mappings do not match: \['k', 'l'\]"),
        ([a], [a, a], "length of the sequences mismatch: 1 != 2"),
        (1.0, 1.1, "Expected 1.1 but got 1.0"),
        (1, 1.0, "types do not match"),
        (torch.tensor(1), torch.tensor(2), "Scalars are not equal!\\s+Expected 2 but got 1"),
        (torch.tensor([float("nan")]), torch.tensor([float("nan")]), "Mismatched elements: 1 / 1"),
        (None, a, "None mismatch"),
    ],
)
def test_differences_are_told(actual, expected, text):
    with pytest.raises(AssertionError, match=text):
        assert_close(actual, expected)


def test_the_message_can_be_ones_own():
    with pytest.raises(AssertionError, match="^mine$"):
        assert_close(a, a + 1, msg="mine")
    with pytest.raises(AssertionError, match="^mine: Tensor"):
        assert_close(a, a + 1, msg=lambda text: "mine: " + text)
    with pytest.raises(ValueError, match="both be unspecified, but got no atol"):
        assert_close(a, a, rtol=1)


def test_allclose_of_2018_is_lenient():
    assert_allclose(a, [1, 2])
    assert_allclose(a.double(), a)
    assert_allclose(torch.tensor([float("nan")]), torch.tensor([float("nan")]))
    with pytest.raises(AssertionError):
        assert_allclose(a, [1, 3])


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.float64, torch.complex64])
def test_made_tensors_keep_their_promises(dtype):
    x = make_tensor(50, 40, dtype=dtype, device="cpu", noncontiguous=True, exclude_zero=dtype != torch.bool)
    assert x.shape == (50, 40) and x.dtype == dtype and not x.is_contiguous()
    assert dtype == torch.bool or bool((x != 0).all())
    y = make_tensor((1000,), dtype=torch.float32, device="cpu", low=2, high=3)
    assert y.min() >= 2 and y.max() < 3
    with pytest.raises(ValueError, match="low must be less than high, got low=3 and high=2"):
        make_tensor(2, dtype=torch.int32, device="cpu", low=3, high=2)


def test_made_tensors_may_require_gradients():
    pytest.importorskip("torch.autograd")
    assert make_tensor(3, dtype=torch.float32, device="cpu", requires_grad=True).requires_grad


def test_non_contiguous_copies():
    x = torch.rand(3, 4)
    y = make_non_contiguous(x)
    assert torch.equal(x, y) and not y.is_contiguous() and y.storage_offset() > 0


def test_tolerances_of_dtypes_are_the_widest_of_them():
    from torch.testing._comparison import default_tolerances, get_tolerances

    assert default_tolerances(torch.float32) == (1.3e-6, 1e-5)
    assert default_tolerances(torch.ones(1).half(), torch.float64) == (1e-3, 1e-5)
    assert default_tolerances(torch.int64) == (0.0, 0.0)
    assert get_tolerances(torch.float16, rtol=0.5, atol=0.25) == (0.5, 0.25)
    with pytest.raises(ValueError, match="got no rtol"):
        get_tolerances(torch.float16, rtol=None, atol=1.0)
    with pytest.raises(ValueError, match="at least one tensor or dtype"):
        default_tolerances()


def test_torch_does_not_import_its_testing():
    script = "import sys, torch; print([m for m in sys.modules if m.startswith('torch.testing')])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_meta_tensors_are_close_where_shape_and_dtype_are_the_same():
    x = torch.empty(2, 3, device="meta")
    assert_close(x, x.clone())
    with pytest.raises(AssertionError, match="'shape' do not match"):
        assert_close(x, x[0])
    with pytest.raises(AssertionError, match="'dtype' do not match"):
        assert_close(x, x.double())
