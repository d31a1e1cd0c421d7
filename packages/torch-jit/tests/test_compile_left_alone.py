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


# --- what a program can do in place of what no graph says ---


def test_an_error_says_what_stands_in_the_way_where_and_the_way_out():
    def branches(x):
        return x + 1 if x.sum() > 3 else x

    def repeats(x):
        while x.sum() < 10:
            x = x + 1
        return x

    cases = {
        branches: r"__bool__ of a tensor is asked for \(.*:\d+ in branches\); torch.where chooses by values, torch.cond and",
        repeats: r"__bool__ of a tensor is asked for \(.* in repeats\); .*torch.while_loop keep both ways in the program; without fullgraph",
        (lambda x: x * x.numpy().sum()): r"numpy of a tensor is asked for .*; keep the number in its tensor",
        (
            lambda x: x if x.sum().item() > 3 else -x
        ): r"that values decide is a condition \(.*\); torch.where chooses by values",
        (lambda x: print(x.shape) or x): r"print\(\) is called .*; print outside of the compiled function",
        (lambda x: x.tensor_split(x.long())): r"tensor_split goes by the values of .*; torch.where\(mask, x, 0\)",
    }
    for function, text in cases.items():
        with pytest.raises(torch._dynamo.exc.Unsupported, match=text):
            torch.compile(function, fullgraph=True)(torch.arange(6.0))


def test_a_loop_over_values_runs_as_it_was_written_and_what_follows_is_captured():
    def f(x):
        while x.sum() < 10:
            x = x + 1
        return x * 2

    compiled = torch.compile(f)
    for x in (torch.zeros(3), torch.ones(3), torch.full((3,), 9.0)):
        assert torch.equal(compiled(x), f(x))


def test_nothing_is_compiled_while_the_configuration_says_so():
    f = lambda x: x + 1
    with torch._dynamo.config.patch(disable=True):
        assert torch.compile(f) is f
    assert torch.compile(f) is not f


# --- the module that stands around a compiled one ---

X = torch.arange(3.0)


@pytest.mark.parametrize("stance", ["default", "force_eager"])
def test_a_compiled_module_is_called_as_the_module_is(stance):
    class Net(torch.nn.Module):
        def forward(self, x, *more, scale=1.0, **names):
            return x * scale + len(more), sorted(names)

    net = Net()
    compiled = torch.compile(net)
    with torch.compiler.set_stance(stance):
        for call in (
            lambda f: f(X),
            lambda f: f(X, X, scale=2.0, other=1),
            lambda f: f(x=X, scale=3.0),
            lambda f: f(X, *[X] * 9),
        ):
            assert str(call(compiled)) == str(call(net))
        with pytest.raises(TypeError, match="forward"):
            compiled()
        seen = []
        handles = [net.register_forward_hook(lambda *given: seen.append("inner"))]
        compiled(X)
        handles.append(compiled.register_forward_hook(lambda *given: seen.append("outer")))
        compiled(X)
        assert seen == ["inner", "inner", "outer"]
        net.forward = lambda x: x - 1
        for each in handles:
            each.remove()
        assert torch.equal(torch.compile(net)(X), X - 1) and not compiled._hooked


def test_an_error_in_a_module_that_runs_as_it_was_written_names_the_layer():
    net = torch.compile(torch.nn.Sequential(torch.nn.Linear(2, 3)))
    with torch.compiler.set_stance("force_eager"), pytest.raises(RuntimeError) as error:
        net(torch.ones(1, 5))
    assert "Linear" in "".join(getattr(error.value, "__notes__", error.value.args))
