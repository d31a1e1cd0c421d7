"""Loops over numbers and lists give what Python gives, and raise what Python raises."""

import itertools
import math
import random
import textwrap

import numpy
import pytest
import torch


def compiled(source, name):
    return getattr(torch.jit.CompilationUnit(textwrap.dedent(source)), name)


def both(source, name, *args):
    scope = {"torch": torch, "List": list}
    exec(textwrap.dedent(source), scope)
    return scope[name](*args), compiled(source, name)(*args)


class Programs:
    """Random programs over three ints, two floats, a bool and a list of ints."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def int(self, depth=0):
        leaf = self.pick("a", "b", "c", "xs[0]", "xs[-1]", "len(xs)", str(self.random.randint(-4, 9)))
        if depth > 1 or self.random.random() < 0.4:
            return leaf
        left, right = self.int(depth + 1), self.int(depth + 1)
        return self.pick(
            f"({left} + {right})", f"({left} - {right})", f"({left} * {right}) % 1009", f"({left} % 7)",
            f"({left} // 3)", f"({left} // -2)", f"({left} & {right})", f"({left} | {right})", f"({left} ^ {right})",
        )  # fmt: skip

    def float(self, depth=0):
        leaf = self.pick("x", "y", "float(a)", "0.5", "-1.25")
        if depth > 1 or self.random.random() < 0.4:
            return leaf
        left, right = self.float(depth + 1), self.pick(self.float(depth + 1), self.int(depth + 1))
        return self.pick(
            f"({left} + {right})", f"({left} - {right})", f"({left} * 0.5)", f"({left} / 3)", f"(x * {right})"
        )

    def bool(self, depth=0):
        if depth > 1 or self.random.random() < 0.3:
            return self.pick("p", "True", "not p")
        sign = self.pick("<", "<=", ">", ">=", "==", "!=")
        return self.pick(
            f"{self.int(1)} {sign} {self.int(1)}", f"{self.float(1)} {sign} {self.int(1)}",
            f"({self.bool(depth + 1)} and {self.bool(depth + 1)})", f"({self.bool(depth + 1)} or {self.bool(depth + 1)})",
        )  # fmt: skip

    def statement(self, depth):
        kind = self.random.randrange(9 if depth < 3 else 6)
        if kind == 0:
            return [f"{self.pick('a', 'b', 'c')} = {self.int()}"]
        if kind == 1:
            return [f"x = ({self.float()}) % 64.0" if self.random.random() < 0.3 else f"y = min({self.float()}, 1e6)"]
        if kind == 2:
            return [f"p = {self.bool()}"]
        if kind == 3:
            return [self.pick("a, b = b, a", "a, b, c = b, c, a", "x, y = y, x", "a, b = b, (a + b) % 31")]
        if kind == 4:
            return [self.pick(f"xs[{self.int(2)} % len(xs)] = {self.int()}", f"xs.append({self.int()})")]
        if kind == 5:
            return [f"c += {self.int()}"]
        self.names += 1
        i = f"i{self.names}"
        if kind == 6:
            other = ["else:", *self.body(depth)] if self.random.random() < 0.5 else []
            return [f"if {self.bool()}:", *self.body(depth), *other]
        if kind == 7:
            bounds = self.pick("3", "1, 4", "0, 7, 3", "4, 0, -1")
            stop = (
                [f"    if {self.bool()}:", f"        {self.pick('break', 'continue')}"]
                if self.random.random() < 0.4
                else []
            )
            return [f"for {i} in range({bounds}):", f"    c = c + {i}", *stop, *self.body(depth)]
        return [f"{i} = 0", f"while {i} < 3:", f"    {i} += 1", *self.body(depth)]

    def body(self, depth):
        return ["    " + line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth + 1)]

    def text(self):
        lines = [line for _ in range(6) for line in self.statement(0)]
        return "\n".join(
            ["def f(a: int, b: int, x: float, p: bool):", "    c = 1", "    y = 2.0", "    xs = [3, a]"]
            + ["    " + line for line in lines]
            + ["    return a, b, c, x, y, p, xs", ""]
        )


@pytest.mark.parametrize("seed", range(150))
def test_a_random_program_over_numbers_gives_what_python_gives(seed):
    source = Programs(seed).text()
    for args in [(5, 7, 0.5, True), (-3, 0, 8.0, False)]:
        python, ours = both(source, "f", *args)
        if any(abs(v) > 2**62 for v in (*python[:3], *python[6])):
            continue  # Python's ints do not wrap
        assert ours == python, source


def test_ints_wrap_at_64_bits():
    source = """
    def f(a: int) -> int:
        for i in range(3):
            a = a * 2
        return a
    """
    assert compiled(source, "f")(2**61) == 0
    assert compiled(source, "f")(2**60 + 1) == -(2**63) + 8


@pytest.mark.parametrize(
    "a,b", [(7, 2), (-7, 2), (7, -2), (-7, -2), (2**40, 3), (-(2**63), -1), (-(2**63), 2), (5, 2**35)]
)
def test_division_rounds_down_whatever_the_signs(a, b):
    source = """
    def f(a: int, b: int):
        return a // b, a % b
    """
    expected = (a // b, a % b) if (a, b) != (-(2**63), -1) else (a, 0)
    assert compiled(source, "f")(a, b) == expected


def test_division_of_floats_has_pythons_zeros_and_infinities():
    source = """
    def f(a: float, b: float):
        return a // b, a % b
    """
    f, inf = compiled(source, "f"), math.inf
    values = [0.0, -0.0, 1.0, -1.0, 7.5, -7.5, 0.1, -0.1, 1e300, 5e-324, inf, -inf, math.nan]
    for a, b in itertools.product(values, values):
        if b != 0:
            assert list(map(repr, f(a, b))) == [repr(a // b), repr(a % b)], (a, b)


@pytest.mark.parametrize("operation", ["a // b", "a % b", "a / b", "float(a) / b", "float(a) % b"])
def test_division_by_zero_within_a_loop_raises_and_names_the_line(operation):
    source = f"""
    def f(a: int, b: int):
        t = 0.0
        for i in range(3):
            t = t + {operation}
            b = b - 1
        return t
    """
    with pytest.raises((ZeroDivisionError, RuntimeError), match="zero|modulo"):
        compiled(source, "f")(5, 1)


def test_an_index_beyond_a_list_raises_within_a_loop():
    source = """
    def f(xs: List[int], n: int) -> int:
        t = 0
        for i in range(n):
            t += xs[i]
        return t
    """
    assert compiled(source, "f")([1, 2, 3], 3) == 6
    with pytest.raises(IndexError, match="list index out of range"):
        compiled(source, "f")([1, 2, 3], 4)


def test_lists_of_lists_are_read_and_written_in_loops():
    source = """
    def f(n: int):
        rows = [[i * j for j in range(n)] for i in range(n)]
        t = 0
        for i in range(n):
            for j in range(n):
                t += rows[i][j] * rows[-1 - i][j]
                rows[i][j] = t
        return rows, t
    """
    python, ours = both(source, "f", 5)
    assert ours == python


def test_a_counter_that_goes_on_before_a_stretch_of_operators_does_not_change_what_they_take():
    source = """
    def f(x: torch.Tensor, n: int):
        k = 1
        for i in range(n):
            y = x * 2
            k2 = k + 1
            x = y + k - x * k
            k = k2
        return x, k
    """
    python, ours = both(source, "f", torch.arange(4.0), 5)
    assert torch.equal(python[0], ours[0]) and python[1] == ours[1]


def test_values_of_branches_within_loops_keep_what_is_read_later():
    source = """
    def f(n: int):
        a, b, t = 0, 1, 0
        for i in range(n):
            old = a
            if i % 2 == 0:
                a = a + b
                t += old
            else:
                b = a
                a = b + old
            t = t * 3 + old - a
        return a, b, t
    """
    for n in range(8):
        python, ours = both(source, "f", n)
        assert ours == python


def test_tensors_that_change_places_in_a_loop_stay_what_they_are():
    source = """
    def f(x: torch.Tensor, n: int):
        a, b, c = x, x + 1, x
        kept = [x]
        for i in range(n):
            a, b, c = b, a + c, b
            if i % 2 == 1:
                a, c = c, a
                kept.append(a)
        return a, b, c, kept
    """
    for n in range(6):
        python, ours = both(source, "f", torch.arange(3.0), n)
        for one, other in zip([*python[:3], *python[3]], [*ours[:3], *ours[3]], strict=True):
            assert torch.equal(one, other)


def test_a_tensor_is_cast_by_type():
    def cast(x: torch.Tensor, like: torch.Tensor):
        return x.type(like.dtype), x.type(torch.float64)

    first, second = torch.jit.script(cast)(torch.ones(2), torch.ones(1, dtype=torch.int64))
    assert first.dtype == torch.int64 and second.dtype == torch.float64


def test_the_smaller_of_numbers_that_are_ints_or_floats_when_they_run():
    @torch.jit.script
    def extremes(x):
        return min(x.item(), 2), max(2.5, x.item())

    assert extremes(torch.tensor(7)) == (2, 7)
    assert extremes(torch.tensor(0.5)) == (0.5, 2.5)


def test_a_script_asks_whether_a_tensor_is_sparse_by_rows():
    @torch.jit.script
    def by_rows(x) -> bool:
        return x.is_sparse_csr

    assert by_rows(torch.eye(2).to_sparse_csr())
    assert not by_rows(torch.eye(2))


def test_bools_are_taken_from_numbers_and_tensors_of_one():
    @torch.jit.script
    def flag(x: bool) -> bool:
        return x

    @torch.jit.script
    def count(x: list[bool]) -> int:
        return sum([1 for each in x if each])

    given = (1, 0, torch.tensor(True), torch.tensor(0.0), numpy.bool_(True), numpy.bool_(False), 2.0)
    assert [flag(each) for each in given] == [True, False, True, False, True, False, True]
    assert count([0, 1, True, 2]) == 3
    for odd in ("x", None, torch.ones(2)):
        with pytest.raises(TypeError, match="flag.*Expected a value of type 'bool'"):
            flag(odd)


def test_constructors_of_old_tensors_take_sizes():
    def made(n: int):
        return torch.FloatTensor(n), torch.LongTensor(2, n, 3), torch.BoolTensor(0)

    found = torch.jit.script(made)(4)
    assert [(tuple(x.shape), x.dtype) for x in found] == [
        ((4,), torch.float32),
        ((2, 4, 3), torch.int64),
        ((0,), torch.bool),
    ]


def test_constructors_of_old_tensors_make_tensors_of_their_dtype():
    source = """
    def made(n: int):
        return torch.LongTensor([n, 2]), torch.FloatTensor([[1.5], [2.0]]), torch.BoolTensor([n, 0]), torch.DoubleTensor()
    """
    for found, expected in zip(*both(source, "made", 3), strict=True):
        assert found.dtype == expected.dtype and torch.equal(found, expected)
