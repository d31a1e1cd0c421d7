"""Functions that torch.compile leaves as they were written are called as if they were not compiled."""

import gc
import inspect
import threading
import weakref

import pytest
import torch


def reads(x, k=2, *, scale=3.0):
    pick = lambda v: v.item()  # with a function in it, it is not cut
    return x * k * scale + pick(x.sum())


def left_alone(f, *args):
    g = torch.compile(f)
    for _ in range(3):
        g(*args)
    assert g._compiled.reason is not None and g._compiled.parts is None
    return g


def test_a_call_goes_to_the_functions_own_code_and_reset_leads_it_back():
    x = torch.arange(3.0)
    g = left_alone(reads, x)
    assert g.__code__ is reads.__code__
    assert torch.equal(g(x), reads(x)) and torch.equal(g(x, 5, scale=0.5), reads(x, 5, scale=0.5))
    with pytest.raises(TypeError, match="unexpected keyword argument 'wide'"):
        g(x, wide=1)
    torch.compiler.reset()
    assert g.__code__ is not reads.__code__
    assert torch.equal(g(x, scale=0.25), reads(x, scale=0.25)) and g._compiled.captures == 1


def test_while_it_is_captured_it_takes_the_functions_arguments_and_names_them():
    def f(a, b=1.5, *rest, c=2.0, **more):
        return a * b + c + sum(rest) + sum(more.values())

    g = torch.compile(f)
    x = torch.ones(2)
    for _ in range(3):
        assert torch.equal(g(x), f(x)) and torch.equal(g(x, 2, 3, c=4, d=5), f(x, 2, 3, c=4, d=5))
    assert inspect.signature(g) == inspect.signature(f)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        g()


def test_variables_of_the_function_around_it_are_shared():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        pick = lambda v: v.item()
        return x + pick(x.sum()) * count

    g = left_alone(f, torch.ones(2))
    before = count
    g(torch.ones(2))
    assert count == before + 1 and g.__code__ is f.__code__


def test_nothing_keeps_a_function_that_calls_itself():
    def make():
        @torch.compile
        def f(x, n):
            return x if n == 0 else f(x + 1, n - 1)

        f(torch.zeros(2), 3)
        return weakref.ref(f)

    torch.compiler.reset()
    gone = make()
    torch.compiler.reset()
    gc.collect()
    assert gone() is None


def test_threads_that_call_while_the_code_changes():
    x = torch.arange(3.0)
    expected, wrong = reads(x, scale=2.0), []
    g = torch.compile(reads)

    def work():
        for _ in range(50):
            if not torch.equal(g(x, scale=2.0), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for _ in range(20):
        g._compiled.reset()
    for t in threads:
        t.join()
    assert not wrong
