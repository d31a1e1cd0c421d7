"""Functions that cannot be captured whole are captured in parts, around the statement that no graph can say."""

import copy

import pytest
import torch
from torch._dynamo.testing import CompileCounter

seen = []


@pytest.fixture(autouse=True)
def nothing_seen():
    seen.clear()


def note(value):
    seen.append(value)
    return value


def around_a_note(x, scale=2.0, *more, shift=1.0, **names):
    y = x.sin() * scale
    for each in more:
        y = y + each
    z = y + shift
    seen.append(len(names))
    return z.cos() + y * names.get("w", 1)


def branch_on_a_value(x):
    a = x * 2
    if a.sum() > 0:
        b = a + 1
    else:
        b = a - 1
    return (b * 3).tanh()


def two_breaks(x):
    a = (x + 1).exp()
    n = a.max().item()
    b = a / n
    seen.append(n)
    c = b.log()
    return c - c.mean(), n


def returns_within(x):
    a = x.relu()
    if a.sum() > 3:
        return a
    b = a - 1
    return b.sin().cos()


def loop_of_values(x):
    a = x.sigmoid()
    total = 0.0
    for row in a:
        total += float(row.sum())
    b = a * total
    return b.sqrt()


def writes(x):
    y = x.clone()
    y[0] = 5
    seen.append(1)
    y += 1
    x.mul_(2)
    return y + x


def trains(x):
    w = torch.full((3,), 0.5, requires_grad=True)
    loss = ((x * w).sum() - 1) ** 2
    loss.backward()
    g = w.grad * 2
    return g.exp()


def maybe_unset(x):
    if x.dim() == 2:
        y = x.sum(0)
    seen.append(2)
    return y.cos()


def with_blocks(x):
    with torch.no_grad():
        a = x * 3
    seen.append(torch.is_grad_enabled())
    with torch.no_grad():
        b = a + x
    return b.sin()


def raises_after(x):
    a = x.sin()
    seen.append(3)
    b = a.reshape(7, 7)
    return b * 2


def rebinds(x):
    x = x + 1
    x = x.relu()
    seen.append(x.shape)
    x = x * x
    return x.sum(0)


FUNCTIONS = [
    around_a_note, branch_on_a_value, two_breaks, returns_within, loop_of_values, writes, trains, maybe_unset, with_blocks,
    raises_after, rebinds,
]  # fmt: skip


def outcome(function, *args, **kwargs):
    """The result or error of a call, what it did to its arguments, and what it noted."""
    seen.clear()
    args = copy.deepcopy(args)
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        result = type(error), str(error)
    return result, args, list(seen)


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b) and a.requires_grad == b.requires_grad
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_parts_do_what_the_function_does(function, timed):
    torch.manual_seed(1)
    examples = [torch.randn(2, 3), torch.randn(2, 3) - 2, torch.randn(4, 3) + 2, torch.randn(3)]
    with torch._dynamo.config.patch(choose_faster=timed):
        compiled = torch.compile(function)
        for _ in range(8):
            for x in examples:
                assert equal(outcome(compiled, x), outcome(function, x))
        if not timed and function not in (maybe_unset, raises_after):
            assert compiled._compiled.parts is not None


def test_arguments_of_every_kind_reach_the_parts():
    compiled = torch.compile(around_a_note)
    x = torch.randn(3)
    for _ in range(3):
        assert equal(outcome(compiled, x), outcome(around_a_note, x))
        given = (x, 3.0, 1.0, 2.0)
        assert equal(outcome(compiled, *given, shift=4.0, w=2), outcome(around_a_note, *given, shift=4.0, w=2))


def counted(function, *args):
    counter = CompileCounter()
    compiled = torch.compile(function, backend=counter)
    for _ in range(4):
        compiled(*args)
    return counter, compiled._compiled


def test_each_part_is_a_graph():
    counter, compiled = counted(around_a_note, torch.randn(3))
    assert counter.frame_count == 2 and counter.op_count == 6
    assert "grows" in str(compiled.reason)
    counter, _ = counted(two_breaks, torch.randn(3))
    assert counter.frame_count >= 3


def test_fullgraph_names_the_line_and_cuts_nothing():
    with pytest.raises(torch._dynamo.exc.Unsupported, match="test_compile_parts.py"):
        torch.compile(branch_on_a_value, fullgraph=True)(torch.ones(2))


def test_explain_counts_graphs_and_breaks():
    said = torch._dynamo.explain(two_breaks)(torch.randn(3))
    assert said.graph_count == 3 and said.graph_break_count == 2
    assert "item" in said.break_reasons[0].reason


def test_a_graph_break_that_is_asked_for_cuts_there():
    def f(x):
        y = x.sin()
        torch._dynamo.graph_break()
        return y.cos()

    counter, _ = counted(f, torch.randn(2))
    assert (counter.frame_count, counter.op_count) == (2, 2)


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.calls = 0

    def forward(self, x):
        h = self.layer(x).relu()
        self.calls += 1
        return self.layer(h) * 2


def test_a_module_that_counts_is_captured_with_its_counter():
    torch.manual_seed(0)
    plain, counter = Counting(), CompileCounter()
    compiled = torch.compile(copy.deepcopy(plain), backend=counter)
    x = torch.randn(2, 3)
    for _ in range(3):
        assert torch.equal(plain(x), compiled(x))
    assert counter.frame_count == 1 and compiled._orig_mod.calls == plain.calls == 3
    plain(x).sum().backward()
    compiled(x).sum().backward()
    assert torch.equal(plain.layer.weight.grad, compiled._orig_mod.layer.weight.grad)


def test_hooks_of_a_module_run_though_it_is_captured_in_parts():
    compiled = torch.compile(Counting())
    x = torch.randn(2, 3)
    for _ in range(3):
        compiled(x)
    compiled._orig_mod.register_forward_hook(lambda module, args, out: out * 0)
    assert compiled(x).abs().sum() == 0


def test_an_error_in_a_part_names_the_layer_and_the_line():
    compiled = torch.compile(Counting())
    for _ in range(3):
        compiled(torch.randn(2, 3))
    messages = []
    for model in (Counting(), compiled):
        with pytest.raises(RuntimeError) as caught:
            model(torch.randn(2, 4))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_variables_around_a_function_are_those_of_the_moment():
    scale = 2.0

    def f(x):
        y = x * scale
        note(1)
        seen.append(y)
        return y + scale

    compiled = torch.compile(f)
    x = torch.ones(2)
    for _ in range(3):
        assert compiled(x).tolist() == f(x).tolist() == [4, 4]
    scale = 3.0
    assert compiled(x).tolist() == f(x).tolist() == [6, 6]


def test_functions_that_keep_their_variables_are_not_cut():
    def f(x):
        y = x + 1
        later = lambda: y * 2
        seen.append(1)
        y = y * 10
        return later()

    compiled = torch.compile(f)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), f(torch.ones(2)))
    assert compiled._compiled.parts is None


def test_functions_that_look_at_their_variables_are_not_cut():
    def f(x):
        y = x + 1
        seen.append(1)
        z = y * 2
        return len(locals()), z

    compiled = torch.compile(f)
    for _ in range(3):
        assert equal(compiled(torch.ones(2)), f(torch.ones(2)))
    assert compiled._compiled.parts is None


def test_reset_forgets_the_parts():
    compiled = torch.compile(around_a_note)
    compiled(torch.ones(2))
    assert compiled._compiled.parts is not None
    torch.compiler.reset()
    assert compiled._compiled.parts is None and compiled._compiled.reason is None


class Deep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            [torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()) for _ in range(2)]
        )
        self.counting = Counting()

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            if x.sum() > 100:
                return x
        return self.counting(x) + 1


def test_what_a_statement_calls_is_captured_by_itself():
    torch.manual_seed(0)
    plain, counter = Deep(), CompileCounter()
    compiled = torch.compile(copy.deepcopy(plain), backend=counter)
    x = torch.randn(2, 3)
    for _ in range(4):
        assert torch.equal(plain(x), compiled(x))
    # Two layers in the loop, and the module that counts.
    assert counter.frame_count == 3
    assert compiled._orig_mod.counting.calls == plain.counting.calls


def down(x, n):
    if x.sum() > 0 and n > 0:
        return down(x - 1, n - 1) * 2
    return (x * 3).sin()


def test_a_recursive_function_is_captured_where_it_ends():
    compiled = torch.compile(down)
    for n in (0, 3, 5, 3):
        for x in (torch.ones(3) * 4, -torch.ones(3)):
            assert torch.equal(compiled(x, n), down(x, n))


def breaks_by_itself(x):
    x = x.sin()
    torch._dynamo.graph_break()
    return x.cos()


def prints_between(x):
    y = x.sin() + 1
    print("between")
    return y * 2


def asks_and_goes_two_ways(x, k=1):
    y = x * 2
    if y.mean() > 0:
        z = y + 1
    else:
        z = y - 1
        if k:
            z = z * 4
    w = z.sin()
    return w + k


def calls_what_breaks(x):
    y = x.exp()
    z = breaks_by_itself(y)
    return z + y


@pytest.mark.parametrize(
    "function, graphs, calls",
    [(breaks_by_itself, 2, 2), (prints_between, 2, 3), (asks_and_goes_two_ways, 2, 6), (calls_what_breaks, 4, 4)],
)
def test_a_backend_sees_the_graphs_of_parts_at_the_first_call(function, graphs, calls):
    counter, x = CompileCounter(), torch.tensor([0.5, 1.0])
    assert torch.equal(torch.compile(function, backend=counter)(x), function(x))
    assert (counter.frame_count, counter.op_count) == (graphs, calls)


def test_both_ways_of_a_question_are_captured():
    counter = CompileCounter()
    compiled = torch.compile(asks_and_goes_two_ways, backend=counter)
    for x in (torch.ones(2), -torch.ones(2), torch.ones(2)):
        for k in (1, 0):
            assert torch.equal(compiled(x, k), asks_and_goes_two_ways(x, k))
    assert counter.frame_count > 2


def test_explain_runs_a_function_once_where_its_breaks_are_plain():
    found = torch._dynamo.explain(breaks_by_itself)(torch.ones(2))
    assert (found.graph_count, found.graph_break_count, found.op_count) == (2, 1, 2)


def test_hooks_of_the_compiled_module_run():
    net = torch.nn.Linear(2, 2)
    compiled, x = torch.compile(net, backend="eager"), torch.ones(1, 2)
    before = compiled(x)
    with_hook = compiled.register_forward_hook(lambda module, args, out: out * 10)
    assert torch.equal(compiled(x), before * 10) and torch.equal(net(x), before)
    with_hook.remove()
    with_hook = compiled.register_forward_pre_hook(lambda module, args: (args[0] * 0,))
    assert torch.allclose(compiled(x), net.bias)
    with_hook.remove()
    assert torch.equal(compiled(x), before)


def test_what_has_to_be_captured_whole_is_refused_at_a_break():
    assert torch._dynamo.optimize_assert(CompileCounter())(lambda x: x * 2)(torch.ones(1)).item() == 2
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch._dynamo.optimize_assert(CompileCounter())(breaks_by_itself)(torch.ones(1))


def counts_up(x, most=10.0):
    turns = 0
    while x.sum() < most:
        y = x * 2
        x = y + 1
        turns += 1
    return x.relu(), turns


def keeps_the_last(x):
    while x.sum() < 40:
        if x.sum() > 20:
            x = x + last  # noqa: F821 (set in an earlier turn)
        last = x * 2  # noqa: F841
        x = x + 1
    return x


@pytest.mark.parametrize("start", [0.5, 3.0, 100.0])
def test_the_turns_of_a_loop_that_asks_a_tensor_are_one_program(start):
    counter = CompileCounter()
    compiled = torch.compile(counts_up, backend=counter)
    for _ in range(3):
        found, expected = compiled(torch.full((3,), start)), counts_up(torch.full((3,), start))
        assert torch.equal(found[0], expected[0]) and found[1] == expected[1]
    assert counter.frame_count <= 4  # before it, a turn (at most two, since it counts), and after it


def test_a_loop_that_reads_what_an_earlier_turn_set_runs_as_it_was_written():
    assert torch.equal(torch.compile(keeps_the_last)(torch.ones(3)), keeps_the_last(torch.ones(3)))
