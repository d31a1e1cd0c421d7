"""``else`` of loops in programs: it runs where no ``break`` has ended the loop."""

import io

import pytest
import torch


def first(xs: list[int], wanted: int) -> int:
    at = 0
    for i in range(len(xs)):
        if xs[i] == wanted:
            at = i
            break
    else:
        return -1
    return at


def count(n: int) -> str:
    said = ""
    k = 0
    while k < n:
        k += 1
        if k == 7:
            said += "seven"
            break
    else:
        said += "end"
    return said + str(k)


def nested(n: int) -> list[int]:
    out: list[int] = []
    for a in range(2, n):
        for b in range(2, a):
            if a % b == 0:
                break
        else:
            out.append(a)
            if len(out) > 5:
                break
    else:
        out.append(-1)
    return out


def inner_else_breaks_outer(n: int) -> int:
    k = 0
    for a in range(n):
        for _b in range(3):
            k += 1
            if a == 2:
                break
        else:
            if a == 1:
                break
    else:
        k += 100
    return k


def nobreak(x: torch.Tensor) -> torch.Tensor:
    for i in range(3):
        x = x + i
    else:
        x = x * 2
    return x


def unrolled(x: torch.Tensor) -> torch.Tensor:
    for f in (1.5, 2.5, 3.5):
        x = x * f
        if bool(x.sum() > 100):
            break
    else:
        x = -x
    return x


def returns(xs: list[int]) -> int:
    for x in xs:
        if x > 3:
            return x
        if x < 0:
            break
    else:
        return 0
    return -1


def endless(n: int) -> int:
    k = 0
    while True:
        k += 1
        if k > n:
            break
    else:
        k = -5
    return k


CASES = [
    (first, [([1, 2, 3], 2), ([1], 5), ([], 1)]),
    (count, [(3,), (9,), (0,), (7,)]),
    (nested, [(10,), (40,), (2,)]),
    (inner_else_breaks_outer, [(0,), (1,), (2,), (5,)]),
    (nobreak, [(torch.ones(2),)]),
    (unrolled, [(torch.ones(2),), (torch.ones(2) * 20,)]),
    (returns, [([1, 5],), ([1, -1, 7],), ([1, 2],), ([],)]),
    (endless, [(3,), (0,)]),
]


@pytest.mark.parametrize("function, calls", CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_a_loop_with_else_does_what_python_does(function, calls):
    compiled = torch.jit.script(function)
    file = io.BytesIO()
    torch.jit.save(compiled, file)
    for program in (compiled, torch.jit.load(io.BytesIO(file.getvalue()))):
        for args in calls:
            got, wanted = program(*args), function(*args)
            assert torch.equal(got, wanted) if isinstance(wanted, torch.Tensor) else got == wanted, args


def test_a_name_that_only_the_else_gives_has_no_value_after_the_loop():
    def wrong(n: int) -> int:
        for i in range(n):
            if i == 3:
                break
        else:
            found = n
        return found

    with pytest.raises(RuntimeError, match="found is not defined in the false branch"):
        torch.jit.script(wrong)


def until_it_has_a_value(n: int):
    x = None
    i = 0
    while x is None or x > n:
        x = n + 2 - i
        i += 1
    return x, i


def test_a_loop_whose_condition_holds_at_first_because_of_none_ends():
    assert torch.jit.script(until_it_has_a_value)(3) == until_it_has_a_value(3) == (3, 3)


def skipping(values: list[int]):
    x: int | None = None
    total = 0
    for value in values:
        if value < 3:
            if value < 2:
                x = None
                continue
            x = 10
        else:
            x = value
        total += x + 1
    return x, total


def test_a_value_is_known_to_be_there_where_the_turn_goes_on():
    script = torch.jit.script(skipping)
    for values in ([1], [2, 1], [1, 5], [2, 3, 4]):
        assert script(values) == skipping(values)
