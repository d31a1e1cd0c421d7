"""out=: results written to a tensor that the caller has."""

import itertools
import warnings

import pytest
import torch
from rows import ROWS
from torch import _C


@pytest.fixture
def pair():
    return torch.rand(3, 4), torch.rand(3, 4)


OPERATORS = [torch.add, torch.mul, torch.sub, torch.atan2, torch.maximum, torch.pow, torch.hypot]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_the_result_is_out_itself_in_its_own_memory(op, pair):
    a, b = pair
    expected = op(a, b)
    for out in (torch.empty(3, 4), torch.empty(4, 3).t(), torch.empty(6, 4)[::2], torch.empty(0)):
        place, version = out.data_ptr(), out._version
        assert op(a, b, out=out) is out and torch.equal(out, expected) and out._version > version
        assert out.data_ptr() == place or place == 0


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_out_may_be_an_input(op, pair):
    a, b = pair
    expected = op(a, b)
    first, second = a.clone(), b.clone()
    assert torch.equal(op(first, b, out=first), expected) and torch.equal(op(a, second, out=second), expected)


def test_out_may_overlap_an_input_in_any_way():
    x = torch.rand(5, 5)
    y = x.clone()
    assert torch.equal(torch.mm(y, y, out=y), x @ x)
    y = x.clone()
    assert torch.equal(torch.add(y, y.t(), out=y), x + x.t())
    y = x.clone()
    assert torch.equal(torch.add(y[1:], 1, out=y[:-1]), x[1:] + 1)
    y = x.clone()
    assert torch.equal(torch.cumsum(y, 0, out=y), x.cumsum(0))
    y = x.clone()
    assert torch.equal(torch.softmax(y, 0, out=y), x.softmax(0))


def test_composed_operators_reach_out_too():
    x = torch.rand(4, 4)
    for name in ("logsumexp", "std", "var", "softmax", "cumprod", "mean", "sum", "amax"):
        expected = getattr(torch, name)(x, 1)
        out = torch.empty_like(expected)
        assert getattr(torch, name)(x, 1, out=out) is out and torch.equal(out, expected), name


@pytest.mark.parametrize("op", [torch.sum, torch.amax, torch.logsumexp, torch.var, torch.linalg.vector_norm])
def test_results_without_the_reduced_dim_are_written_to_a_part_of_memory(op):
    x = torch.rand(3, 4)
    whole = torch.zeros(8)
    part = whole[2:5]
    assert op(x, dim=1, out=part) is part and torch.equal(part, op(x, dim=1))
    assert not whole[:2].any() and not whole[5:].any()


def test_tensors_of_other_orders_are_joined_in_a_part_of_memory():
    x = torch.rand(4, 3)
    for tensors in ([x.t(), x.t()], [x.t(), x.t().double()], [x.t()[:, ::2], x.t()]):
        expected = torch.cat(tensors, 1)
        whole = torch.zeros(expected.numel() + 4, dtype=expected.dtype)
        part = whole[3:-1].view(expected.shape)
        assert torch.equal(torch.cat(tensors, 1, out=part), expected) and not whole[:3].any() and not whole[-1]


def test_several_results():
    x = torch.rand(4, 5)
    values, indices = torch.empty(4), torch.empty(4, dtype=torch.int64)
    result = torch.max(x, 1, out=(values, indices))
    assert result.values is values and result.indices is indices and torch.equal(values, x.amax(1))
    low, high = torch.empty(()), torch.empty(())
    torch.aminmax(x, out=(low, high))
    assert low == x.min() and high == x.max()
    torch.aminmax(x, out=[high, low])
    assert high == x.min() and low == x.max()
    with pytest.raises(TypeError, match="max.*argument 'out' must be tuple of 2 Tensors, not torch.Tensor"):
        torch.max(x, 1, out=values)


def test_the_values_are_converted_to_the_dtype_of_out(pair):
    a, b = pair
    assert torch.equal(torch.add(a, b, out=torch.empty(3, 4, dtype=torch.float64)), (a + b).double())
    assert torch.gt(a, b, out=torch.empty(3, 4)).tolist() == (a > b).float().tolist()
    with pytest.raises(RuntimeError, match="add: result type Float can't be cast to the desired output type Int"):
        torch.add(a, b, out=torch.empty(3, 4, dtype=torch.int32))
    kept = torch.zeros(2, dtype=torch.bool)
    with pytest.raises(RuntimeError, match="mul: result type Long can't be cast to the desired output type Bool"):
        torch.mul(torch.tensor([1, 2]), 2, out=kept)
    assert kept.tolist() == [False, False]


def test_out_is_resized_and_warns_when_it_had_elements(pair):
    a, b = pair
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.add(a, b, out=torch.empty(0)).shape == (3, 4)
    out = torch.empty(2)
    with pytest.warns(UserWarning, match=r"was resized since it had shape \(2,\).*required output shape \(3, 4\)"):
        torch.add(a, b, out=out)
    assert torch.equal(out, a + b)


def test_what_cannot_be_written_to_is_refused(pair):
    a, b = pair
    with pytest.raises(TypeError, match="add.*argument 'out' must be Tensor, not int"):
        torch.add(a, b, out=1)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.add(a, b, out=torch.empty(1, 4).expand(3, 4))
    with pytest.raises(RuntimeError, match="Expected out tensor to be on cpu.*it is on meta"):
        torch.add(a, b, out=torch.empty(3, 4, device="meta"))


def test_operators_that_do_not_convert_want_the_dtype_of_the_result():
    x, index = torch.rand(3, 3), torch.tensor([0, 2])
    calls = {
        "mm": lambda out: torch.mm(x, x, out=out), "index_select": lambda out: torch.index_select(x, 0, index, out=out),
        "masked_select": lambda out: torch.masked_select(x, x > 0.5, out=out), "abs": lambda out: torch.abs(x, out=out),
        "tril": lambda out: torch.tril(x, out=out), "complex": lambda out: torch.complex(x, x, out=out),
    }  # fmt: skip
    for name, call in calls.items():
        dtype = torch.complex128 if name == "complex" else torch.float64
        kept = torch.full((1,), 7, dtype=dtype)
        with pytest.raises(RuntimeError, match=rf"{name}\(\): Expected out tensor to have dtype .*, but got {dtype}"):
            call(kept)
        assert kept.tolist() == [7]


def test_operators_that_pick_elements_want_memory_of_its_own_for_out():
    x = torch.rand(4)
    for call in (
        lambda: torch.gather(x, 0, torch.tensor([3, 0, 1, 2]), out=x),
        lambda: torch.take(x, torch.tensor([1, 0]), out=x[1:3]),
        lambda: torch.kthvalue(x, 1, out=(x[:1], torch.empty(0, dtype=torch.int64))),
        lambda: torch.masked_select(x, x > 0.5, out=x),
    ):
        with pytest.raises(
            RuntimeError, match="elements of the input tensor 'self' and of out refer to a single memory"
        ):
            call()
    even, odd = x[::2], x[1::2]
    assert torch.index_select(even, 0, torch.tensor([1, 0]), out=odd).equal(x[[2, 0]])  # nothing in common


def test_what_makes_a_tensor_makes_it_in_the_dtype_of_out():
    assert torch.arange(0, 6, 2, out=torch.empty(0)).equal(torch.tensor([0.0, 2, 4]))
    assert torch.full((2,), 3.5, out=torch.empty(2, dtype=torch.int64)).tolist() == [3, 3]
    assert torch.eye(2, out=torch.empty(0, dtype=torch.int32)).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(RuntimeError, match="ones.*Expected out tensor to have dtype torch.float32.*got torch.int64"):
        torch.ones(2, dtype=torch.float32, out=torch.empty(2, dtype=torch.int64))


def test_what_is_made_goes_into_out_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.ones(4, out=torch.empty(2)).tolist() == [1] * 4
        assert torch.eye(2, out=torch.empty(3)).tolist() == [[1, 0], [0, 1]]
        assert torch.arange(4, out=torch.empty(2, 2)).tolist() == [[0, 1], [2, 3]]
        assert torch.linspace(0, 1, 3, out=torch.empty(7)).tolist() == [0, 0.5, 1]


def test_joined_tensors_that_do_not_fit_the_dtype_of_out_are_a_type_error():
    out = torch.zeros(2, dtype=torch.int64)
    for join in (torch.cat, torch.stack, torch.hstack):
        with pytest.raises(TypeError, match="result type Float can't be cast to the desired output type Long"):
            join([torch.ones(1), torch.ones(1)], out=out)
    assert out.tolist() == [0, 0]


X = torch.rand(3, 4, dtype=torch.float32)
#: operators that take a dtype for their result -> what else they need
TYPED = {
    "sum": (0,), "prod": (0,), "mean": (0,), "nansum": (0,), "nanmean": (0,), "cumsum": (0,), "cumprod": (0,), "softmax": (0,),
    "log_softmax": (0,), "norm": (2, 0), "nn.functional.softmin": (0,), "linalg.vector_norm": (), "linalg.matrix_norm": (), "linalg.norm": (),
}  # fmt: skip
MAKERS = {
    "zeros": (4,), "ones": (4,), "empty": (4,), "full": ((4,), 1.0), "arange": (4,), "linspace": (0, 1, 4), "logspace": (0, 1, 4), "eye": (2,),
    "rand": (4,), "randn": (4,), "randint": (3, (4,)), "randperm": (4,),
}  # fmt: skip


def named(name):
    module, _, last = name.rpartition(".")
    return _C._functions()[module].get(last) or getattr(torch, last)


def test_the_table_above_has_every_row_with_a_dtype_and_an_out():
    rows = set()
    for r in ROWS:
        if (
            "dtype? dtype=None" in r.schema
            and r.info["function"]
            and "(a)" not in r.schema
            and "device" not in r.schema
        ):
            rows.add(f"{r.info['module']}.{r.name}" if r.info["module"] else r.name)
    assert rows - {"to_dense", "result_type"} <= TYPED.keys(), rows - TYPED.keys()


@pytest.mark.parametrize("name", TYPED)
def test_out_has_the_dtype_that_the_call_says(name):
    call = named(name)
    for says, has in [(torch.float64, torch.float32), (torch.float32, torch.float64)]:
        right = call(X, *TYPED[name], dtype=says)
        out = torch.full_like(right, 7, dtype=has)
        with pytest.raises(RuntimeError, match=f"Expected out tensor to have dtype {says}.* but got {has}"):
            call(X, *TYPED[name], dtype=says, out=out)
        assert (out == 7).all()
        out = torch.empty_like(right)
        assert call(X, *TYPED[name], dtype=says, out=out) is out and torch.equal(out, right)


@pytest.mark.parametrize("name", MAKERS)
def test_out_is_what_the_words_of_a_maker_say(name):
    make, args = named(name), MAKERS[name]
    size = make(*args).shape
    for wrong, says in [
        ({"dtype": torch.int32}, "dtype"),
        (
            {"layout": torch.sparse_coo},
            r"layout torch.sparse_coo does not match layout of out parameter \(torch.strided\)",
        ),
        ({"device": "meta"}, "meta"),
    ]:
        out = torch.full(size, 7.0)
        with pytest.raises(RuntimeError, match=says):
            make(*args, out=out, **wrong)
        assert (out == 7).all()
    out = torch.empty(size, dtype=torch.float64)
    assert make(*args, out=out, dtype=torch.float64, layout=torch.strided, device="cpu") is out


def test_out_of_another_layout_is_refused_before_it_takes_another_shape():
    out = torch.ones(3, 2)
    with pytest.raises(RuntimeError, match="to_sparse.*of another layout than out"):
        torch._C._operator("to_sparse")(torch.ones(2), out=out)
    assert out.tolist() == [[1, 1]] * 3


#: Refused because of the dtype, or halfway; their destinations have the size and dtype of what they compute on the way.
REFUSED_LATE = {
    "nonzero": lambda out: torch.nonzero(torch.ones(2, 2), out=out(4, 2)),
    "histc": lambda out: torch.histc(torch.ones(4, dtype=torch.float32), 3, out=out(3, dtype=torch.float64)),
    "median": lambda out: torch.median(torch.rand(3, 2), 0, out=(out(2), out(2))),
    "index": lambda out: torch.index_select(torch.rand(3, 2), 0, torch.tensor([0, 1, 7]), out=out(3, 2)),
    "gather": lambda out: torch.gather(torch.rand(3, 2), 0, torch.tensor([[0, 1], [9, 0]]), out=out(2, 2)),
    "select_scatter": lambda out: torch.select_scatter(torch.rand(3, 2), torch.rand(7), 0, 0, out=out(3, 2)),
    "fft": lambda out: torch.fft.fft(torch.rand(4), out=out(4)),
    "trapezoid": lambda out: torch._C._operator("cumulative_trapezoid")(torch.rand(4), torch.rand(2), out=out(3)),
    "floor_divide": lambda out: torch.floor_divide(
        torch.ones(3, dtype=torch.int64), torch.tensor([1, 1, 0]), out=out(3, dtype=torch.int64)
    ),
}


@pytest.mark.parametrize("name", REFUSED_LATE)
def test_a_refused_call_leaves_its_destinations_as_they_were(name):
    made = []

    def out(*shape, dtype=torch.float32):
        made.append(torch.full(shape, 7, dtype=dtype))
        return made[-1]

    with pytest.raises((RuntimeError, IndexError, ZeroDivisionError)):
        REFUSED_LATE[name](out)
    assert made and all((t == 7).all() for t in made)


MAKERS_OF_FOUR = {
    "arange": lambda **k: torch.arange(4, **k),
    "linspace": lambda **k: torch.linspace(0, 1, 4, **k),
    "logspace": lambda **k: torch.logspace(0, 1, 4, **k),
    "zeros": lambda **k: torch.zeros(4, **k),
    "full": lambda **k: torch.full((4,), 3.0, **k),
    "rand": lambda **k: torch.rand(4, **k),
    "randperm": lambda **k: torch.randperm(4, **k),
}


@pytest.mark.parametrize("name", MAKERS_OF_FOUR)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_only_rows_of_numbers_keep_the_shape_of_out(name):
    out = torch.ones(2, 2, dtype=torch.int64 if name == "randperm" else torch.float32)
    assert MAKERS_OF_FOUR[name](out=out) is out
    assert out.shape == ((2, 2) if name in ("arange", "linspace", "logspace") else (4,))


def test_out_of_real_numbers_is_not_written_by_a_result_that_is_complex():
    z, out = torch.tensor([[1 + 2j, 3.0]] * 2), torch.full((2,), 7.0)
    with pytest.raises(RuntimeError, match="can't be cast to"):
        torch.logsumexp(z, 1, out=out)
    assert out.tolist() == [7, 7]


def test_out_is_not_written_by_sums_in_a_wider_dtype_than_the_result():
    out = torch.full((2,), 7.0)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype torch.float16"):
        torch.logcumsumexp(torch.ones(2, dtype=torch.float16), 0, out=out)
    assert out.tolist() == [7, 7]


@pytest.mark.parametrize("moved", [torch.exp, torch.neg, lambda x, out: torch.add(x, x, out=out)])
def test_an_empty_out_lies_as_the_result_without_it(moved):
    x = torch.rand(2, 3, 4).permute(2, 0, 1)
    out = torch.empty(0)
    assert moved(x, out=out) is out and out.shape == x.shape and out.stride() == x.stride() == (1, 12, 4)
    kept = torch.empty(4, 2, 3)
    assert torch.equal(moved(x, out=kept), out) and kept.is_contiguous()


def test_the_factors_of_a_decomposition_lie_in_empty_outs_as_without_them():
    a = torch.rand(3, 3) + torch.eye(3)
    outs = torch.empty(0), torch.empty(0)
    torch.linalg.qr(a, out=outs)
    assert [t.stride() for t in outs] == [t.stride() for t in torch.linalg.qr(a)] == [(1, 3), (1, 3)]
    assert torch.allclose(outs[0] @ outs[1], a)


def test_an_out_of_no_elements_overlaps_nothing():
    out = torch.empty(1, 0).expand(2, 0)
    assert torch.ones(2, 0, out=out) is out
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.ones(2, 3, out=torch.empty(1, 3).expand(2, 3))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_are_not_computed_in_bool(name):
    function, x = getattr(torch, name), torch.tensor([0.5, 0.7])
    for call in (
        lambda: function(x, 0, dtype=torch.bool),
        lambda: function(x, 0, out=torch.empty(2, dtype=torch.bool)),
        lambda: getattr(x > 0, f"{name}_")(0),
    ):
        with pytest.raises(NotImplementedError, match=f"{name}: not implemented for torch.bool"):
            call()
    assert function(x > 0, 0).dtype is torch.int64


@pytest.mark.parametrize("name", ["sum", "cumsum", "prod", "cumprod"])
def test_sums_of_halves_into_bfloat16_do_not_overflow(name):
    x, function = torch.full((3,), 40000.0, dtype=torch.float16), getattr(torch, name)
    want = function(x.double(), 0).bfloat16()
    out = torch.empty(want.shape, dtype=torch.bfloat16)
    assert torch.isfinite(function(x, 0, out=out)).all() and torch.allclose(out, want, rtol=2**-7)


@pytest.mark.parametrize("name", ["sum", "nansum", "mean", "prod", "cumsum", "cumprod"])
def test_sums_are_computed_in_a_wider_dtype_of_out(name):
    x = torch.tensor([[1.7, 2.6], [3.3, -4.1]])
    function = getattr(torch, name)
    for given, wide in ((x, torch.float64), (x.to(torch.bfloat16), torch.float32)):
        want = function(given.to(wide), 1)
        out = torch.empty(want.shape, dtype=wide)
        assert function(given, 1, out=out) is out and torch.equal(out, want)
    narrow = torch.empty(want.shape, dtype=torch.float16)
    assert torch.equal(function(x, 1, out=narrow), function(x, 1).half())  # rounded once
    if name == "mean":
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
            torch.mean(x, 1, out=torch.empty(2, dtype=torch.int64))
    else:
        whole = torch.empty(want.shape, dtype=torch.int64)
        assert torch.equal(function(x, 1, out=whole), function(x.long(), 1))


def test_sums_of_integers_into_bool_say_whether_one_is_not_zero():
    x = torch.tensor([[2, -2, 0], [0, 0, 0]])
    for given in (x, x.to(torch.uint8), x.bool()):
        into = torch.empty(2, dtype=torch.bool)
        assert torch.sum(given, 1, out=into).tolist() == torch.nansum(given, 1, out=into).tolist() == [True, False]
        assert torch.prod(given, 1, out=into).tolist() == [False, False]
    with pytest.raises(RuntimeError, match="mean"):
        torch.mean(x, 1, out=torch.empty(2, dtype=torch.bool))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum", "cumprod"])
def test_sums_of_complex_numbers_are_computed_in_a_wider_dtype_of_out(name):
    x = torch.tensor([[1.7 + 0.1j, 2.6, -0.3j]])
    want = getattr(torch, name)(x.to(torch.complex128), 1)
    assert torch.equal(getattr(torch, name)(x, 1, out=torch.empty_like(want)), want)


@pytest.mark.parametrize(
    "of", [torch.arange(4), torch.arange(4.0), torch.arange(4.0).to(torch.bfloat16)], ids=lambda x: str(x.dtype)
)
def test_logarithms_of_sums_are_computed_in_the_dtype_of_a_wider_out(of):
    out = torch.logsumexp(of, 0, out=torch.empty((), dtype=torch.float64))
    assert out.item() == torch.logsumexp(of.double(), 0).item() != torch.logsumexp(of.float(), 0).item()


def test_deviations_are_computed_in_the_dtype_of_a_wider_out():
    z = torch.tensor([1 + 2j, 3 - 1j, 0.1 + 0.7j])
    for spread, x in itertools.product((torch.std, torch.var), (z, z.real)):
        out = spread(x, 0, out=torch.empty((), dtype=torch.float64))
        wide = spread(x.to(torch.complex128 if x.is_complex() else torch.float64), 0)
        assert (
            out.item() == wide.item()
            and spread(x, False, out=out).item() == spread(x.to(torch.complex128), False).item()
        )


@pytest.mark.parametrize("op", [torch.all, torch.any])
@pytest.mark.parametrize("arguments", [(), (0,), (0, True), ([0, 1],)], ids=str)
def test_questions_of_bytes_are_answered_into_bools(op, arguments):
    x = torch.tensor([[1, 0], [2, 0], [3, 0]], dtype=torch.uint8)
    out = op(x, *arguments, out=torch.empty(0, dtype=torch.bool))
    assert out.dtype == torch.bool and torch.equal(out, op(x.bool(), *arguments))
