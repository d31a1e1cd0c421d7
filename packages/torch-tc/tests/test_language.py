"""Texts and what is said about wrong ones: file, line, and a caret under the place."""

import pytest
import torch.tc as tc
from torch.tc._ranges import infer
from torch.tc._source import Source
from torch.tc._unit import definitions


def refused(text):
    with pytest.raises(tc.CompilationError) as caught:
        tc.parse(text, file="layer.tc")
    return caught.value


@pytest.mark.parametrize(
    "text, message, marked",
    [
        ("def f(float(N) A) -> (o) { o(i) = = A(i) }", "expected an expression, got '='", "= A(i)"),
        ("def f(float(N) A) -> (o) { o(i) = A(i)", "expected a statement or '}', got the end of the text", None),
        ("def f(float(N) A) -> (o) { o(i) = A(i) $ 2 }", r"unexpected '\$'", "$ 2"),
        ("def f(flaot(N) A) -> (o) { o(i) = A(i) }", "no type 'flaot': there are float, ", "flaot"),
        ("def f(float(N) A) -> (o) { o(i) = A(j) }", r"written at \(i\), but the right side also runs over j", "j)"),
        ("def f(float(N) A) -> (o) { o(i) = A(i) where j in 0:3 }", r"but j runs too: several values", "j in"),
        ("def f(float(N) A) -> (o) { o(i,i) = A(i) }", "i stands twice on the left", "i,i"),
        ("def f(float(N) A) -> (o) { o(i) = A(i, 0) }", "A has 1 dims, got 2 indices", "A(i, 0"),
        ("def f(float(N) A) -> (o) { o(i) = B(i) }", "no tensor or function 'B'", "B"),
        ("def f(float(N) A) -> (o) { o(i) = fmac(A(i), 0) }", "did you mean 'fma", "fmac"),
        ("def f(float(N) A) -> (o) { o(i) = exp(A(i), 0) }", "exp takes 1 values, got 2", "exp"),
        ("def f(float(N) A) -> (o) { o(N) = A(N) }", "N is a size; an index on the left is a variable", "N) = A"),
        ("def f(float(N) A) -> (A) { A(i) = A(i) }", "A is a parameter; a result needs a name of its own", "A) {"),
        ("def f(float(N) A) -> (o) { A(i) = A(i) o(i) = A(i) }", "A is a parameter; statements write results", "A(i) = A"),
        ("def f(float(N) A) -> (o) { p(i) = A(i) }", "the result o is not written by any statement", "o) {"),
        ("def f(float(N) A) -> (o) { o(i) = A(i) o(i) = o(i + 1) }", "read at other places than .*: a race", "o(i + 1"),
        ("def f(float(N) A) -> (o) { o(i) = A(i) o(i) += o(i) }", "read while it is reduced: a race", "o(i) }"),
        ("def f(float(N) A) -> (o) { o(i) = t(i) t(i) = A(i) }", "t is read before it is written", "t(i) t"),
        ("def f(float(N) A) -> (o) { o(i) = A(i) o(i, j) = A(i) }", "o has 1 dims, not 2", "o(i, j"),
        ("def f(float(N) A) -> (o) { o(i) = A }", r"A has 1 dims: A\(...\) is an element of it", "A }"),
        ("def f(float(N) A) -> (o) { o(i) = A(i) * A.1 }", "there is no dim 1", "A.1"),
        ("def f(float(N) A) -> (o) { o(i) = A(i) * B.0 }", "no tensor 'B'", "B.0"),
        ("def f(float(N) A, float(M) A) -> (o) { o(i) = A(i) }", "two parameters are called A", "A) ->"),
        ("def f(float(N) A) -> (o, o) { o(i) = A(i) }", "two results are called o", "o) {"),
        ("def f(float(N) A) -> () { o(i) = A(i) }", "f returns nothing", "f("),
        ("def f(float(N) A) -> (o) { o(i) = A(i) where i in 0:k }", "depends on k, not only on sizes", "k }"),
        ("def f(float(N) A) -> (o) { o(i) = A(i) where i in 0:A(0) }", "on sizes, not on elements", "A(0)"),
        ("def f(float(N) A) -> (o) { o(i) = A(i) where i in 0:2, i in 0:3 }", "i has two ranges", "i in 0:2"),
        ("def f(float(N) A) -> (o) { o(i) = A(i) where exists 3 }", "exists expects an element", "3 }"),
        ("def f(float(N) A) -> (a) { a, b = g(A) }", "calls of other definitions are not supported", "a, b"),
        ("def f(float(N) A) -> (o) { o(i) = A(i) } def f(float(N) A) -> (o) { o(i) = A(i) }", "f is defined twice", "f(float(N) A) -> (o) { o(i) = A(i) }$"),
        ("def f(float(N) A) -> (o) {{ o(i) = A(i) }}", "expected a statement or '}'", "{ o"),
        ("", "no definition: expected 'def NAME", None),
        ("def f(float(N) A) -> (o) { o(i) = " + "(" * 80 + "A(i)" + ")" * 80 + " }", "more than 50 brackets", None),
        ("def f(float(N) A) -> (o) { o(i) = A(i)" + " + A(i)" * 300 + " }", "more than 200 operators", None),
        ("def f(float a) -> (o) { o() = z where let x = a+a, let y = x*x*x*x*x*x*x*x, let z = y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y }", "more than 2000 names", None),
    ],
)  # fmt: skip
def test_an_error_names_its_place(text, message, marked):
    import re

    error = refused(text)
    assert re.search(message, error.msg), error.msg
    first, line, below = str(error).split("\n")
    assert first == f"layer.tc:1: {error.msg}" and line.strip() == text.strip()
    if marked:
        exact = marked.removesuffix("$")
        at = text.rindex(exact) if marked.endswith("$") else text.index(exact)
        assert below.index("^") - 4 == at


def test_the_line_is_that_of_the_file_with_the_text():
    with pytest.raises(tc.CompilationError) as caught:
        tc.parse("""
            def f(float(N) A) -> (o) {
                o(i) = A(oops)
            }""")
    import linecache

    assert caught.value.filename == __file__
    assert "A(oops)" in linecache.getline(__file__, caught.value.lineno)


def test_comments_semicolons_and_all_numbers_are_read():
    found = tc.parse("# a scale\ndef f(float(N, 3) A) -> (o) { o(i, j) = .5f * A(i, j) + 1e-3 - -2.; # done\n }")
    assert [p.name for p in found["f"].parameters] == ["A"]


@pytest.mark.parametrize("text", [None, 3, b"def"])
def test_a_text_is_a_text(text):
    with pytest.raises(TypeError, match="tc: expected a text, got"):
        tc.parse(text)


def ranges(text, *shapes):
    from torch.tc._lower import sizes_of

    source = Source(text, "layer.tc")
    (one,) = definitions(source).values()
    return infer(source, one.statements[0], sizes_of(source, one, shapes))


def test_a_kernel_bounds_its_window_first():
    text = "def f(float(H) I, float(K) W) -> (o) { o(h) +=! I(2 * h + k) * W(k) }"
    assert ranges(text, (10,), (3,)) == {"k": (0, 3), "h": (0, 4)}


@pytest.mark.parametrize(
    "statement, expected",
    [
        ("o(i) = A(i) * B(i)", {"i": (0, 5)}),  # the smaller of both
        ("o(i) = A(i / 2)", {"i": (0, 14)}),
        ("o(i) = A(6 - i)", {"i": (0, 7)}),
        ("o(i) = A(2 * i + 1)", {"i": (0, 3)}),
        ("o(i) = A(i + j) where j in 0:3", {"i": (0, 5), "j": (0, 3)}),
        ("o(i) = A(i + j) where exists B(j)", {"i": (0, 3), "j": (0, 5)}),
        ("o(i) = x + x where let x = A(i), i in 0:A.0 / 2", {"i": (0, 3)}),
        ("o(i) +=! A(i) where k in 1:M", {"i": (0, 7), "k": (1, 5)}),
    ],
)  # fmt: skip
def test_a_range_is_the_largest_that_stays_inside(statement, expected):
    if "j" in expected and "=!" not in statement:
        statement = statement.replace(" = ", " +=! ", 1)
    assert ranges(f"def f(float(N) A, float(M) B) -> (o) {{ {statement} }}", (7,), (5,)) == expected


@pytest.mark.parametrize(
    "statement, message",
    [
        ("o(i) = 1", "the range of i follows from nothing; say: where i in 0:N"),
        ("o(i) = A(i % 3)", "the range of i follows from nothing"),
        ("o(i) = A(i - 1)", "i runs from 1, but o begins at 0"),
        ("o(i) = A(i) where i in 5:2", "i runs from 5 down to 2"),
        ("o(i) = A(i) where i in 0:2.5", "is not made of whole numbers"),
        ("o(i) = A(i) where i in 0:9999999999", "exceeds 32 bits"),
    ],
)  # fmt: skip
def test_a_range_that_is_missing_or_wrong_is_shown(statement, message):
    with pytest.raises(tc.CompilationError, match=message) as caught:
        ranges(f"def f(float(N) A) -> (o) {{\n  {statement}\n}}", (7,))
    assert caught.value.lineno == 2 and caught.value.text.strip() == statement
