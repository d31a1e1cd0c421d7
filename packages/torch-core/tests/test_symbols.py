"""Sizes with names: a formula says what its number is, whatever arithmetic made it."""

import math
import operator

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch._symbols import Expression, SymFloat, SymInt, named, numbers_read, of_text

NUMBERS = {"a": 7, "b": 12, "c": 3}
LEAVES = st.one_of(st.sampled_from(sorted(NUMBERS)), st.integers(-5, 5))
TREES = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor"]), parts, parts),
        st.tuples(st.sampled_from(["abs", "neg"]), parts),
    ),
    max_leaves=8,
)


def computed(tree, leaf):
    if not isinstance(tree, tuple):
        return leaf(tree)
    name, *parts = tree
    return getattr(operator, name)(*(computed(part, leaf) for part in parts))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TREES)
def test_a_formula_is_the_number_that_python_computes(tree):
    try:
        expected = computed(tree, lambda x: NUMBERS.get(x, x))
        found = computed(tree, lambda x: named(x, NUMBERS[x]) if isinstance(x, str) else x)
    except ZeroDivisionError:
        return
    assert int(found) == expected
    if isinstance(found, SymInt):
        text = str(found)
        assert eval(text, {}, NUMBERS) == expected
        assert Expression.of_text(text) == found.node.expr and int(of_text(text, expected)) == expected


def test_powers_are_products_up_to_sixteen_factors():
    a = named("a", 2)
    assert str(a**3) == "a**3" and int(a**16) == 65536 and a**0 == 1
    assert Expression.of_text("(a + 1)**2") == Expression.of_text("a*a + 2*a + 1")
    assert Expression.of_text("a**0") == 1
    assert str(Expression.of_text("a**17") + 1) == str(a**17 + 1) == "a**17 + 1" and int(a**17) == 2**17
    assert str(2**a) == "2**a" and int(2**a) == 4 and float(a**-1) == 0.5
    for text in ("9**17", "2**2.5", "2**-1"):
        with pytest.raises(ValueError, match=r"whole powers of numbers up to 16, got '"):
            Expression.of_text(text)


def test_functions_of_a_number_are_names_of_their_own():
    a = named("a", 6)
    assert [str(x) for x in (abs(-a), math.ceil(a / 4), math.floor(a / 4), round(a / 5))] == [
        "abs(-a)",
        "ceil(a/4)",
        "floor(a/4)",
        "round(a/5)",
    ]
    assert [int(x) for x in (abs(-a), math.ceil(a / 4), math.floor(a / 4), round(a / 5))] == [6, 2, 1, 1]
    assert (
        int(Expression.of_text("ceil(4/3)").number()) == 2 and str(Expression.of_text("ceil(a/4)*2")) == "2*(ceil(a/4))"
    )
    assert list(map(str, (*divmod(a, 4), *divmod(13, a)))) == ["a//4", "a%4", "13//a", "13%a"]
    assert f"{a} {a:3d}" == "a   6"


@pytest.mark.parametrize(
    "text",
    [
        "f(a)",
        "a < b",
        "'a'",
        "a.b",
        "a[0]",
        "f(a, b)",
        "abs(a, b)",
        "1 << 9999999999",
        "lambda: a",
        "a @ b",
        "a<",
        "4//0",
        "*".join("a" * 9000),
    ],
)
def test_other_texts_are_no_sizes(text):
    with pytest.raises(ValueError, match="a size is a sum or product of names and numbers"):
        Expression.of_text(text)


def test_quotients_and_comparisons_know_what_they_were():
    a, b = named("a", 7), named("b", 12)
    assert isinstance(a / 2, SymFloat) and float(a / 2) == 3.5
    assert bool(a < b) and str(a < b) == "a < b" and a != b
    assert (a == a) is True
    assert torch.zeros(int(a)).shape == (7,) and list(range(a)) == list(range(7))
    with pytest.raises(TypeError, match="for a number of your own take 3"):
        torch.SymInt(3)


def test_operators_take_numbers_with_names_as_numbers():
    size, x = named("a", 4), torch.arange(4.0)
    share, many = size / 8, size > 2
    assert torch.equal(x * size, x * 4) and torch.equal(size - x, 4 - x) and torch.equal(x + share, x + 0.5)
    assert torch.equal(torch.add(x, x, alpha=size), x * 5) and torch.equal(x.clamp(max=share), x.clamp(max=0.5))
    assert x.sum(0, keepdim=many).shape == (1,) and torch.full((size,), size).tolist() == [4] * 4
    made = [torch.tensor(n) for n in (size, share, many)]
    assert [t.dtype for t in made] == [torch.int64, torch.float32, torch.bool] and [t.item() for t in made] == [
        4,
        0.5,
        True,
    ]
    x[0], x[1] = size, share
    assert x.tolist() == [4, 0.5, 2, 3]
    with pytest.raises(TypeError, match="item 0 is 'SymFloat'"):
        torch.Size([share])


def test_a_class_that_is_called_like_one_is_no_number():
    class SymInt:
        def __index__(self):
            return 2

    with pytest.raises(TypeError, match="must be Tensor or Number, not SymInt"):
        torch.add(torch.ones(2), SymInt())


def test_who_asks_for_the_number_of_a_size_is_noticed():
    size = named("s0", 3)
    asks = [
        int,
        float,
        bool,
        operator.index,
        "{:3d}".format,
        lambda n: n > 2,
        lambda n: [0, 1, 2, 3][n],
        range,
        lambda n: torch.zeros(n),
    ]
    for ask in asks:
        with numbers_read() as read:
            ask(size)
        assert read[:1] == ["s0"]
    with numbers_read() as read:
        assert [str(size * 2 + 1), str(-size), str(torch.Size([size, 2])[0])] == ["2*s0 + 1", "-s0", "s0"]
        with numbers_read() as within:
            int(size)
    assert read == [] and within == ["s0"]
    assert int(size) == 3 and read == []
