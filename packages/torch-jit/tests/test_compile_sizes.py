"""Programs for several sizes: the second one makes a program for all that follow, and the results are always Python's."""

import random

import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def _as_programs(monkeypatch):
    """Programs are run even where the function is faster as it was written."""
    monkeypatch.setattr(torch._dynamo.config, "choose_faster", False)
    torch.compiler.reset()


def captures(function):
    return function._compiled.captures if hasattr(function, "_compiled") else function._compiled_forward.captures


def check(function, sizes, most=2, **options):
    """The compiled function gives what the function gives, and is captured as often as is said."""
    compiled = torch.compile(function, **options)
    for size in sizes:
        x = torch.randn(size)
        assert torch.equal(compiled(x), function(x)), size
    assert captures(compiled) <= most, compiled._compiled.reason
    return compiled


def test_a_function_that_reads_no_sizes_is_captured_twice():
    check(lambda x: (x * 2 + 1).relu().sum(0), [(3, 4), (5, 4), (7, 4), (64, 4), (2, 4)])


def test_sizes_become_arithmetic_of_the_program():
    def f(x):
        b, t, c = x.shape
        heads = x.view(b, t, 4, c // 4).transpose(1, 2)
        return heads.reshape(b * 4, t, -1) + torch.arange(t).view(t, 1) * x.size(0)

    check(f, [(2, 3, 8), (4, 5, 8), (3, 9, 8), (8, 2, 8), (2, 8, 8)])


def test_a_size_that_is_compared_is_guarded():
    def f(x):
        return x + 1 if x.shape[0] > 10 else x - 1

    check(f, [(3,), (4,), (9,), (11,), (12,), (5,), (10,)], most=4)


def asks_types(x):
    n = x.shape[0]
    named = {int: 1}.get(type(n), 2) + issubclass(type(n + 1), int)
    return (x * named if type(n) is int else -x), type(x.shape), isinstance(x.size(), torch.Size)


def test_a_size_has_the_type_of_an_int():
    for dynamic in (None, True):
        compiled = torch.compile(asks_types, dynamic=dynamic)
        for size in (3, 5, 8, 2):
            x = torch.ones(size)
            (found, *rest), (expected, *told) = compiled(x), asks_types(x)
            assert torch.equal(found, expected) and rest == told


def test_an_assertion_about_a_size_holds_or_is_raised():
    def f(x):
        assert x.size(1) <= 8, f"{x.size(1)} are too many"
        return x[:, : x.size(1) - 1] * 2

    compiled = check(f, [(2, 3), (2, 4), (2, 8)])
    with pytest.raises(AssertionError, match="9 are too many"):
        compiled(torch.ones(2, 9))


def test_sizes_of_zero_and_one_have_programs_of_their_own():
    check(lambda x: x - x.sum(0), [(3, 2), (4, 2), (1, 2), (0, 2), (5, 2)], most=4)


def test_loops_over_a_size_stay_programs_of_one_size():
    def f(x):
        total = x[0]
        for i in range(1, x.shape[0]):
            total = total + x[i] * i
        return total

    check(f, [(3, 2), (4, 2), (5, 2), (3, 2)], most=3)


def test_a_size_that_becomes_a_float_or_a_text_stays_a_number():
    check(lambda x: x * (x.shape[0] ** 0.5) / float(x.shape[0]), [(3,), (4,), (5,)], most=3)
    check(lambda x: x + len(f"{x.shape[0]}"), [(3,), (4,), (12,), (100,)], most=4)


def test_two_sizes_that_are_one_number_are_not_taken_for_one():
    def f(x, y):
        return x.view(x.shape[0], -1).sum(1) * y.shape[0]

    compiled = torch.compile(f)
    for a, b in ((3, 3), (4, 4), (5, 6), (6, 5)):
        x, y = torch.randn(a, 2), torch.randn(b)
        assert torch.equal(compiled(x, y), f(x, y))


def test_a_list_of_pieces_is_as_long_as_it_is():
    check(lambda x: torch.stack(x.split(2)).sum(0), [(4, 3), (6, 3), (8, 3), (10, 3)], most=4)
    check(lambda x: sum(x.unbind(0)), [(4, 3), (6, 3), (8, 3)], most=3)


def test_layers_take_batches_of_any_size_and_train():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 2))
    compiled = torch.compile(net)
    for batch in (3, 5, 7, 16):
        x = torch.randn(batch, 4, requires_grad=True)
        expected = net(x).square().mean()
        wanted = torch.autograd.grad(expected, [x, *net.parameters()])
        got = compiled(x).square().mean()
        assert torch.equal(got, expected)
        for a, b in zip(torch.autograd.grad(got, [x, *net.parameters()]), wanted):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_attention_takes_any_batch_and_length():
    def attend(x, w):
        b, t, c = x.size()
        q, k, v = (x @ w).split(c, dim=2)
        q, k, v = (each.view(b, t, 2, c // 2).transpose(1, 2) for each in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (c // 2) ** -0.5
        mask = torch.ones(t, t, dtype=torch.bool).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
        return (scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(b, t, c)

    compiled, w = torch.compile(attend), torch.randn(8, 24)
    for b, t in ((2, 3), (4, 5), (3, 7), (5, 11)):
        x = torch.randn(b, t, 8)
        assert torch.equal(compiled(x, w), attend(x, w))


def test_dynamic_false_and_static_marks_keep_sizes_apart():
    check(lambda x: x * 2, [(3,), (4,), (5,)], most=3, dynamic=False)
    compiled = torch.compile(lambda x: x * 2)
    for n in (3, 4, 5):
        x = torch.randn(n)
        torch._dynamo.mark_static(x, 0)
        compiled(x)
    assert captures(compiled) == 3


def test_the_setting_turns_it_off(monkeypatch):
    monkeypatch.setattr(torch._dynamo.config, "automatic_dynamic_shapes", False)
    check(lambda x: x * 2, [(3,), (4,), (5,)], most=3)


def test_another_layout_of_memory_takes_the_same_program():
    compiled = check(lambda x: x.reshape(-1) * 2, [(3, 4), (5, 4)])
    x = torch.randn(4, 7).t()
    assert torch.equal(compiled(x), x.reshape(-1) * 2)
    x = torch.randn(14, 4)[::2]
    assert torch.equal(compiled(x), x.reshape(-1) * 2)
    assert captures(compiled) == 2


def test_a_view_that_memory_does_not_allow_raises_as_in_python():
    compiled = check(lambda x: x.view(-1) * 2, [(3, 4), (5, 4)])
    with pytest.raises(RuntimeError, match="view"):
        compiled(torch.randn(4, 7).t())


def test_stances_say_when_a_function_is_captured():
    double = torch.compile(lambda x: x * 2)
    with torch.compiler.set_stance("eager_on_recompile"):
        assert double(torch.ones(2)).tolist() == [2, 2]
    assert captures(double) == 0
    with torch.compiler.set_stance("eager_then_compile"):
        double(torch.ones(2))
        assert captures(double) == 0
        double(torch.ones(2))
        assert captures(double) == 1
    with torch.compiler.set_stance("eager_on_recompile"):
        assert double(torch.ones(3)).tolist() == [2, 2, 2]
        assert double(torch.ones(2)).tolist() == [2, 2]
    with (
        torch.compiler.set_stance("fail_on_recompile"),
        pytest.raises(RuntimeError, match="Detected recompile"),
    ):
        double(torch.ones(3))
    assert captures(double) == 1


def test_dims_that_are_marked_have_to_be_there():
    x = torch.ones(2, 3)
    torch._dynamo.mark_dynamic(x, -1)
    assert x._dynamo_dynamic_indices == {1}
    with pytest.raises(IndexError, match="dim 2 of a tensor of 2 dims"):
        torch._dynamo.mark_dynamic(x, 2)
    with pytest.raises(TypeError, match="expected a tensor"):
        torch._dynamo.mark_dynamic([1], 0)


def test_the_older_name_of_compile_takes_a_backend_first():
    f = torch._dynamo.optimize("eager", nopython=True)(lambda x: x + 1)
    assert f(torch.ones(1)).tolist() == [2]
    with pytest.raises(NotImplementedError, match="guards are not told"):
        torch._dynamo.optimize(guard_fail_fn=print)


def test_a_backend_of_ones_own_gets_a_graph_for_each_set_of_sizes():
    graphs = []

    def backend(graph, inputs):
        graphs.append([tuple(each.shape) for each in inputs])
        return graph.forward

    check(lambda x: x * 2 + 1, [(3,), (4,), (5,), (4,)], most=3, backend=backend)
    assert graphs == [[(3,)], [(4,)], [(5,)]]


def test_a_function_whose_sizes_are_fixed_is_not_watched_again_and_again():
    compiled = check(lambda x: x * float(x.shape[0]), [(n,) for n in range(2, 9)], most=7)
    assert compiled._compiled.in_vain == 2


class Sized:
    """Random functions of two matrices that look at their sizes."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self, depth=0):
        pick = self.random.choice
        leaf = pick(
            ["x.shape[0]", "x.size(1)", "y.shape[1]", "y.size(0)", "len(y)", "x.numel()", "2", "3", "z.shape[0]"]
        )
        if depth > 1 or self.random.random() < 0.5:
            return leaf
        a, b = self.number(depth + 1), self.number(depth + 1)
        return pick([f"({a} + {b})", f"({a} * {b})", f"({a} - {b})", f"({a} // 2)", f"max({a}, {b})", f"({a} % 5)"])

    def line(self):
        pick = self.random.choice
        n = self.number()
        return pick([
            "z = x.t() @ x", "z = z.relu() + 1", f"z = z * {n}", f"z = z + torch.ones({n} % 4 + 1, 1).sum()",
            "z = z.reshape(-1)[None]", f"z = z[: {n} % 3 + 1]", f"z = z - 1 if {n} > {self.number()} else z + 2",
            f"z = torch.cat([z, torch.zeros({n} % 3, z.shape[-1])])", "z = z.flatten().unsqueeze(0)",
            "z = z.view(z.shape[0], -1)", "z = z.sum(0, keepdim=True)", f"z = z.expand({n} % 4 + z.shape[0], -1) if z.shape[0] == 1 else z",
            "z = torch.stack(z.chunk(2)[:1]).squeeze(0)", f"assert {n} != -1",
        ])  # fmt: skip

    def text(self):
        lines = [self.line() for _ in range(self.random.randint(2, 6))]
        return "def f(x, y):\n    z = x\n    " + "\n    ".join(lines) + "\n    return z, x * 2\n"


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("seed", range(60))
def test_random_functions_of_sizes_give_what_python_gives(seed, dynamic, tmp_path):
    made = Sized(seed)
    path = tmp_path / "sized.py"
    path.write_text("import torch\n" + made.text())
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    f = space["f"]
    compiled = torch.compile(f, dynamic=dynamic)
    draw = random.Random(seed)
    for _ in range(8):
        x = torch.randn(draw.randint(1, 6), draw.randint(1, 6))
        y = torch.randn(draw.randint(1, 6), draw.randint(1, 6))
        try:
            expected = f(x, y)
        except Exception as error:
            with pytest.raises(type(error)):
                compiled(x, y)
            continue
        got = compiled(x, y)
        for a, b in zip(got, expected):
            assert a.shape == b.shape, made.text()
            assert torch.equal(a, b) or torch.allclose(a, b, equal_nan=True), made.text()


def test_dynamic_true_makes_the_first_program_for_all_sizes():
    check(lambda x: (x * 2 + 1).relu().sum(0), [(3, 4), (5, 7), (7, 4), (64, 2)], most=1, dynamic=True)

    def heads(x):
        b, t, c = x.shape
        return x.view(b, t, 4, c // 4).transpose(1, 2).reshape(b * 4, t, -1)

    check(heads, [(2, 3, 8), (4, 5, 8), (3, 9, 16)], most=1, dynamic=True)


def test_with_dynamic_true_sizes_that_a_layer_holds_to_stay():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    compiled = torch.compile(net, dynamic=True)
    for size in ((5, 4), (9, 4), (2, 4), (64, 4)):
        x = torch.randn(size)
        assert torch.equal(compiled(x), net(x))
    assert captures(compiled) == 1


def test_a_dim_that_is_marked_may_change_from_the_first_call_on():
    function = torch.compile(lambda x, y: x @ y)
    for n in (3, 7, 100, 2):
        x, y = torch.randn(n, 5), torch.randn(5, 6)
        torch._dynamo.mark_dynamic(x, 0)
        assert torch.equal(function(x, y), x @ y)
    assert captures(function) == 1
    function(torch.randn(4, 8), torch.randn(8, 6))  # another size that was not marked
    assert captures(function) == 2


def test_dims_of_the_size_of_one_that_is_marked_change_with_it_where_they_have_to():
    function = torch.compile(lambda x, y: x + y)
    for n in (3, 7, 12):
        x, y = torch.randn(n, 5), torch.randn(n, 5)
        torch._dynamo.mark_dynamic(x, 0)
        assert torch.equal(function(x, y), x + y)
    assert captures(function) == 1


def test_a_mark_says_between_which_sizes():
    function = torch.compile(lambda x: x * 2)
    for n, count in ((4, 1), (8, 1), (3, 1), (9, 2), (5, 2)):
        x = torch.randn(n)
        torch._dynamo.mark_dynamic(x, 0, min=3, max=8)
        assert torch.equal(function(x), x * 2)
        assert captures(function) == count, n
    with pytest.raises(TypeError, match="max must be an int, got 'many'"):
        torch._dynamo.mark_dynamic(torch.ones(2), 0, max="many")


def test_what_cannot_be_general_is_captured_for_its_size_alone():
    def f(x):
        return sum(x[i] * i for i in range(x.shape[0]))

    check(f, [(3, 2), (4, 2), (5, 2)], most=3, dynamic=True)

    def draws(x):
        return x + torch.rand(x.shape)

    compiled = torch.compile(draws, dynamic=True)
    for n in (3, 5):
        x = torch.ones(n)
        torch.manual_seed(1)
        wanted = draws(x)
        torch.manual_seed(1)
        assert torch.equal(compiled(x), wanted)


def test_views_and_broadcast_tensors_are_no_reason_to_fail():
    function = torch.compile(lambda x: x.sum(-1) + 1, dynamic=True)
    for x in (torch.ones(3).expand(4, 3), torch.randn(4, 6)[:, ::2], torch.randn(5, 3).t(), torch.randn(0, 3)):
        assert torch.equal(function(x), x.sum(-1) + 1)


def test_sizes_of_results_are_compared_as_what_they_follow_from():
    def f(x):
        y = torch.cat([x.relu(), x[:, :2]], 1)
        z = y.reshape(-1, 2)
        if z.shape[0] > 14 and y.shape[1] != 9:
            return z * y.shape[1]
        return z + len(z)

    check(f, [(2, 4), (3, 4), (4, 4), (6, 4), (8, 4), (7, 4)], most=3)


def test_a_table_that_ends_bounds_the_sizes_of_a_program():
    table = torch.arange(12.0)

    def f(x):
        position = table[: x.shape[0]]
        return x + 1 if position.shape[0] == x.shape[0] else x[:12] * position

    check(f, [(3,), (5,), (9,), (12,), (7,)], most=2)
    check(f, [(3,), (5,), (12,), (13,), (20,), (14,)], most=4)


def test_sizes_of_results_that_do_not_change_are_numbers():
    def f(x):
        y = x @ torch.ones(4, 8)
        return sum(y[:, i] for i in range(y.size(1) // 4)) * y.size(1) ** -0.5 + float(y.size(1)) + len(f"{y.size(1)}")

    check(f, [(2, 4), (4, 4), (7, 4), (9, 4)])


def test_a_result_has_sizes_of_the_call():
    compiled = torch.compile(lambda x: (x * 2, x.view(-1).shape[0] + 1, {"length": x[1:].shape[0]}))
    for n in (3, 5, 7, 11):
        doubled, count, names = compiled(torch.ones(n, 2))
        assert (count, names["length"], type(count)) == (2 * n + 1, n - 1, int)
        assert doubled.shape == (n, 2)
    assert captures(compiled) == 2


def test_random_numbers_are_drawn_once_where_a_list_has_as_many_items_as_sizes_say():
    def f(x):
        first = torch.dropout(x, 0.5, True).split(4)[0]
        return first + torch.rand(1)

    compiled = torch.compile(f)
    for n in (4, 3, 2, 8, 6):
        torch.manual_seed(n)
        expected = f(torch.ones(n))
        torch.manual_seed(n)
        assert torch.equal(compiled(torch.ones(n)), expected)


def test_dropout_between_parts_of_a_fixed_number_takes_any_length():
    def f(x):
        a, b = torch.dropout(x, 0.5, True).split(2, dim=1)
        return a * b

    compiled = torch.compile(f)
    for n in (3, 5, 7, 11):
        torch.manual_seed(n)
        expected = f(torch.ones(n, 4))
        torch.manual_seed(n)
        assert torch.equal(compiled(torch.ones(n, 4)), expected)
    assert captures(compiled) == 2


def test_a_new_tensor_that_is_written_to_has_any_size():
    def f(x):
        shifted = x.new_zeros(x.shape)
        shifted[1:] = x[:-1]
        return shifted.masked_fill_(shifted < 0, 0.0)

    check(f, [(3, 2), (5, 2), (7, 2), (2, 2)])


def test_a_write_to_an_argument_happens_once_at_each_size():
    def f(x):
        x.view(-1).add_(1)
        return x * 2

    compiled = torch.compile(f)
    for n in (3, 4, 5):
        x = torch.zeros(n)
        assert torch.equal(compiled(x), torch.full((n,), 2.0))
        assert torch.equal(x, torch.ones(n))


def test_one_tensor_as_two_arguments_changes_its_size_in_both():
    compiled = torch.compile(lambda x, labels: (x * 2 + labels).view(-1).shape[0] + x.sum() + labels.sum())
    for n in (3, 5, 7, 11):
        x = torch.ones(n, 2)
        assert compiled(x, labels=x) == 8 * n - 2 * n
    assert captures(compiled) == 2


def test_sizes_that_were_equal_and_are_not_have_a_program_of_their_own():
    def f(x, y):
        both = torch.cat([x, y.relu()])
        return both * (3 if both.shape[0] == 2 * x.shape[0] else 5)

    compiled = torch.compile(f)
    for a, b in ((3, 3), (4, 4), (6, 6), (5, 6), (7, 5), (8, 8)):
        x, y = torch.randn(a), torch.randn(b)
        assert torch.equal(compiled(x, y), f(x, y))


class Kept:
    """Keys that grow by one at each call."""

    def __init__(self):
        self.all = None

    def update(self, x):
        self.all = x if self.all is None else torch.cat([self.all, x], 1)
        return self.all


def decode(f, turns):
    kept, x, given = Kept(), torch.ones(1, 4, 2), []
    for _ in range(turns):
        y, length = f(x, kept, torch.ones(1, x.shape[1] + (0 if kept.all is None else kept.all.shape[1])))
        given.append((y, length, kept.all.clone()))
        x = y[:, -1:].sin()
    return given


def test_what_an_argument_keeps_grows_with_one_program():
    def f(x, kept, mask):
        keys = kept.update(x * 2)
        scores = (x @ keys.transpose(1, 2)) * mask[:, None]
        return scores.softmax(-1) @ keys, keys.shape[1]

    compiled = torch.compile(f, fullgraph=True)
    for (y, n, kept), (expected, m, wanted) in zip(decode(compiled, 12), decode(f, 12)):
        assert torch.equal(y, expected)
        assert torch.equal(kept, wanted)
        assert n == m
    assert captures(compiled) == 3


def test_an_argument_is_changed_once_where_other_sizes_are_tried():
    class Box:
        def __init__(self):
            self.sums, self.last = [], None

    def f(x, box):
        box.last = x.cumsum(0)
        box.sums.append(box.last)
        return box.last * 2

    compiled, box = torch.compile(f, fullgraph=True), Box()
    for n in (3, 4, 5):
        box.sums.clear()
        compiled(torch.ones(n), box)
        assert len(box.sums) == 1
        assert box.sums[0] is box.last
        assert torch.equal(box.last, torch.arange(1.0, n + 1))
    assert captures(compiled) == 2


def test_a_tensor_of_a_size_that_does_not_change_is_made_anew():
    check(
        lambda x: x.sin() / torch.sqrt(torch.tensor(x.cos().size(-1), dtype=torch.float)),
        [(3, 4), (5, 4), (7, 4), (9, 4)],
    )


def test_an_operator_of_ones_own_looks_at_sizes_within():
    @torch.library.custom_op("sizes::padded", mutates_args=())
    def padded(x: torch.Tensor, more: int) -> torch.Tensor:
        out = torch.zeros(x.shape[0] + more, x.size(1))
        out[: len(x)] = x
        return out

    @padded.register_fake
    def _(x, more):
        return x.new_empty(x.shape[0] + more, x.shape[1])

    def f(x):
        y = padded(x * 2, x.relu().shape[0])
        return y + 1 if y.shape[0] == 2 * x.shape[0] else y

    check(f, [(3, 4), (5, 4), (7, 4), (2, 4)])


def test_sizes_that_a_result_has_are_guarded_where_they_follow_from_others():
    def f(x):
        y = x.flatten()[:17]
        return torch.cat([y, y[:1]]), y.shape[0]

    compiled = torch.compile(f)
    for shape in ((12, 3), (11, 3), (14, 4), (2, 4), (5, 3), (4, 4), (6, 3), (3, 9), (2, 3)):
        (got, n), (wanted, m) = compiled(x := torch.randn(shape)), f(x)
        assert torch.equal(got, wanted)
        assert n == m


@pytest.mark.parametrize("by", [2, 3, 5, 6, 7])
def test_sizes_that_are_rounded_follow_the_right_quotient(by):
    def f(x):
        y = torch.nn.functional.avg_pool1d(x[None], by, ceil_mode=True)[0]
        return y + y.shape[0], y.shape[0]

    compiled = torch.compile(f)
    for n in (10, 11, 12, 13, 20, 14, 30, 9, 41, 19, 7):
        (got, size), (wanted, right) = compiled(x := torch.randn(n)), f(x)
        assert torch.equal(got, wanted)
        assert size == right


@pytest.mark.parametrize("function", [lambda x: x.view(3, 2) + 1, lambda x: x if x.shape[0] == 3 else x + 1])
def test_a_size_that_is_marked_and_cannot_change_is_named(function):
    from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

    x = torch.ones(3, 2)
    torch._dynamo.mark_dynamic(x, 0)
    with pytest.raises(ConstraintViolationError, match=r"dim 0 of a tensor \(3, 2\) was said to change"):
        torch.compile(function, backend="eager")(x)
    y = torch.ones(3, 2)
    torch._dynamo.maybe_mark_dynamic(y, 0)
    assert torch.equal(torch.compile(function, backend="eager")(y), function(y))


def numbers(*sizes):
    return torch.arange(float(torch.Size(sizes).numel())).view(sizes)


#: tensors as they are made, with dims in another order, with gaps, and with elements that are one
LAYOUTS = [
    lambda: numbers(3, 4), lambda: numbers(4, 5), lambda: numbers(5, 4).t(), lambda: numbers(6, 1).expand(6, 3), lambda: numbers(6, 8)[:, ::2],
    lambda: numbers(2, 3).t(), lambda: numbers(1, 3).expand(4, 3), lambda: numbers(5, 6), lambda: numbers(7, 8).t(),
]  # fmt: skip


def written_through(x):
    made = x.contiguous()
    made.add_(1)
    return made * x


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", [lambda x: x.contiguous(), lambda x: x.t().contiguous(), written_through])
@pytest.mark.parametrize("first", range(4))
def test_what_is_contiguous_is_asked_at_each_size(function, dynamic, first):
    compiled = torch.compile(function, dynamic=dynamic)
    for make in LAYOUTS[first:] + LAYOUTS[:first]:
        x, same = make(), make()
        found, expected = compiled(x), function(same)
        assert torch.equal(found, expected) and torch.equal(x, same)
        assert found.stride() == expected.stride()
        assert (found.data_ptr() == x.data_ptr()) is (expected.data_ptr() == same.data_ptr())
