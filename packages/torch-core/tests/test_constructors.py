"""torch.Tensor(...), torch.FloatTensor(...) and x.new(...): one constructor, given one thing by position or by name, or sizes."""

import collections

import numpy as np
import pytest
import torch


class Sequence:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return [1.0, 2.0][i]


Point = collections.namedtuple("Point", "x y")
WAYS = {
    "Tensor": torch.Tensor,
    "FloatTensor": torch.FloatTensor,
    "new": lambda *args, **kwargs: torch.ones(2).new(*args, **kwargs),
    "new of a view": lambda *args, **kwargs: torch.ones(4, 4)[1:, 1:].new(*args, **kwargs),
}
SIZES = [(), (0,), (3,), (2, 3), (2, 0, 3)]
DATA = [
    [1.0, 2.0],
    (1.0, 2.0),
    range(1, 3),
    np.array([1, 2]),
    bytearray([1, 2]),
    Sequence(),
    Point(1, 2),
    [torch.tensor(1.0), 2],
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", SIZES)
def test_sizes_come_as_a_size_by_name_or_one_by_one(way, size):
    make = WAYS[way]
    forms = [
        lambda: make(torch.Size(size)),
        lambda: make(size=size),
        lambda: make(size=list(size)),
        lambda: make(torch.Size(size), device="cpu"),
    ]
    forms += [lambda: make(size=torch.Size(size))]
    if size:
        forms += [lambda: make(*size), lambda: make(*map(np.int64, size)), lambda: make(*size, device=None)]
    for form in forms:
        made = form()
        assert made.shape == size and made.dtype == torch.float32


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("data", DATA, ids=lambda d: type(d).__name__)
def test_data_is_any_sequence_of_numbers(way, data):
    assert WAYS[way](data).tolist() == [1.0, 2.0]
    assert WAYS[way](data=data).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("way", WAYS)
def test_of_nothing_it_is_an_empty_vector(way):
    assert WAYS[way]().shape == (0,) and WAYS[way](()).shape == (0,) and WAYS[way]([]).shape == (0,)
    assert WAYS[way](device="cpu").shape == (0,)


@pytest.mark.parametrize("way", WAYS)
def test_a_tensor_or_a_storage_shares_its_memory(way):
    x = torch.tensor([1.0, 2.0])
    for form in [lambda: WAYS[way](x), lambda: WAYS[way](other=x), lambda: WAYS[way](x.storage())]:
        assert form().tolist() == [1.0, 2.0] and form().data_ptr() == x.data_ptr()
    assert WAYS[way](storage=x.storage()).data_ptr() == x.data_ptr()
    assert WAYS[way](x.untyped_storage()).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((1.5,), {}, "data must be a sequence (got float)"),
        ((None,), {}, "data must be a sequence (got NoneType)"),
        ((True,), {}, "data must be a sequence (got bool)"),
        (({1: 2},), {}, "data must be a sequence (got dict)"),
        (({1, 2},), {}, "data must be a sequence (got set)"),
        (("ab",), {}, "invalid data type 'str'"),
        ((b"ab",), {}, "invalid data type 'bytes'"),
        ((2, 1.5), {}, "got float at position 2"),
        ((), {"size": 3}, "argument 'size' must be tuple of ints, not int"),
        ((), {"size": (1.5,)}, "got float at position 1"),
        ((), {"other": [1]}, "argument 'other' must be Tensor, not list"),
        ((), {"storage": [1]}, "argument 'storage' must be a storage, not list"),
        ((), {"shape": (2,)}, "unexpected keyword argument 'shape'"),
        ((2,), {"size": (3,)}, "'size' by name only when nothing else is given"),
        ((), {"size": (3,), "data": [1]}, "by name only when nothing else is given"),
    ],
)
def test_what_is_no_size_and_no_data_is_refused(way, args, kwargs, says):
    with pytest.raises(TypeError) as error:
        WAYS[way](*args, **kwargs)
    assert says in str(error.value)


def test_new_stays_on_the_device_and_other_devices_are_refused():
    assert torch.ones(2, device="meta").new(3).device.type == "meta"
    assert torch.ones(2, device="meta").new([1, 2]).shape == (2,)
    with pytest.raises(RuntimeError, match="expects device type: cpu but device type: meta was passed"):
        torch.Tensor(2, device="meta")


@pytest.mark.parametrize("make", [torch.Tensor, torch.FloatTensor, torch.ones(1).new])
def test_a_tensor_of_a_tensor_takes_no_device(make):
    with pytest.raises(RuntimeError, match=r"not made from a tensor with device=; use tensor.to\(device\)"):
        make(torch.ones(2), device="cpu")


def test_dims_have_no_names():
    assert torch.tensor([1], names=None).tolist() == [1]
    with pytest.raises(NotImplementedError, match="dims have no names in this stack"):
        torch.tensor([1], names=("N",))


def test_asarray_without_a_copy_needs_memory_to_share():
    numpy = pytest.importorskip("numpy")
    x, a = torch.ones(2), numpy.ones(2)
    assert torch.asarray(x, copy=False) is x
    torch.asarray(a, copy=False)[0] = torch.asarray(x.__dlpack__(), copy=False)[1] = 3
    assert a.tolist() == [3, 1] and x.tolist() == [1, 3]
    for data in (1.5, [1.5], (1,), numpy.float64(1.5)):
        with pytest.raises(ValueError, match=f"numbers of a {type(data).__name__}|numpy.float64 have no memory"):
            torch.asarray(data, copy=False)
    for data in (x, a):
        with pytest.raises(ValueError, match="cannot convert .* to torch.int32 on cpu without a copy"):
            torch.asarray(data, dtype=torch.int32, copy=False)


def test_new_keeps_the_dtype_of_its_tensor():
    for dtype in (torch.float64, torch.int64, torch.uint8, torch.bool):
        x = torch.zeros(2, dtype=dtype)
        assert x.new(3).dtype == x.new([1, 0]).dtype == x.new(torch.Size([])).dtype == dtype
        with pytest.raises(TypeError, match="to convert"):
            x.new(torch.ones(2))


@pytest.mark.parametrize(
    "name", ["float64", "float32", "float16", "int64", "int16", "int8", "uint8", "bool", "complex64"]
)
def test_a_numpy_scalar_keeps_its_dtype(name):
    numpy = pytest.importorskip("numpy")
    scalar, dtype = getattr(numpy, name if name != "bool" else "bool_")(1), getattr(torch, name)
    assert torch.tensor(scalar).dtype == torch.tensor([[scalar]]).dtype == torch.as_tensor(scalar).dtype == dtype
    assert torch.tensor([scalar, 2.5]).dtype == torch.promote_types(dtype, torch.float32)
    assert torch.tensor([2, scalar]).dtype == torch.promote_types(dtype, torch.int64)


def test_an_array_without_dims_is_a_number_among_numbers():
    numpy = pytest.importorskip("numpy")
    five = numpy.array(5)
    assert torch.tensor([five, 3]).tolist() == torch.tensor((5, numpy.array(3))).tolist() == [5, 3]
    made = torch.tensor(((7, five), (numpy.array(9), 5.0)))
    assert made.tolist() == [[7, 5], [9, 5]] and made.dtype == torch.float32
    assert torch.tensor([[1, numpy.array(2.0)]]).dtype == torch.float64
    assert torch.tensor([torch.ones(1), numpy.array(2.0)], dtype=torch.int32).tolist() == [1, 2]
    assert torch.Tensor([numpy.array(1.5), 2]).tolist() == [1.5, 2]


def test_types_of_python_are_dtypes_of_64_bits():
    kinds = {float: torch.float64, int: torch.int64, bool: torch.bool, complex: torch.complex128}
    for kind, dtype in kinds.items():
        assert torch.zeros(1, dtype=kind).dtype == torch.ones(1).to(kind).dtype == dtype


def test_what_has_no_dtype_is_named():
    for data, name in ((None, "NoneType"), ([None], "NoneType"), ({1}, "set"), ([object()], "object")):
        with pytest.raises(RuntimeError, match=f"tensor: could not infer a dtype: invalid data type '{name}'"):
            torch.tensor(data)
    for data, error in (("a", TypeError), ([1, "a"], TypeError), (["a"], ValueError), ([["ab", 1]], ValueError)):
        with pytest.raises(error, match="invalid data type 'str'"):
            torch.tensor(data)


def test_sizes_and_tuples_add_up_to_sizes():
    size = torch.Size([1, 2])
    for total in (size + (3,), (3,) + size, size + size, size + ()):
        assert type(total) is torch.Size
    assert (3,) + size == (3, 1, 2)
    assert type(("a",) + size) is tuple
    for other in ([1], 1, None):
        with pytest.raises(TypeError):
            size + other
        with pytest.raises(TypeError):
            other + size


def test_the_complex_dtype_of_halves():
    assert torch.float16.to_complex() == torch.complex32 and torch.bfloat16.to_complex() == torch.complex64
    for dtype in (torch.int8, torch.bool, torch.float8_e5m2):
        with pytest.raises(RuntimeError, match=f"no complex dtype has parts of {dtype}"):
            dtype.to_complex()


def test_tensors_of_one_element_in_a_list_are_numbers():
    losses = [torch.tensor([1.5]), torch.tensor([[2.5]]), torch.tensor(3.5)]
    assert torch.tensor(losses).tolist() == torch.Tensor(losses).tolist() == [1.5, 2.5, 3.5]
    assert torch.tensor([[torch.tensor([1])], [torch.tensor([2])]]).tolist() == [[1], [2]]
    for longer in ([torch.ones(2), torch.ones(2)], [torch.ones(1), torch.ones(2)], [torch.ones(0)]):
        with pytest.raises(ValueError, match="only one element tensors can be converted.*torch.stack"):
            torch.tensor(longer)
