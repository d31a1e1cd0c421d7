"""Functions of ``torch.compile`` that set variables of the functions around them, and of modules: at the end of a program, as Python
does.
"""

import sys

import pytest
import torch
from compiling import programs_run  # noqa: F401
from torch._dynamo import exc


def counter():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * n

    return f, lambda: n


def state():
    held = torch.zeros(2)

    def f(x):
        nonlocal held
        held = held * 0.5 + x
        return held + 1

    return f, lambda: held


def best():
    found = None

    def f(x):
        nonlocal found
        found = x if found is None else torch.maximum(found, x)
        return found

    return f, lambda: found


def by_a_function_within():
    total, n = torch.zeros(2), 3

    def f(x):
        def add(y):
            nonlocal total
            total = total + y * n

        add(x)
        add(x * 2)
        return total * n

    return f, lambda: total


def by_a_function_that_is_called():
    past = ()

    def note(x):
        nonlocal past
        past = (*past[-1:], x.sum())
        return x

    def f(x):
        return note(x) + len(past) + note(x * 2)

    return f, lambda: past


def in_a_branch():
    flag, n = 0, 5

    def f(x):
        nonlocal flag
        if x.shape[0] == 2:
            flag = x.sum()
        return x + n

    return f, lambda: flag


def by_a_loop_and_in_a_tuple():
    i, a, b = 0, 0, 0

    def f(x):
        nonlocal i, a, b
        for i in range(3):
            x = x + i
        a, (b, *_) = x.sum(), (x, 1, 2)
        return x * i

    return f, lambda: (i, a, b)


def deleted():
    v = 1

    def f(x):
        nonlocal v
        v = x
        w = v * 2
        del v
        v = w
        return v

    return f, lambda: v


def named_like_one_within():
    n = 0

    def f(x):
        nonlocal n
        n += 1

        def inner():
            n = 5

            def innermost():
                nonlocal n
                n = n + 1

            innermost()
            return n

        return x * inner() + n

    return f, lambda: n


def without_a_value_at_first():
    def f(x):
        nonlocal n
        try:
            found = n
        except NameError:
            found = 3
        n = found + 1
        return x * n

    if False:
        n = 0
    return f, lambda: n


MAKERS = [
    counter,
    state,
    best,
    by_a_function_within,
    by_a_function_that_is_called,
    in_a_branch,
    by_a_loop_and_in_a_tuple,
    deleted,
    named_like_one_within,
    without_a_value_at_first,
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("whole", [True, False])
def test_variables_of_functions_around_are_set(make, whole):
    results = []
    for compiled in (False, True):
        function, peek = make()
        called = torch.compile(function, fullgraph=whole) if compiled else function
        results.append(
            [
                (str(called(x)), str(peek()))
                for x in (torch.ones(2), torch.full((2,), 3.0), torch.ones(2), torch.ones(1))
            ]
        )
    assert results[0] == results[1]


def test_what_is_stored_is_the_object_that_is_returned():
    function, peek = best()
    compiled, x = torch.compile(function, fullgraph=True), torch.ones(2)
    assert compiled(x) is x and peek() is x


def test_nothing_is_set_by_a_program_that_raises():
    n = 0

    def f(x, i):
        nonlocal n
        n = n + 1
        return x[i]

    compiled = torch.compile(f, fullgraph=True, dynamic=False)
    compiled(torch.ones(2), torch.tensor([1]))
    with pytest.raises(IndexError):
        compiled(torch.ones(2), torch.tensor([7]))
    assert n == 2  # by the function as it was written, which says what is wrong


def test_both_branches_of_a_graph_set_no_variable():
    def f(x):
        n = 0

        def more(y):
            nonlocal n
            n = 1
            return y * 2

        def less(y):
            nonlocal n
            n = 2
            return y * 3

        return torch.cond(x.sum() > 4, more, less, (x,)) + n

    with pytest.raises(
        exc.Unsupported, match="a branch or a loop of the graph sets n, a variable of a function around"
    ):
        torch.compile(f, fullgraph=True)(torch.ones(2))
    compiled = torch.compile(f)
    for x in (torch.ones(2), torch.full((2,), 5.0)):
        assert torch.equal(compiled(x), f(x))


COUNT, STATE = 0, torch.zeros(2)


def count(x):
    global COUNT
    COUNT += 1
    return x * COUNT


def keep(x):
    global STATE
    STATE = STATE * 0.5 + x
    return STATE + sys.modules[__name__].STATE


def make(x):
    global MADE
    MADE = x.sum()
    return x + MADE


def remove(x):
    global MADE
    MADE = x
    del MADE
    return x * 2


def within(x):
    n = 1

    def inner():
        nonlocal n
        global COUNT
        n += 1
        COUNT = COUNT + n

    inner()
    inner()
    return count(x) * n + COUNT


def sometimes(x):
    global COUNT
    if x.shape[0] == 2:
        COUNT = 100
    return x + 1


def of_another_name(x):
    COUNT = 1

    def inner():
        return COUNT

    def outer():
        global COUNT
        COUNT = COUNT + 2

    outer()
    return x * inner()


def test_a_variable_of_a_module_is_told_from_one_of_the_same_name(monkeypatch):
    monkeypatch.setitem(globals(), "COUNT", 0)
    compiled = torch.compile(of_another_name)
    assert [(str(compiled(torch.ones(2))), COUNT) for _ in range(3)] == [("tensor([1., 1.])", n) for n in (2, 4, 6)]
    with pytest.raises(exc.Unsupported, match="sets COUNT, a variable of the module that has the name of another one"):
        torch.compile(of_another_name, fullgraph=True)(torch.ones(2))


@pytest.mark.parametrize("function", [count, keep, make, remove, within, sometimes])
@pytest.mark.parametrize("whole", [True, False])
def test_variables_of_modules_are_set(function, whole, monkeypatch):
    space, results = globals(), []
    for called in (function, torch.compile(function, fullgraph=whole)):
        monkeypatch.setitem(space, "COUNT", 0)
        monkeypatch.setitem(space, "STATE", torch.zeros(2))
        monkeypatch.delitem(space, "MADE", raising=False)
        results.append([])
        for x in (torch.ones(2), torch.full((2,), 3.0), torch.ones(2), torch.ones(1)):
            results[-1].append([str(called(x)), COUNT, str(STATE), str(space.get("MADE"))])
    space.pop("MADE", None)
    assert results[0] == results[1]
