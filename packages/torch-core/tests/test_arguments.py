"""Arguments as PyTorch takes them: what is refused, and with which class."""

import math

import pytest
import torch
from rows import ROWS
from targets import parameters

X = torch.ones(2, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.cumsum(X, True), lambda: X.transpose(False, True), lambda: torch.cat([X], True), lambda: X.sum(True),
        lambda: torch.zeros(True), lambda: torch.zeros((True, 2)), lambda: X.repeat(True), lambda: X.max(True), lambda: X.chunk(True),
        lambda: torch.narrow(X, 0, torch.tensor(1.0), 1),
    ],
)  # fmt: skip
def test_a_bool_is_no_int(call):
    with pytest.raises((TypeError, RuntimeError), match="must be|invalid combination|integral"):
        call()


@pytest.mark.parametrize(
    "call",
    [torch.zeros, torch.rand, torch.empty, X.view, X.permute, X.expand, X.repeat, X.new_zeros, X.flip, X.resize_],
    ids=lambda f: f.__name__,
)
def test_sizes_and_dims_cannot_be_left_away(call):
    with pytest.raises(TypeError, match="missing required argument"):
        call()


def test_requires_grad_is_a_bool():
    with pytest.raises(TypeError, match="zeros.*argument 'requires_grad' must be bool, not str"):
        torch.zeros(2, requires_grad="yes")


FILLS = {
    "full": lambda v, t: torch.full((2,), v, dtype=t),
    "full_like": lambda v, t: torch.full_like(X, v, dtype=t),
    "fill_": lambda v, t: X.to(t, copy=True).fill_(v),
    "masked_fill": lambda v, t: X.to(t).masked_fill(X > 0, v),
    "index_fill": lambda v, t: X.to(t).index_fill(0, torch.tensor([0]), v),
    "scatter": lambda v, t: X.to(t).scatter(0, torch.tensor([[0, 0]]), v),
    "pad": lambda v, t: torch.constant_pad_nd(X.to(t), (1, 1), v),
}


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize(
    "value, dtype",
    [
        (300, torch.uint8), (-129, torch.int8), (-1.5, torch.uint8), (2**40, torch.int32), (math.nan, torch.int64), (math.inf, torch.int32), (1e19, torch.int64),
        (1e300, torch.float32), (-1e5, torch.float16), (1j, torch.float32), (1 + 1j, torch.int64),
    ],
)  # fmt: skip
def test_a_number_that_does_not_fit_is_refused(name, value, dtype):
    with pytest.raises(RuntimeError, match="cannot be converted"):
        FILLS[name](value, dtype)


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("value, dtype, stored", [(255, torch.uint8, 255), (-1, torch.uint8, 255), (-128, torch.int8, -128), (math.inf, torch.float16, math.inf), (65504.0, torch.float16, 65504)])  # fmt: skip
def test_a_number_that_fits_is_stored(name, value, dtype, stored):
    assert stored in FILLS[name](value, dtype).flatten().tolist()


def test_equal_compares_values_of_any_dtype():
    assert torch.equal(torch.tensor([1.0, 0.0]), torch.tensor([True, False]))
    assert not torch.equal(torch.tensor([1.5]), torch.tensor([1]))
    assert not torch.equal(torch.tensor([300]), torch.tensor([44], dtype=torch.uint8))


def test_searches_compare_in_the_dtype_of_both():
    edges = torch.tensor([1, 2, 3])
    assert torch.searchsorted(edges, torch.tensor([2.5, 2.0])).tolist() == [2, 1]
    assert torch.bucketize(torch.tensor(2, dtype=torch.int32), edges.float()) == 1
    with pytest.raises(
        NotImplementedError,
        match="complex numbers have no order, got boundaries of torch.int64 and values of torch.complex64",
    ):
        torch.searchsorted(edges, torch.tensor([1j]))


def test_a_normal_number_for_means_and_deviations_of_different_dtypes():
    assert torch.normal(torch.zeros(2).half(), torch.ones(2)).dtype == torch.float16
    assert torch.normal(torch.zeros(2), torch.ones(2).long()).dtype == torch.float32
    with pytest.raises(NotImplementedError, match="floating point dtype, got torch.int64"):
        torch.normal(torch.zeros(2).long(), torch.ones(2))
    with pytest.raises(RuntimeError, match="std of real numbers, got torch.complex64"):
        torch.normal(torch.zeros(2), torch.ones(2).to(torch.complex64))


def test_masked_fill_takes_a_number_of_any_kind_that_fits():
    mask = torch.tensor([True, False])
    assert torch.ones(2, dtype=torch.int64).masked_fill(mask, torch.tensor(2.5)).tolist() == [2, 1]
    assert torch.zeros(2, dtype=torch.bool).masked_fill(mask, torch.tensor(0.5)).tolist() == [True, False]
    with pytest.raises(RuntimeError, match=r"masked_fill: value .* cannot be converted to type torch.int64"):
        torch.ones(2, dtype=torch.int64).masked_fill(mask, torch.tensor(1j))


def test_classes_of_errors_that_users_catch():
    with pytest.raises(
        RuntimeError, match="heaviside: expected both tensors to have one dtype, got torch.float32 and torch.float64"
    ):
        torch.heaviside(X, X.double())
    index = torch.tensor([0])
    with pytest.raises(RuntimeError, match=r"index_add\(\): source must have the dims of self, got shapes \(1,\)"):
        torch.index_add(torch.ones(1), 0, index, torch.tensor(1.0))
    with pytest.raises(RuntimeError, match=r"index_add\(\): Number of indices \(1\)"):
        torch.index_add(X, 0, index, X)
    with pytest.raises(IndexError, match=r"index_copy\(\): Number of indices \(1\)"):
        torch.index_copy(X, 0, index, X)


def test_an_index_that_does_not_fit_has_the_class_of_its_operator():
    matrix, index = torch.tensor([[0]]), torch.tensor([0])
    with pytest.raises(IndexError, match="index_fill.*Expected dtype int32/int64 for index, got torch.float32"):
        X.index_fill(0, index.float(), 1)
    with pytest.raises(RuntimeError, match=r"index_fill.*supposed to be a vector, got shape \(1, 1\)"):
        X.index_fill(0, matrix, 1)
    with pytest.raises(IndexError, match=r"index_select.*supposed to be a vector, got shape \(1, 1\)"):
        X.index_select(0, matrix)
    with pytest.raises(IndexError, match=r"index_copy.*dimensionality \(1\), destination dimensionality \(2\)"):
        X.index_copy(0, index, torch.ones(2))
    with pytest.raises(IndexError, match="argmax.*Expected reduction dim to be specified"):
        torch.argmax(torch.zeros(0))
    with pytest.raises(RuntimeError, match="amax.*Expected reduction dim to be specified"):
        torch.amax(torch.zeros(0))


def test_names_of_arguments_that_users_know():
    assert [t.tolist() for t in torch.split(tensor=torch.arange(3), split_size_or_sections=2)] == [[0, 1], [2]]
    assert [t.tolist() for t in torch.split(torch.arange(3), split_size_or_sections=[1, 2])] == [[0], [1, 2]]
    assert [t.tolist() for t in torch.tensor_split(torch.arange(3), indices_or_sections=2)] == [[0, 1], [2]]
    assert [t.tolist() for t in torch.tensor_split(torch.arange(3), indices_or_sections=(1,))] == [[0], [1, 2]]
    assert torch.heaviside(torch.zeros(1), values=torch.ones(1)).tolist() == [1]


# --- None and tensors in the place of other things, for every row ---

PLACES = {
    "Tensor": lambda: torch.ones(3, 3), "Number": lambda: torch.ones(3, 3), "Tensor[]": lambda: [X, X], "Tensor?[]": lambda: [X], "Scalar": lambda: 1.0,
    "int": lambda: 1, "bool": lambda: False, "float": lambda: 0.5, "str": lambda: "sum", "dtype": lambda: torch.float64,
}  # fmt: skip


def place(kind):
    kind = kind.rstrip("?")
    if kind.startswith("int["):
        return [1] * int(kind[4:-1] or 1)
    return PLACES[kind]() if kind in PLACES else None


def optional_places():
    """(row, the kinds of the positional parameters before it, its name) of each one that takes None."""
    for row in ROWS:
        before = []
        text = row.schema.partition("(")[2].rpartition(") -> ")[0].partition(", *")[0]
        for kind, name, keyword, _ in parameters(row.schema):
            if keyword:
                break
            if kind.endswith("?") or (kind.startswith("int[") and f"{name}=[]" in text):
                yield pytest.param(row, list(before), name, id=f"{row.name}-{name}")
            before.append(kind)


@pytest.mark.parametrize(("row", "before", "name"), list(optional_places()))
def test_none_stands_in_position_where_it_stands_by_name(row, before, name):
    given = [place(kind) for kind in before]
    try:
        row.call(*given, None)
    except Exception as error:
        assert "NoneType" not in str(error) and "not None" not in str(error)


def test_dims_that_are_none_are_all_or_none_in_particular():
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.amax(x, None).item() == x.amax(None).item() == 5 and torch.amin(x, None, True).shape == (1, 1)
    assert torch.roll(x, 1, None).tolist() == torch.roll(x, 1).tolist() == x.roll(1, None).tolist()
    with pytest.raises(TypeError, match="softmax.*argument 'dim' .* must be int, not NoneType"):
        torch.softmax(x, None)


def float_places():
    for row in ROWS:
        kinds = [(kind.rstrip("?"), name, default) for kind, name, _, default in parameters(row.schema)]
        if row.name in ("linspace", "logspace"):  # ends may be tensors, whose values are taken
            continue
        if any(kind in ("float", "Scalar") for kind, *_ in kinds):
            yield pytest.param(
                row,
                kinds,
                id=row.name
                if ROWS.index(row) == [r.name for r in ROWS].index(row.name)
                else f"{row.name}-{ROWS.index(row)}",
            )


@pytest.mark.parametrize(("row", "kinds"), list(float_places()))
def test_a_tensor_that_needs_a_gradient_is_no_number(row, kinds):
    pytest.importorskip("torch.autograd")
    lost = torch.tensor(0.5, requires_grad=True)
    for wanted, name, _ in kinds:
        if wanted not in ("float", "Scalar"):
            continue
        given = {"input" if n == "self" else n: place(kind) for kind, n, default in kinds if not default or n == name}
        given[name] = lost
        try:
            result = row.call(**given)
        except Exception:
            continue
        assert result.requires_grad, f"{row.schema}: {name} took a tensor and dropped its gradient"


class Layer:
    activation = torch.relu
    join = torch.cat
    zeros = torch.zeros
    most = torch.max
    convolution = torch.conv2d
    weigh = torch.special.expit


class Inherited(Layer):
    pass


@pytest.mark.parametrize("kind", [Layer, Inherited])
def test_an_operator_that_is_an_attribute_of_a_class_is_no_method_of_it(kind):
    layer, x = kind(), torch.tensor([-1.0, 2.0])
    assert layer.activation(x).tolist() == [0, 2] and layer.activation is torch.relu  # one overload
    assert layer.most(x).item() == 2 and layer.most(x, dim=0).indices.item() == 1  # several
    assert layer.join([x, x]).tolist() == [-1, 2, -1, 2] and layer.zeros(2, 3).shape == (2, 3)
    assert layer.convolution(torch.ones(1, 1, 3, 3), weight=torch.ones(1, 1, 2, 2), padding=1).shape == (1, 1, 4, 4)
    assert torch.allclose(layer.weigh(x), torch.sigmoid(x))
    with pytest.raises(TypeError, match="relu.*'input' .position 1. must be Tensor, not str"):
        layer.activation("a")
    with pytest.raises(TypeError, match="must be Tensor, not Layer|must be Tensor, not Inherited"):
        torch.tanh(layer)
    assert x.relu.__self__ is x and torch.Tensor.relu(x).tolist() == [0, 2]


def test_pieces_that_may_be_changed_have_the_argument_names_of_views():
    x = torch.arange(4)
    wanted = [[0, 1], [2, 3]]
    assert [t.tolist() for t in torch.unsafe_chunk(x, chunks=2)] == wanted
    assert [t.tolist() for t in x.unsafe_chunk(chunks=2, dim=0)] == wanted
    assert [t.tolist() for t in torch.unsafe_split(x, split_size=2)] == wanted
    assert [t.tolist() for t in torch.unsafe_split_with_sizes(input=x, split_sizes=[2, 2], dim=0)] == wanted


@pytest.mark.parametrize("name", ["unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"])
def test_pieces_of_what_is_no_tensor_are_refused(name):
    with pytest.raises(TypeError, match=f"{name}.*int"):
        getattr(torch, name)(3, 2)
