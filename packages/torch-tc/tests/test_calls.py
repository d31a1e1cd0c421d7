"""Calls: types, sizes, memory, and reads that only data can decide."""

import pytest
import torch
import torch.tc as tc

pytest.importorskip("halide")

ADD = "def add(float(N, M) A, float(N, M) B) -> (C) { C(i, j) = A(i, j) + B(i, j) }"


@pytest.fixture(scope="module")
def add():
    return tc.define(ADD, name="add")


def test_several_results_come_as_a_tuple():
    f = tc.define("def f(float(N) A) -> (o, p) { o(i) = A(i) + 1 p() +=! A(i) }")
    o, p = f(torch.arange(4.0))
    assert o.tolist() == [1, 2, 3, 4] and p.item() == 6


@pytest.mark.parametrize(
    "args, error, message",
    [
        ((torch.ones(2, 3),), TypeError, r"add: expected 2 arguments \(A, B\), got 1"),
        ((torch.ones(2, 3), [1]), TypeError, "add: B expected a tensor, got list"),
        ((torch.ones(2, 3), torch.ones(2, 3).double()), TypeError, r"B is float32, got a tensor of float64: call .to\(torch.float32\)"),
        ((torch.ones(2, 3), torch.ones(3)), ValueError, r"B has the dims \(N, M\), got a tensor of shape \(3,\)"),
        ((torch.ones(2, 3), torch.ones(2, 4)), ValueError, "add: M is 3 in A and 4 in B"),
        ((torch.ones(2, 3), torch.ones(2, 3, device="meta")), NotImplementedError, "B has device meta"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_shown_at_their_parameter(add, args, error, message):
    with pytest.raises(error, match=message) as caught:
        add(*args)
    if "expected 2" not in message:
        assert "    " + ADD in str(caught.value) and "^" in str(caught.value)


def test_a_size_may_be_a_number():
    f = tc.define("def f(float(N, 3) A) -> (o) { o(i) = A(i, 2) }")
    assert f(torch.arange(6.0).reshape(2, 3)).tolist() == [2, 5]
    with pytest.raises(ValueError, match=r"f: expected 3, got shape \(2, 4\)"):
        f(torch.ones(2, 4))


def test_memory_of_any_layout_is_read(add):
    a, b = torch.rand(4, 3).t(), torch.rand(6, 8)[::2, ::2]
    assert torch.equal(add(a, b), a + b)
    assert torch.equal(add(a, torch.ones(1, 1).expand(3, 4)), a + 1)


def test_results_are_written_where_the_caller_asks(add):
    a, b, c = torch.rand(3, 4), torch.rand(3, 4), torch.zeros(3, 4)
    assert add(a, b, outputs=c) is c and torch.equal(c, a + b)
    assert add(a, b, outputs=[c]) is c
    wide = torch.zeros(3, 8)
    assert torch.equal(add(a, b, outputs=wide[:, ::2]), a + b) and not wide[:, 1::2].any()
    for wrong in (torch.zeros(3, 5), torch.zeros(3, 4).double()):
        with pytest.raises(ValueError, match="add: C is a tensor of torch.float32 and shape"):
            add(a, b, outputs=wrong)
    with pytest.raises(TypeError, match="outputs expected 1 tensors, got 2"):
        add(a, b, outputs=[c, c])
    with pytest.raises(TypeError, match="outputs expected tensors, got str"):
        add(a, b, outputs=["c"])


def test_a_result_over_its_own_input_is_not_read_half_written():
    flip = tc.define("def flip(float(N) A) -> (B) { B(i) = A(N - 1 - i) }")
    a = torch.arange(1000.0)
    assert torch.equal(flip(a, outputs=a), torch.arange(999.0, -1, -1))
    two = tc.define("def two(float(N) A) -> (B, C) { B(i) = A(i) + 1 C(i) = B(i) * 2 }")
    shared = torch.zeros(6)
    two(torch.zeros(4), outputs=[shared[:4], shared[2:]])
    assert shared.tolist() == [1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    "dtype", ["float", "double", "half", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]
)
def test_every_type_is_read_and_written(dtype):
    f = tc.define(f"def f({dtype}(N) A) -> (o, m) {{ o(i) = A(i) + 1 m() max=! A(i) }}")
    kind = getattr(torch, {"float": "float32", "double": "float64", "half": "float16"}.get(dtype, dtype))
    o, m = f(torch.arange(5).to(kind))
    assert o.dtype == m.dtype == kind and o.tolist() == [1, 2, 3, 4, 5] and m.item() == 4


def test_truth_values_select_and_count():
    f = tc.define(
        "def f(bool(N) A, float(N) B) -> (o, n, both) { o(i) = A(i) ? B(i) : -1 n() +=! A(i) both(i) = A(i) && B(i) > 1 }"
    )
    o, n, both = f(torch.tensor([True, False, True]), torch.arange(3.0))
    assert (
        o.tolist() == [0, -1, 2] and n.item() == 2 and n.dtype == torch.int32 and both.tolist() == [False, False, True]
    )


def test_sums_of_half_are_made_in_single():
    f = tc.define("def f(half(N) A) -> (o) { o() +=! A(i) }")
    assert f(torch.ones(4096).half()).item() == 4096


def test_numbers_stand_for_tensors_without_dims():
    f = tc.define("def f(float(N) A, float a, int32 k) -> (o) { o(i) = a * A(i) + k }")
    assert f(torch.ones(2), 0.5, 3).tolist() == [3.5, 3.5]
    assert f(torch.ones(2), torch.tensor(0.5), torch.tensor(3, dtype=torch.int32)).tolist() == [3.5, 3.5]


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("i / 2 - i % 2", [0, -1, 1, 0]),
        ("-7 / 2 + i * 0", [-4] * 4),  # rounds down
        ("!(i > 1) ? 1 : 0", [1, 1, 0, 0]),
        ("min(i, 2) + max(i, 1)", [1, 2, 4, 5]),
        ("int32(A(i) * 1.9)", [0, 1, 3, 5]),
        ("A.0 * N", [16] * 4),
        ("i == 2 || i < 1", [True, False, True, False]),
        ("i != 2 && i <= 2 && i >= 1", [False, True, False, False]),
        ("1.0 / (i + 1)", [1, 1 / 2, 1 / 3, 1 / 4]),
        ("fma(A(i), 2, 1) + fmod(A(i), 2.0) + fdim(A(i), 1) + hypot(3.0, 4.0)", [6, 9, 11, 15]),
        ("pow(A(i), 2.0) + exp2(A(i)) + sqrt(A(i) * A(i)) + fabs(-A(i))", [1, 5, 12, 23]),
        ("expf(A(i)) - exp(A(i)) + log2(8.0) + log10(100.0)", [5] * 4),
        ("floor(A(i) / 2) + ceil(A(i) / 2) + rint(A(i) * 0.4) + trunc(-A(i) / 2)", [0, 1, 2, 3]),
    ],
)  # fmt: skip
def test_an_expression_has_the_value_of_arithmetic(expression, expected):
    f = tc.define(f"def f(float(N) A) -> (o) {{ o(i) = {expression} where i in 0:4 }}")
    assert f(torch.arange(4.0)).tolist() == pytest.approx(expected, rel=1e-5)


def test_parts_of_a_tensor_are_written_after_one_another():
    f = tc.define("def f(float(N) A) -> (o) { o(i) = A(i) o(i) = 9 where i in 1:3 o(i) += 1 where i in 2:4 }")
    assert f(torch.zeros(5)).tolist() == [0, 9, 10, 1, 0]
    with pytest.raises(tc.CompilationError, match="i runs to 8, but o ends at 4"):
        tc.define("def f(float(N) A) -> (o) { o(i) = A(i) o(i) = 9 where i in 1:9 }")(torch.zeros(5))


def test_a_reduction_goes_on_without_its_mark():
    f = tc.define("def f(float(N, M) A) -> (o) { o(i) = 10 * A(i, 0) o(i) += A(i, j) }")
    a = torch.rand(5, 7)
    assert torch.allclose(f(a), 10 * a[:, 0] + a.sum(1))


def test_a_type_does_not_narrow_silently():
    with pytest.raises(tc.CompilationError, match="o holds int32, got float32; say: int32"):
        tc.define("def f(float(N) A) -> (o) { o(i) = i where i in 0:N o(i) = A(i) }")(torch.ones(3))


def test_a_read_outside_is_refused_before_it_happens():
    f = tc.define("def f(float(N) A) -> (o) { o(i) = A(i + 1) where i in 0:N }")
    with pytest.raises(tc.CompilationError, match=r"the index runs from 1 to 4, outside of dim 0 of A: 0 to 3"):
        f(torch.ones(4))
    with pytest.raises(tc.CompilationError, match="a division of whole numbers by zero"):
        tc.define("def f(float(N) A) -> (o) { o(i) = i / 0 where i in 0:N }")(torch.ones(4))
    with pytest.raises(tc.CompilationError, match="an index is a whole number, got float32"):
        tc.define("def f(float(N) A) -> (o) { o(i) = A(A(i)) where i in 0:N }")(torch.ones(4))


def test_an_index_out_of_data_is_checked_and_nothing_is_written():
    f = tc.define("def f(float(E, D) T, int64(B) I) -> (o) { o(b, d) = T(I(b), d) }")
    t, c = torch.rand(5, 3), torch.full((2, 3), 7.0)
    for wrong in (5, -1, 2**40):
        with pytest.raises(
            IndexError, match=rf"f: index {min(wrong, 2**31 - 1)} is outside of dim 0 of T: 0 to 4"
        ) as caught:
            f(t, torch.tensor([0, wrong]), outputs=c)
        assert "^" in str(caught.value) and (c == 7).all()
    assert torch.equal(f(t, torch.tensor([4, 0])), t[[4, 0]])
    with pytest.raises(tc.CompilationError, match="dim 0 of T is empty"):
        f(torch.rand(0, 3), torch.tensor([0]))


def test_a_condition_proves_or_is_checked():
    proven = tc.define("def f(float(N) A) -> (o) { o(i) = i >= 1 ? A(i - 1) : 0 where i in 0:N }")
    assert proven(torch.arange(1.0, 4)).tolist() == [0, 1, 2]
    tested = tc.define("def f(float(N) A, int32(N) K) -> (o) { o(i) = K(i) != 1 ? A(i + K(i)) : -1 where i in 0:N }")
    a = torch.arange(3.0)
    assert tested(a, torch.tensor([2, 0, 1], dtype=torch.int32)).tolist() == [2, 1, -1]
    with pytest.raises(IndexError, match="f: index 4 is outside of dim 0 of A: 0 to 2"):
        tested(a, torch.tensor([2, 0, 2], dtype=torch.int32))


def test_empty_tensors_have_sums_and_no_maximum():
    f = tc.define("def f(float(N, M) A) -> (s, c) { s(i) +=! A(i, j) c(i, j) = A(i, j) }")
    s, c = f(torch.ones(3, 0))
    assert s.tolist() == [0, 0, 0] and c.shape == (3, 0) and s.dtype == c.dtype == torch.float32
    assert f(torch.ones(0, 3))[0].shape == (0,)
    with pytest.raises(ValueError, match="f: the max over nothing has no value"):
        tc.define("def f(float(N) A) -> (s) { s() max=! A(i) }")(torch.ones(0))


def test_constants_are_written_in_braces():
    text = "def f(float(N) A) -> (o) {{ o(i) = A(i) * {s} }}"
    assert tc.define(text, name="f", constants={"s": 3})(torch.ones(1)).tolist() == [3]
    with pytest.raises(ValueError, match="constants do not fit the text .KeyError"):
        tc.define(text, name="f", constants={"t": 3})


def test_a_definition_is_found_by_its_name():
    both = "def f(float(N) A) -> (o) { o(i) = A(i) } def g(float(N) A) -> (o) { o(i) = A(i) + 1 }"
    assert tc.define(both, name="g")(torch.ones(1)).tolist() == [2]
    with pytest.raises(ValueError, match="name= has to say which of f, g to define"):
        tc.define(both)
    with pytest.raises(ValueError, match="no definition 'h'; there are f, g"):
        tc.define(both, name="h")
    assert repr(tc.define(both, name="g")) == "<tc.TcUnit g(A, /)>"


def test_the_package_of_2018_is_this_one():
    import tensor_comprehensions

    assert tensor_comprehensions.define is tc.define and tensor_comprehensions.options.Options is tc.Options
    from tensor_comprehensions.options import Options

    assert Options("mlp") == tc.Options("mlp") and set(tensor_comprehensions.__all__) == set(tc.__all__)
