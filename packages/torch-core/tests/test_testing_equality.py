"""What TestCase.assertEqual takes for equal. The outcomes are those that PyTorch 2.13 gave for the same pairs."""

import pytest
import torch
from torch.testing._internal.common_utils import TestCase

np = pytest.importorskip("numpy")
a = torch.tensor([1.0, 2.0])
nan, inf = float("nan"), float("inf")
loose = torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,))
split = torch.sparse_coo_tensor([[0, 0, 1]], [0.5, 0.5, 2.0], (3,))
rows = torch.eye(3).to_sparse_csr()

EQUAL = [
    (a, a + 1e-7, {}),
    (a, a + 1e-3, {"atol": 1e-2, "rtol": 0}),
    (a, a.double(), {"exact_dtype": False}),
    (a, [1, 2], {}),
    ([1.0, 2.0], a, {}),
    (a, np.array([1, 2], dtype="f4"), {}),
    (np.array(["a", "b"]), np.array(["a", "b"]), {}),
    (1, 1.0, {}),
    (1.0, 1.0 + 1e-6, {}),
    (True, 5, {}),
    (False, torch.tensor(0), {}),
    (True, torch.tensor([True]), {}),
    (torch.tensor([3.0]), 3, {}),
    (1 + 2j, torch.tensor(1 + 2j), {}),
    (nan, nan, {}),
    (torch.tensor([nan, inf]), torch.tensor([nan, inf]), {}),
    (None, None, {}),
    ({1, 2}, {2, 1}, {}),
    (b"a", b"a", {}),
    (int, int, {}),
    ([a, 1], (a, 1.0), {}),
    ({"a": [a]}, {"a": [a.clone()]}, {}),
    (a.shape, (2,), {}),
    (torch.ones(2, 3), torch.ones(3, 2).t(), {}),
    (torch.ones(0), [], {}),
    (torch.tensor([1.0]).half(), torch.tensor([1.0009]).half(), {}),
    (torch.tensor([1.0]).bfloat16(), torch.tensor([1.01]).bfloat16(), {}),
    (torch.ones(2).to(torch.float8_e4m3fn), torch.ones(2).to(torch.float8_e4m3fn), {}),
    (loose, loose.coalesce(), {}),
    (loose, loose.to_dense(), {}),
    (rows, rows.to_dense(), {}),
    (range(3), [0, 1, 2], {}),
    (np.bool_(True), True, {}),
    (np.float64(1), torch.tensor(1.0), {}),
]

DIFFERENT = [
    (a, a + 1e-3, {}, "Mismatched elements: 2 / 2"),
    (a, a.double(), {}, "'dtype' do not match"),
    (a, np.array([1.0, 2.0]), {}, "'dtype' do not match"),
    (a, [1, 3], {}, "Mismatched elements: 1 / 2"),
    (a, (1, 2, 3), {}, "'shape' do not match"),
    (np.array(["a", "b"]), ["a", "c"], {}, "At index 1: str and str differ"),
    (1, 2, {}, "Expected 2 but got 1"),
    (1.0, 1.0 + 1e-3, {}, "Absolute difference"),
    (torch.tensor(3.0), 4, {}, "Expected 4 but got 3.0"),
    (1 + 2j, 1, {}, "Expected 1 but got"),
    (nan, nan, {"equal_nan": False}, "Expected nan"),
    (inf, -inf, {}, "Expected -inf"),
    (True, 0, {}, "Booleans mismatch: True is not False"),
    (None, 1, {}, "None mismatch"),
    ("a", "b", {}, "'a' != 'b'"),
    ("a", 1, {}, "str and int differ"),
    ({1, 2}, {2, 3}, {}, "set and set differ"),
    ([1, 2], [1, 2, 3], {}, "length of the sequences mismatch: 2 != 3"),
    ({"a": a}, {"b": a}, {}, r"\['a', 'b'\] are in one of them"),
    ({"a": [a]}, {"a": [a + 1]}, {}, "At key 'a': At index 0: Tensor-likes are not close"),
    (torch.float32, torch.int64, {}, "dtype and dtype differ"),
    (torch.ones(2, 3), torch.ones(3, 2).t(), {"exact_stride": True}, r"'stride\(\)' do not match"),
    (torch.tensor([1]), torch.tensor([1.0]), {}, "'dtype' do not match"),
    (torch.tensor([True, False]), torch.tensor([True, True]), {}, "Mismatched elements: 1 / 2"),
    (torch.tensor([1.0]).bfloat16(), torch.tensor([1.03]).bfloat16(), {}, "Mismatched elements"),
    (torch.tensor([1], dtype=torch.uint8), torch.tensor([255], dtype=torch.uint8), {"atol": 1, "rtol": 0}, "1 / 1"),
    (loose, split, {}, "The indices of the torch.sparse_coo tensors do not match in shape"),
    (loose, 2 * loose, {}, "The values of the torch.sparse_coo tensors differ"),
    (loose, loose.to_dense(), {"exact_layout": True}, "'layout' do not match"),
    (rows, 2 * rows, {}, "The values of the torch.sparse_csr tensors differ"),
    (2**60, 2**60 + 1, {}, "Expected 1152921504606846977"),
]


@pytest.mark.parametrize("x, y, options", EQUAL)
def test_these_are_equal(x, y, options):
    TestCase().assertEqual(x, y, **options)
    with pytest.raises(AssertionError):
        TestCase().assertNotEqual(x, y, **options)


@pytest.mark.parametrize("x, y, options, text", DIFFERENT)
def test_these_are_different_and_the_message_says_how(x, y, options, text):
    TestCase().assertNotEqual(x, y, **options)
    with pytest.raises(AssertionError, match=text):
        TestCase().assertEqual(x, y, **options)


def test_values_that_cannot_be_compared_are_an_error():
    for x, y, text in ((torch.ones(2), 3, "with a number: got 2"), (True, np.ones(2), "with a boolean: got 2")):
        with pytest.raises(ValueError, match=text):
            TestCase().assertEqual(x, y)
    with pytest.raises(ValueError, match="got no rtol"):
        TestCase().assertEqual(a, a, atol=1)


def test_precision_of_the_case_holds_at_least():
    case = TestCase()
    case.precision = 0.1
    case.assertEqual(a, a + 0.05)
    case.assertEqual(1.0, 1.05)
    case.assertNotEqual(a, a + 0.2)


def test_a_number_in_place_of_the_message_is_a_tolerance():
    TestCase().assertEqual(a, a + 0.05, 0.1)
    with pytest.raises(AssertionError):
        TestCase().assertEqual(a, a + 0.2, 0.1)
    with pytest.raises(TypeError, match="a tolerance came twice"):
        TestCase().assertEqual(a, a, 0.1, atol=1, rtol=0)


def test_messages_follow_the_difference_or_replace_it():
    with pytest.raises(AssertionError, match=r"(?s)Expected 2 but got 1.*\nmine$"):
        TestCase().assertEqual(1, 2, "mine")
    with pytest.raises(AssertionError, match="^mine: Scalars"):
        TestCase().assertEqual(1, 2, lambda text: "mine: " + text)


def test_quantized_tensors_are_compared_as_what_they_stand_for():
    q, r = (torch.quantize_per_tensor(torch.tensor([1.0, v]), 0.1, 0, torch.qint8) for v in (2.0, 3.0))
    TestCase().assertEqual(q, q)
    for other, text in ((r, "Mismatched elements: 1 / 2"), (torch.ones(2), "'dtype' do not match")):
        with pytest.raises(AssertionError, match=text):
            TestCase().assertEqual(q, other)
    with pytest.raises(AssertionError, match="quantization schemes do not match"):
        TestCase().assertEqual(q, torch.tensor([1.0, 2.0]), exact_dtype=False)
