"""The Tensor type itself: making tensors from data, asking them questions, numbers and types in and out."""

import gc
import math
import operator
import weakref

import pytest
import torch


def test_data_decides_shape_and_dtype():
    assert torch.tensor([[1, 2], [3, 4]]).dtype == torch.int64
    assert torch.tensor([1, 2.5]).dtype == torch.float32
    assert torch.tensor([True, False]).dtype == torch.bool
    assert torch.tensor(1 + 2j).dtype == torch.complex64
    assert torch.tensor([[], []]).shape == (2, 0)
    assert torch.tensor([torch.tensor(1), torch.tensor(2)]).tolist() == [1, 2]
    assert torch.tensor(2**63).dtype == torch.uint64


@pytest.mark.parametrize(
    "data, error, text",
    [
        ([[1], [2, 3]], ValueError, "expected sequence of length 1 at dim 1"),
        ([1, "a"], TypeError, "invalid data type 'str'"),
        ([1, [2]], ValueError, "a list stands where other items at dim 1 are numbers"),
        (None, RuntimeError, "NoneType"),
        (2**70, OverflowError, "does not fit into 64 bits"),
    ],
)
def test_bad_data_is_named(data, error, text):
    with pytest.raises((error, ValueError), match=text):
        torch.tensor(data)


def test_values_that_a_dtype_cannot_hold_are_refused():
    with pytest.raises(RuntimeError, match="without overflow: 300"):
        torch.tensor(300, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="type int64 without overflow: nan"):
        torch.tensor(float("nan"), dtype=torch.int64)


def test_deep_nesting_is_an_error_and_no_crash():
    deep = 1.0
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ValueError, match="more than 64 deep"):
        torch.tensor(deep)


def test_legacy_constructors_take_sizes_data_and_tensors():
    assert torch.Tensor(2, 3).shape == (2, 3) and torch.Tensor().shape == (0,)
    assert torch.Tensor([1, 2]).tolist() == [1.0, 2.0]
    assert torch.DoubleTensor([1]).dtype == torch.float64 and torch.LongTensor(3).dtype == torch.int64
    assert torch.FloatTensor(torch.Size([2])).shape == (2,)
    with pytest.raises(TypeError, match="expected torch.float64 .got torch.float32"):
        torch.DoubleTensor(torch.ones(1))
    with pytest.raises(TypeError, match="got float at position 2"):
        torch.Tensor(2, 3.5)
    with pytest.raises(RuntimeError, match="torch-core-cuda"):
        torch.cuda.FloatTensor(2)


def test_types_answer_in_all_spellings():
    x = torch.ones(2, dtype=torch.float64)
    assert type(x) is torch.Tensor and x.type() == "torch.DoubleTensor"
    assert isinstance(x, torch.DoubleTensor) and not isinstance(x, torch.FloatTensor)
    assert x.type(torch.FloatTensor).dtype == x.type("torch.FloatTensor").dtype == x.float().dtype == torch.float32
    with pytest.raises(ValueError, match="invalid type"):
        x.type("torch.NoTensor")


def test_to_is_the_tensor_itself_when_nothing_changes():
    x = torch.ones(2)
    assert x.to("cpu") is x and x.to(torch.float32) is x and x.to(x) is x and x.cpu() is x and x.float() is x
    assert x.to(torch.float64) is not x and x.to("cpu", copy=True) is not x
    with pytest.raises(NotImplementedError, match="torch-core-cuda"):
        x.cuda()
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, meta"):
        x.to("gpu")


def test_numbers_come_out():
    assert torch.tensor(3).item() == 3 and isinstance(torch.tensor(True).item(), bool)
    assert int(torch.tensor(2.7)) == 2 and float(torch.tensor(2)) == 2.0 and complex(torch.tensor(1j)) == 1j
    assert [10, 20, 30][torch.tensor(1)] == 20 and bool(torch.tensor([[0.5]]))
    assert float(torch.tensor(1.5 + 0j)) == 1.5 and int(torch.tensor([2 - 0j])) == 2
    for kind in (int, float):
        with pytest.raises(RuntimeError, match=rf"{kind.__name__}: .* \(1\+2j\) has an imaginary part; take .real"):
            kind(torch.tensor(1 + 2j))
    with pytest.raises(RuntimeError, match="with 2 elements cannot be converted to Scalar"):
        torch.ones(2).item()
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        bool(torch.ones(2))
    with pytest.raises(TypeError, match="only integer tensors of a single element"):
        [1, 2][torch.tensor(1.0)]


def test_python_numbers_do_not_raise_the_precision():
    assert (torch.ones(2) * 2.5).dtype == torch.float32 and (torch.ones(2, dtype=torch.int32) + 1).dtype == torch.int32
    assert (torch.ones(2, dtype=torch.int32) + 1.5).dtype == torch.float32
    assert (torch.ones(2) + torch.tensor(1.0, dtype=torch.float64)).dtype == torch.float32
    assert (torch.ones(2, dtype=torch.float16) * torch.ones(2)).dtype == torch.float32
    assert (2 - torch.tensor([1.0])).item() == 1.0 and (2 ** torch.tensor([3.0])).item() == 8.0


def test_operators_of_the_language():
    a, b = torch.tensor([7, -7]), torch.tensor([2, 2])
    assert (a // b).tolist() == [3, -4] and (a % b).tolist() == [1, 1] and (a / b).tolist() == [3.5, -3.5]
    assert (-a).tolist() == [-7, 7] and abs(a).tolist() == [7, 7] and (~torch.tensor([True])).tolist() == [False]
    assert (a & 3).tolist() == [3, 1] and (a << 1).tolist() == [14, -14] and (a >= b).tolist() == [True, False]
    x = torch.ones(2, 2)
    assert (x @ x).tolist() == [[2.0, 2.0], [2.0, 2.0]] and (x * x).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(TypeError):
        x + "text"
    y = x
    y += 1
    assert y is x and x[0, 0].item() == 2.0


def test_a_tensor_hashes_by_identity_and_compares_by_element():
    a, b = torch.ones(2), torch.ones(2)
    assert len({a, b}) == 2 and (a == b).tolist() == [True, True] and (a == None).__class__ is bool  # noqa: E711


def test_sizes_are_tuples_with_a_name():
    s = torch.ones(2, 3, 4).shape
    assert isinstance(s, tuple) and s == (2, 3, 4) and s.numel() == 24 and repr(s) == "torch.Size([2, 3, 4])"
    assert type(s[1:]) is torch.Size and type(s + s) is torch.Size
    with pytest.raises(TypeError, match="item 1 is 'str'"):
        torch.Size([1, "a"])


def test_devices_parse_compare_and_print():
    d = torch.device("cuda:1")
    assert (d.type, d.index, str(d), repr(d)) == ("cuda", 1, "cuda:1", "device(type='cuda', index=1)")
    assert (
        d == torch.device("cuda", 1)
        and torch.device("cpu") != d
        and len({torch.device("cpu"), torch.device("cpu")}) == 1
    )
    for bad in ("cuda:-1", "cuda:x", "cuda:999", "tpu"):
        with pytest.raises(RuntimeError):
            torch.device(bad)


PLACED = {
    "zeros": lambda d: torch.zeros(2, device=d),
    "tensor": lambda d: torch.tensor([1.0], device=d),
    "as_tensor": lambda d: torch.as_tensor([1.0], device=d),
    "asarray": lambda d: torch.asarray([1.0], device=d),
    "arange": lambda d: torch.arange(3, device=d),
    "rand": lambda d: torch.rand(2, device=d),
    "zeros_like": lambda d: torch.zeros_like(torch.ones(2), device=d),
    "new_ones": lambda d: torch.ones(2).new_ones(2, device=d),
    "new_tensor": lambda d: torch.ones(2).new_tensor([1], device=d),
    "to": lambda d: torch.ones(2).to(d),
    "to with a dtype": lambda d: torch.ones(2).to(d, torch.float64),
    "a view": lambda d: torch.ones(2, device=d)[:1],
    "a storage": lambda d: torch.UntypedStorage(8, device=d),
    "eye": lambda d: torch.eye(2, device=d) + 1,
}


@pytest.mark.parametrize("make", PLACED.values(), ids=PLACED)
@pytest.mark.parametrize("kind", ["cpu", "meta"])
def test_there_is_one_cpu_and_one_meta_device_whatever_index_they_are_given(make, kind):
    for place in (f"{kind}:0", f"{kind}:3", torch.device(kind, 0), torch.device(f"{kind}:1"), kind):
        made = make(place)
        assert made.device == torch.device(kind) and made.device.index is None and str(made.device) == kind
    assert str(torch.device(f"{kind}:1")) == f"{kind}:1" and torch.device(kind, 0) != torch.device(kind)


def test_a_tensor_that_is_on_the_cpu_stays_the_same_under_any_of_its_names():
    x = torch.ones(2)
    assert x.to("cpu:0") is x and x.to(torch.device("cpu", 0)) is x and torch.as_tensor(x, device="cpu:0") is not None
    assert torch.ones(2, out=x, device="cpu:0") is x and torch.Generator("cpu:0").device == x.device


def test_attributes_keep_a_tensor_in_its_cycle_until_it_is_collected():
    x = torch.ones(1)
    x.me = x
    ref = weakref.ref(x)
    del x
    gc.collect()
    assert ref() is None


def test_data_shares_memory_but_not_the_version():
    x = torch.ones(3)
    before = x._version
    x.data.mul_(2)
    assert x.tolist() == [2.0, 2.0, 2.0] and x._version == before
    x.detach().mul_(2)
    assert x._version == before + 1
    x.data = torch.zeros(2, dtype=torch.float64)
    assert x.shape == (2,) and x.dtype == torch.float64


def test_views_know_their_base_and_survive_a_resize():
    x = torch.arange(6.0)
    row = x.view(2, 3)[1]
    assert row._base is x
    x.resize_(1000)
    assert row.tolist() == [3.0, 4.0, 5.0]


def test_out_takes_the_result_and_refuses_what_cannot_hold_it():
    out = torch.empty(0)
    assert torch.add(torch.ones(2), 1, out=out) is out and out.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.add(torch.ones(2), 1, out=torch.empty(2, dtype=torch.int64))


def test_keywords_of_2018_and_of_numpy_work():
    x = torch.ones(2, 3)
    assert torch.sum(x, axis=1, keepdims=True).shape == (2, 1) == torch.sum(input=x, dim=1, keepdim=True).shape
    with pytest.raises(TypeError, match="unexpected keyword argument 'dimm'"):
        torch.amax(x, dimm=1)


def test_huge_and_negative_sizes_are_errors():
    with pytest.raises(RuntimeError, match="must not be negative"):
        torch.empty(-1)
    with pytest.raises(RuntimeError, match="64 bits"):
        torch.empty(2**40, 2**40)
    with pytest.raises(RuntimeError, match="memory"):
        torch.empty(2**50)


def test_iteration_membership_and_length():
    x = torch.tensor([[1, 2], [3, 4]])
    assert [r.tolist() for r in x] == [[1, 2], [3, 4]] and len(x) == 2 and 3 in x and 5 not in x
    assert [r.tolist() for r in reversed(x)] == [[3, 4], [1, 2]]
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(torch.tensor(1))
    with pytest.raises(TypeError, match="len\\(\\) of a 0-d tensor"):
        len(torch.tensor(1))


def test_equal_and_allclose_answer_with_a_bool():
    a = torch.tensor([1.0, float("nan")])
    assert (
        torch.equal(torch.arange(3), torch.arange(3)) is True
        and not torch.equal(torch.ones(2), torch.ones(3))
        and not a.equal(a)
    )
    assert torch.allclose(torch.ones(2), torch.ones(2) + 1e-9) and not a.allclose(a) and a.allclose(a, equal_nan=True)
    with pytest.raises(RuntimeError, match="one dtype, got torch.float32 and torch.int64"):
        torch.allclose(torch.ones(1), torch.arange(1))


def test_lists_of_tensors_may_be_spread():
    a, b = torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))
    assert a.shape == b.shape == torch.broadcast_shapes((2, 1), 3) == (2, 3)
    with pytest.raises(RuntimeError, match=r"shapes \(2,\) and \(3,\) do not broadcast"):
        torch.broadcast_shapes(2, 3)


def test_sums_of_complex_numbers_add_both_parts():
    assert torch.tensor([[1 + 2j, 3j]]).sum().item() == 1 + 5j


@pytest.mark.parametrize("shape", [(0,), (2,), (1, 2), (2, 0, 3)])
def test_several_elements_are_no_number(shape):
    t = torch.ones(shape)
    for kind in (int, float, complex, math.floor):
        with pytest.raises(ValueError, match="only tensors with one element can be converted"):
            kind(t)
    with pytest.raises(TypeError, match="only tensors with one element can be converted"):
        operator.index(t.long())
    for question in (bool, torch.Tensor.item):
        with pytest.raises(RuntimeError):
            question(t)
