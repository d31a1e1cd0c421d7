"""Builtins of Python and functions of torch that scripts call: they give what they give in Python."""

import io
import math
from typing import Dict, List, Optional  # noqa: UP035

import pytest
import torch
from torch import Tensor
from torch.jit.annotations import BroadcastingList2, BroadcastingList3


def same(function, *arguments):
    """The compiled function gives what the function gives."""
    assert torch.jit.script(function)(*arguments) == function(*arguments)


def test_numbers_are_written_in_other_bases():
    def f(i: int):
        return hex(i), oct(i), bin(i), hex(-i), oct(8), bin(5)

    same(f, 97)


def test_functions_of_math_with_two_results_or_arguments():
    def f(x: float, i: int):
        return math.ldexp(x, i), math.frexp(x), math.modf(x), math.remainder(x, 2.0), math.modf(-x)

    same(f, 2.75, 3)


def test_a_complex_number_is_made_of_two_reals():
    def f(x: float, i: int):
        return complex(x, 1.0), complex(i, i), complex(1, 2)

    same(f, 2.5, 3)


def test_an_int_is_its_own_hash():
    def f(i: int):
        return hash(i), hash(i) == hash(i + 1)

    same(f, 12)


def test_sums_count_what_is_true():
    def f(values: List[bool]):  # noqa: UP006
        return sum(values)

    same(f, [True, False, True])


def test_a_dict_is_made_of_another_one():
    def f(d: Dict[str, int]):  # noqa: UP006
        e = dict(d)
        e["b"] = 2
        return d, e

    same(f, {"a": 1})


def test_powers_of_ints_are_ints_or_floats_as_in_python():
    def f(a: int):
        return a**2, a**-2

    def typed(a, b):
        # type: (int, int) -> float
        return a**b

    same(f, 3)
    same(typed, 2, 3)
    same(typed, 2, -3)

    def wrong(a: int, b: int):
        return a**b

    with pytest.raises(ValueError, match="to the power of -3 is a float"):
        torch.jit.script(wrong)(2, -3)


def test_an_error_of_constants_is_raised_when_it_is_reached():
    def f(deep: bool):
        if deep:
            return int("seven")
        return "abc".index("z")

    program = torch.jit.script(f)
    with pytest.raises(ValueError, match="invalid literal"):
        program(True)
    with pytest.raises(ValueError, match="substring not found"):
        program(False)


def test_lists_and_dicts_of_several_types_are_of_a_union():
    def f(x):
        values = [x, 1]
        names = {"a": 1, "b": "c"}
        first = values[0]
        assert isinstance(first, Tensor)
        return first + 1, names

    with pytest.warns(torch.jit.ScriptWarning, match="heterogeneous"):
        program = torch.jit.script(f)
    assert program(torch.ones(1)) == (torch.full((1,), 2.0), {"a": 1, "b": "c"})


def test_what_the_tape_knows_of_a_tensor():
    def f(x):
        y = x * 2
        y.sum().backward()
        grad = x.grad
        assert grad is not None
        return x.is_leaf, y.is_leaf, grad, x.nbytes

    x = torch.ones(3, requires_grad=True)
    leaf, made, grad, size = torch.jit.script(f)(x)
    assert (leaf, made, size) == (True, False, 12)
    assert grad.tolist() == [2, 2, 2]


def test_a_tensor_is_told_to_need_a_gradient():
    def f(x):
        return x.requires_grad_(), x.requires_grad

    x, asked = torch.jit.script(f)(torch.ones(1))
    assert x.requires_grad
    assert asked


def test_a_seed_within_a_script_is_the_seed():
    def f():
        torch.manual_seed(3)
        return torch.rand(2)

    expected = f()
    assert torch.equal(torch.jit.script(f)(), expected)


def test_questions_of_torch_about_types():
    def f(x, i):
        return torch.is_floating_point(x), torch.is_floating_point(i), torch.is_complex(x), torch.is_tensor(x)

    same(f, torch.ones(1), torch.ones(1, dtype=torch.int))


def test_functions_with_arguments_by_name_only_are_called_in_python():
    def f(x):
        return torch.nonzero(x), torch.chain_matmul(torch.eye(2), torch.eye(2))

    rows, product = torch.jit.script(f)(torch.tensor([1, 0, 2]))
    assert rows.tolist() == [[0], [2]]
    assert torch.equal(product, torch.eye(2))


def test_products_within_autocast_are_of_its_dtype():
    def f(x, on: bool):
        with torch.autocast("cpu", torch.bfloat16, enabled=on):
            y = x @ x
        return y, x @ x

    program = torch.jit.script(f)
    x = torch.ones(2, 2)
    for on in (True, False):
        low, high = program(x, on)
        assert low.dtype == (torch.bfloat16 if on else torch.float32)
        assert high.dtype == torch.float32
    assert not torch.is_autocast_enabled("cpu")

    def older(x):
        with torch.cpu.amp.autocast():
            return x @ x

    assert torch.jit.script(older)(x).dtype == torch.bfloat16


def test_a_default_is_of_the_type_of_its_parameter():
    def f(x: int = "a"):
        return x

    with pytest.raises(RuntimeError, match='Expected a default value of type int on parameter "x"'):
        torch.jit.script(f)

    def g(x: float = 1, y: Optional[int] = None):  # noqa: UP045
        return x, y

    assert torch.jit.script(g)() == (1.0, None)


def test_every_way_out_of_a_function_returns_what_it_says():
    def f(x: int) -> int:  # noqa: RET503
        if x > 1:
            return 1

    with pytest.raises(RuntimeError, match="does not return along all paths"):
        torch.jit.script(f)

    def g(x: int) -> int:
        while True:
            x -= 1
            if x < 5:
                return x

    same(g, 9)


def test_bools_are_ints_and_floats_to_a_program():
    def f(i: int, x: float):
        return i + 1, x + 0.5

    assert torch.jit.script(f)(True, True) == (2, 1.5)


def _second_derivative(x: torch.Tensor, v: torch.Tensor):
    (slope,) = torch.autograd.grad([(x**3).sum()], [x], create_graph=True)
    assert slope is not None
    along: list[torch.Tensor | None] | None = [v]
    return torch.autograd.grad([slope], [x], along)[0]


def _of_one_tensor(x: torch.Tensor, unused: torch.Tensor):
    torch.autograd.backward([(x * x).sum()])
    return torch.autograd.grad((x * x).sum(), [x, unused], allow_unused=True), x.grad


def test_scripts_differentiate():
    x, other = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(1, requires_grad=True)
    scripted = torch.jit.script(_second_derivative)
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    for each in (scripted, torch.jit.load(io.BytesIO(file.getvalue()))):
        assert each(x, torch.tensor([1.0, 10.0])).tolist() == [6, 120]
    (slope, nothing), kept = torch.jit.script(_of_one_tensor)(x, other)
    assert slope.tolist() == [2, 4] == kept.tolist() and nothing is None
    with pytest.raises(RuntimeError, match="torch.autograd.grad.*Keyword argument only unknown"):

        @torch.jit.script
        def wrong(x: torch.Tensor):
            return torch.autograd.grad([x.sum()], [x], only=True)


def _counted(places: Tensor, n: int):
    return torch.sparse_coo_tensor(places, torch.ones_like(places[0]), torch.Size([n, n])).to_dense()


def test_a_sparse_tensor_of_a_script_is_a_tensor():
    places = torch.tensor([[0, 1, 1], [1, 1, 1]])
    assert torch.jit.script(_counted)(places, 2).tolist() == [[0, 1], [0, 2]]


def test_any_and_all_take_lists_of_texts():
    @torch.jit.script
    def truths(x: list[str]) -> tuple[bool, bool]:
        return any(x), all(x)

    assert [truths(each) for each in (["", "a"], ["", ""], ["a"], [])] == [
        (True, False), (False, False), (True, True), (False, True),
    ]  # fmt: skip


def test_where_as_a_method_keeps_its_tensor_where_the_condition_holds():
    @torch.jit.script
    def positive(x, y):
        return x.where(x > 0, y)

    assert positive(torch.tensor([1.0, -1.0]), torch.tensor([5.0, 6.0])).tolist() == [1, 6]


def test_factories_of_scripts_make_tensors_that_need_gradients():
    @torch.jit.script
    def made() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        weight = torch.tensor(2.5, requires_grad=True)
        return weight, weight * 2, torch.zeros([2], requires_grad=True, layout=torch.strided, pin_memory=False)

    weight, twice, zeros = made()
    twice.backward()
    assert weight.grad.item() == 2
    assert zeros.requires_grad


def test_einsum_takes_the_dims_as_lists():
    @torch.jit.script
    def outer(x, y):
        return torch.einsum(x, [0], y, [1], [0, 1])

    x, y = torch.arange(3.0), torch.arange(4.0)
    assert torch.equal(outer(x, y), torch.outer(x, y))
    with pytest.raises(RuntimeError, match=r"einsum: dims are numbers from 0 to 51, got \[60\]"):
        torch.jit.script(lambda x: torch.einsum(x, [60]))


def test_a_script_writes_a_file_and_cannot_be_saved_itself(tmp_path):
    @torch.jit.script
    def kept(x, file: str):
        torch.save(x, file)
        return x + 1

    kept(torch.ones(1), str(tmp_path / "x.pt"))
    assert torch.load(tmp_path / "x.pt").item() == 1
    with pytest.raises(RuntimeError, match="Could not export Python function call"):
        torch.jit.save(kept, io.BytesIO())


def test_a_tensor_is_annotated_as_a_number():
    @torch.jit.script
    def number(x):
        return torch.jit.annotate(float, x)

    assert number(torch.tensor(1.5)) == 1.5


def test_methods_and_functions_that_are_no_operators_are_called_in_python():
    @torch.jit.script
    def part(x):
        return x.narrow_copy(0, 1, 2), torch.sparse.sum(x.to_sparse())

    narrow, total = part(torch.arange(4.0))
    assert (narrow.tolist(), total.item()) == ([1, 2], 6)


def test_enumerate_and_zip_need_something():
    for text, message in (
        ("enumerate()", "enumerate expected at least 1 arguments, got 0"),
        ("enumerate(x, 1, 2)", "enumerate expected at most 2 arguments, got 3"),
        ("zip()", "zip expected at least 1 arguments, got 0"),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch.jit.CompilationUnit(f"def f(x: List[int]):\n    for _ in {text}:\n        pass")


def test_a_keyword_expansion_that_is_not_known_is_refused():
    @torch.jit.ignore
    def anything(h, i):
        return h

    with pytest.raises(torch.jit.frontend.NotSupportedError, match="keyword-arg expansion is not supported"):
        torch.jit.script(lambda x: anything(**x))


def test_an_ignored_class_is_not_made_in_a_script():
    @torch.jit.ignore
    class Anything:
        pass

    def makes():
        return Anything()

    with pytest.raises(torch.jit.frontend.FrontendError, match="Cannot instantiate class 'Anything' in a script"):
        torch.jit.script(makes)


def test_what_is_compiled_when_traced_is_compiled_when_scripted():
    @torch.jit.script_if_tracing
    def counted(x: int = 2):
        total = 0
        for i in range(x):
            total += i
        return total

    @torch.jit.script
    def outside() -> int:
        return counted(x=4)

    assert (torch.jit.script(counted)(), outside()) == (1, 6)


def test_one_number_stands_for_all_of_a_list_of_some_length():
    @torch.jit.script
    def padded(x, size: BroadcastingList2[int], fill: BroadcastingList3[float] = 1.0) -> tuple[list[int], list[float]]:
        return size, fill

    @torch.jit.script
    def inside(x):
        return padded(x, 5, 2.0)

    x = torch.ones(1)
    assert str(padded.schema).startswith("padded(Tensor x, int[2] size, float[3] fill=[1.0, 1.0, 1.0])")
    assert padded(x, 3) == ([3, 3], [1.0, 1.0, 1.0])
    assert padded(x, [3, 4], [1.0, 2.0, 3.0]) == ([3, 4], [1.0, 2.0, 3.0])
    assert inside(x) == ([5, 5], [2.0, 2.0, 2.0])


def test_a_layer_that_resizes_to_a_tuple_of_one_size_is_saved():
    net = torch.jit.script(torch.nn.Upsample(size=(6,)))
    file = io.BytesIO()
    torch.jit.save(net, file)
    x = torch.arange(3.0).reshape(1, 1, 3)
    assert torch.jit.load(io.BytesIO(file.getvalue()))(x).tolist() == [[[0, 0, 1, 1, 2, 2]]]


def test_an_element_of_a_tuple_is_not_added_to():
    def grown(x: tuple[int, int]):
        x[0] += 1
        return x

    with pytest.raises(RuntimeError, match=r"'Tuple\[int, int\]' object does not support augmented assign"):
        torch.jit.script(grown)


def in_place(x):
    y = x.clone()
    y.multiply_(2).divide_(4).negative_().clip_(-3, -0.25).subtract_(1).absolute_()
    return y.greater(1), y.detach_(), y.is_same_size(x), y.is_set_to(x)


def test_second_names_of_methods_are_those_of_operators():
    x = torch.tensor([1.0, 2.0, 8.0])
    found, expected = torch.jit.script(in_place)(x), in_place(x)
    assert torch.equal(found[0], expected[0]) and torch.equal(found[1], expected[1])
    assert found[2:] == expected[2:] == (True, False)


def put(x, places: list[torch.Tensor], values):
    return x.index_put(places, values), x.clone().index_put_((places[0],), values, accumulate=True)


def test_tensors_in_a_list_are_places_to_put_values_at():
    x, places, values = torch.zeros(4), [torch.tensor([1, 3])], torch.tensor([5.0, 6.0])
    for found, expected in zip(torch.jit.script(put)(x, places, values), put(x, places, values), strict=True):
        assert torch.equal(found, expected)


def slopes(x):
    return (
        torch.gradient(x),
        torch.unique(x),
        torch.unique(x, return_counts=True),
        torch.nonzero(x),
        torch.nonzero(x, as_tuple=True),
    )


def test_functions_give_as_many_tensors_as_in_python():
    x = torch.tensor([[1.0, 2.0], [4.0, 1.0], [0.0, 4.0]])
    for found, expected in zip(torch.jit.script(slopes)(x), slopes(x), strict=True):
        found, expected = (each if isinstance(each, (list, tuple)) else [each] for each in (found, expected))
        assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


def lies(x, layout: torch.layout, wanted: torch.memory_format):
    return (
        x.layout is torch.strided,
        layout is not torch.strided,
        wanted is torch.channels_last,
        layout == torch.strided,
    )


def test_layouts_and_formats_of_memory_are_compared():
    program = torch.jit.script(lies)
    for args in (
        (torch.eye(2), torch.strided, torch.channels_last),
        (torch.eye(2).to_sparse(), torch.sparse_coo, torch.contiguous_format),
    ):
        assert program(*args) == lies(*args)


def kinds_of(x, dtype: torch.dtype):
    kind = 0
    if x.dtype.is_floating_point:
        kind += 1
    if dtype.is_complex or not dtype.is_signed:
        kind += 2
    return kind, dtype.is_floating_point


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool, torch.float16, torch.float64, torch.complex64])
def test_dtypes_say_their_kind(dtype):
    program = torch.jit.script(kinds_of)
    assert program(torch.ones(2, dtype=dtype), dtype) == kinds_of(torch.ones(2, dtype=dtype), dtype)


def weighted(x, counts):
    return torch.cov(x, fweights=counts)


def test_functions_of_torch_that_ask_the_kind_of_a_dtype_are_compiled():
    x, counts = torch.rand(2, 3), torch.tensor([1, 5, 2])
    assert torch.equal(torch.jit.script(weighted)(x, counts), weighted(x, counts))


def asks_a_text(s: str):
    return 1 if s.abs else 0


def asks_a_list(numbers: list[int]):
    return 1 if numbers.sum else 0


@pytest.mark.parametrize("fn, type", [(asks_a_text, "str"), (asks_a_list, r"List\[int\]")])
def test_operators_of_tensors_are_no_methods_of_other_values(fn, type):
    with pytest.raises(RuntimeError, match=f"'{type}' object has no attribute or method"):
        torch.jit.script(fn)
