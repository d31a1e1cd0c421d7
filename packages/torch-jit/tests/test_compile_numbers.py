"""Ints and floats that change from call to call: at the second value of one a function is captured for all values."""

import math

import pytest
import torch
from torch import nn
from torch._dynamo import config

F = nn.functional
X = torch.arange(1.0, 7.0)
FLOATS = (0.1, 0.2, 0.3, 0.7, 2.0, -1.5)
INTS = (2, 3, 5, 9, 1, 0)


def multiplied(x, n):
    y = x.clone()
    y *= n
    y += n
    return y


def to_power(x, step):
    return x / (1 - 0.9**step) / math.sqrt(1 - 0.99**step)


#: what is done with a number: the function, and how many programs all values take
ONE_FOR_ALL = {
    "times": lambda x, n: x * n, "less": lambda x, n: n - x, "divided": lambda x, n: (x / (n + 8), (n + 3) / x), "power": lambda x, n: x**n,
    "alpha": lambda x, n: torch.add(x, x, alpha=n), "clamp": lambda x, n: x.clamp(n, n + 1), "arithmetic": lambda x, n: x * (1 - n) * (n * 2 + 1) / 4,
    "compared": lambda x, n: (x > n, n <= x), "where": lambda x, n: torch.where(x > n, x, n), "in place": multiplied,
    "int tensors": lambda x, n: x.long() * n, "no dims": lambda x, n: x.sum() * n, "a kind": lambda x, n: x * n if isinstance(n, (int, float)) else x,
    "result": lambda x, n: (x * n, n, n * 2 - 1), "negative": lambda x, n: x * -n + n, "lerp": lambda x, n: torch.lerp(x, x * 2, n),
    "fill": lambda x, n: torch.full_like(x, n) + n, "chosen": lambda x, n: {"a": x * n}["a"],
    "tensor": lambda x, n: torch.tensor(n) * x, "tensors": lambda x, n: torch.tensor([n, 1, n + 1]), "float": lambda x, n: x * float(n) + float(n + 1),
    "cosine": lambda x, n: x * 0.5 * (1 + math.cos(math.pi * n / 100)), "rounded": lambda x, n: (x * round(n / 3), int(n * 2), math.floor(n), math.ceil(n / 2)),
    "sign": lambda x, n: x * abs(n) + abs(n - 1), "exponent": lambda x, n: x * math.exp(-n) + math.tanh(n), "full": lambda x, n: torch.full((3, 2), n, dtype=torch.float64),
}  # fmt: skip
#: what no graph says of a number: each value has a program
EACH = {
    "text": lambda x, n: x * len(str(n)), "hash": lambda x, n: x * {n: 2}[n], "range": lambda x, n: x * len(range(int(n))),
}  # fmt: skip


@pytest.fixture(autouse=True)
def programs_are_kept(monkeypatch):
    monkeypatch.setattr(config, "choose_faster", False)


def same(found, expected):
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, torch.Tensor):
        return found.dtype == expected.dtype and torch.equal(found.nan_to_num(7), expected.nan_to_num(7))
    return type(found) is type(expected) and found == expected


def programs(function, calls, **options):
    compiled = torch.compile(function, **options)
    for args in calls:
        assert same(compiled(*args), function(*args)), args
    return len(compiled._compiled.programs)


@pytest.mark.parametrize("name", ONE_FOR_ALL)
@pytest.mark.parametrize("numbers", [FLOATS, INTS], ids=["floats", "ints"])
def test_the_second_value_makes_a_program_for_all(name, numbers):
    assert programs(ONE_FOR_ALL[name], [(X, n) for n in numbers], fullgraph=True) == 2


@pytest.mark.parametrize("name", EACH)
def test_what_no_graph_says_has_a_program_for_each_value(name):
    assert programs(EACH[name], [(X, n) for n in FLOATS]) == len(FLOATS)


def test_ints_become_sizes_and_places_of_dims_stay():
    assert programs(lambda x, n: torch.zeros(n).sum() + x.roll(n), [(X, n) for n in INTS]) == 2
    assert programs(lambda x, n: x[:n], [(X, n) for n in INTS]) == 2
    assert programs(lambda x, n: x * (n % 3) + n // 2, [(X, n) for n in INTS]) == 2


def written_at(x, n):
    y = x.clone()
    y[n] = 2
    y[n:] += 1
    return y


#: places in tensors that an int says
PLACES = {
    "item": lambda x, n: x[n], "column": lambda x, n: x.view(2, 3)[:, n % 3], "slice": lambda x, n: x[n : n + 2], "from the end": lambda x, n: x[-n - 1],
    "both": lambda x, n: x.view(2, 3)[n // 3, n % 3], "written": written_at, "new axis": lambda x, n: x[None, n:], "gathered": lambda x, n: x[torch.tensor([n, 0])],
    "one hot": lambda x, n: nn.functional.one_hot(torch.tensor(n), 6) * x, "put together": lambda x, n: torch.cat([x[:n], x[n + 1 :]]),
    "viewed": lambda x, n: x.repeat(n)[: n * 6].view(n, 6), "masked": lambda x, n: x.masked_fill(torch.arange(6) > n, -math.inf),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_places_in_tensors_are_ints_that_change(name):
    assert programs(PLACES[name], [(X, n) for n in (2, 3, 5, 1, 4, 2)], fullgraph=True) == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: torch.full((1, 3), n // 2),
        lambda x, n: torch.arange(1, 5, n // 2),
        lambda x, n: x.view(3, 2)[n // 2 - 1, 1],
        lambda x, n: x.view(2, 3).roll((1, n // 2), (0, 1)),
        lambda x, n: torch.full((n // 2, 1), 1),
        lambda x, n: x.view(2, 3)[0, n // 4],
        lambda x, n: x.view(2, 3)[n // 4, int(n * 0.25)],
    ],
)
def test_a_number_that_equals_another_one_in_two_calls_is_not_taken_for_it(function):
    programs(function, [(X, n) for n in (2, 3, 4, 5, 2, 7)])


def test_places_that_follow_from_floats_are_told_from_others():
    def f(x, t):
        y = x.view(2, 3).clone()
        y[0, int(t * 4) % 3] = 2
        return y

    programs(f, [(X, t) for t in (0.0, 0.75, 0.1, 0.25, 0.5, 1.0)])


def test_two_ints_that_are_one_in_two_calls_stay_two():
    programs(lambda x, i, j: x.view(2, 3)[i, j], [(X, 0, 0), (X, 1, 1), (X, 1, 2), (X, 0, 1)])
    programs(lambda x, i, j: x[i:j] * (i + 1), [(X, 1, 2), (X, 2, 3), (X, 1, 4), (X, 0, 2)])
    programs(lambda x, i, j: torch.full((i + 1, 2), j), [(X, 1, 2), (X, 2, 3), (X, 1, 3), (X, 0, 5)])


def test_calls_that_go_different_ways_do_not_keep_others_from_a_program_for_all():
    f = lambda x, n: x * (1 if n % 2 == 0 else -1) * n
    assert programs(f, [(X, n) for n in range(12)], fullgraph=True) == 4


def test_powers_and_functions_of_math_are_those_of_numbers_that_have_a_finite_one():
    powers = (lambda x, n: x * 2**n, lambda x, n: x * n**2, lambda x, n: x * (n + 0.0) ** 0.5)
    for f in powers:
        programs(f, [(X, n) for n in (1, 2, 3, 40, 61, 50, 4)])
    assert programs(powers[0], [(X, n) for n in (1, 2, 3, 5, 10)], fullgraph=True) == 2
    for name, beyond in {"log": 0.0, "exp": 1000.0, "acos": 1.5, "sqrt": -1.0}.items():
        f = lambda x, n: x * getattr(math, name)(n)
        compiled = torch.compile(f, fullgraph=True)
        for n in (0.25, 0.5, 0.75):
            assert torch.equal(compiled(X, n), f(X, n))
        with pytest.raises((ValueError, OverflowError)):
            compiled(X, beyond)


def test_the_rate_of_noam_has_a_program_on_either_side_of_its_peak():
    f = lambda x, n: x * (64**-0.5 * min(n**-0.5, n * 10**-1.5))
    assert programs(f, [(X, n) for n in range(1, 24)], fullgraph=True) < 6


def test_a_check_of_values_leaves_numbers_and_sizes_to_change():
    table = torch.randn(8, 3)
    f = lambda x, n: nn.functional.embedding(torch.full((3,), n), table) + x[:3]
    assert programs(f, [(X, n) for n in range(6)], fullgraph=True) == 2
    with pytest.raises(IndexError):
        torch.compile(f)(X, 8)


def test_a_comparison_is_a_guard():
    assert programs(lambda x, n: x * n if n > 0.25 else x - n, [(X, n) for n in FLOATS]) == 4
    assert programs(lambda x, n: x * min(n, 0.25), [(X, n) for n in (0.1, 0.2, 0.15, 0.3, 0.4, 0.5)]) == 4
    assert programs(lambda x, n: x if n else -x, [(X, n) for n in (3, 2, 1, 0)]) == 3
    assert programs(lambda x, n: 1 / n * x, [(X, n) for n in FLOATS]) == 2
    compiled = torch.compile(lambda x, n: 1 / n * x)
    compiled(X, 2.0), compiled(X, 3.0)
    with pytest.raises(ZeroDivisionError):
        compiled(X, 0.0)


def test_an_int_is_no_float_and_no_bool():
    assert programs(lambda x, n: x.long() * n, [(X, n) for n in (2.0, 3.0, 2, 3, True, False, 4.0, 4)]) == 6


def test_great_ints_have_programs_of_their_own():
    assert programs(lambda x, n: x * (n * n), [(X, n) for n in (2, 3, 4, 1 << 30, 1 << 31)], fullgraph=True) == 3


def test_step_counters_and_rates_of_an_optimizer_are_inputs():
    class Optimizer:
        def __init__(self):
            self.step, self.rate, self.moment = 0, 0.1, torch.zeros(6)

        def update(self, x, gradient):
            self.step += 1
            self.moment.mul_(0.9).add_(gradient, alpha=0.1)
            return x - self.rate * self.moment / (1 - 0.9**self.step)

    one, two = Optimizer(), Optimizer()
    update = torch.compile(Optimizer.update)
    for i in range(12):
        gradient = torch.randn(6)
        assert torch.equal(update(one, X, gradient), two.update(X, gradient))
        assert one.step == two.step == i + 1 and type(one.step) is int and torch.equal(one.moment, two.moment)
        one.rate = two.rate = one.rate * 0.9
    assert 1 < len(update._compiled.programs) < 4


class Slotted:
    __slots__ = ("moment", "step")

    def __init__(self):
        self.step, self.moment = 0, torch.zeros(6)


class Constructed:
    def __new__(cls):
        made = object.__new__(cls)
        made.step, made.moment = 0, torch.zeros(6)
        return made


@pytest.mark.parametrize("kind", [Slotted, Constructed])
def test_tensors_that_are_changed_in_place_are_changed_once(kind):
    def update(state, x, rate):
        state.moment.add_(x, alpha=rate)
        return state.moment * rate

    compiled, one, two = torch.compile(update), kind(), kind()
    for i in range(6):
        assert torch.equal(compiled(one, X, i * 0.5), update(two, X, i * 0.5)) and torch.equal(one.moment, two.moment)


RATE = 1.0


def test_numbers_of_modules_closures_and_variables_change():
    class Scaled(nn.Module):
        scale = 0.5

        def forward(self, x):
            return x * self.scale

    module = Scaled()
    compiled = torch.compile(module, fullgraph=True)
    for i in range(12):
        module.scale = i * 0.5
        assert torch.equal(compiled(X), module(X))

    def of_variable(x):
        return x * RATE

    times = 1.0

    def of_closure(x):
        return x + times

    global_, closure = torch.compile(of_variable, fullgraph=True), torch.compile(of_closure, fullgraph=True)
    for i in range(12):
        globals()["RATE"] = times = i * 0.25
        assert torch.equal(global_(X), X * RATE) and torch.equal(closure(X), X + times)


def test_powers_and_roots_of_a_step():
    assert programs(to_power, [(X, n) for n in (1, 2, 3, 10, 1000)]) == 2


def test_gradients_pass_through_a_program_for_all_numbers():
    x = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x, n: (x * n).sin().sum(), fullgraph=True)
    for n in FLOATS:
        (found,) = torch.autograd.grad(compiled(x, n), x)
        (expected,) = torch.autograd.grad((x * n).sin().sum(), x)
        assert torch.equal(found, expected)


def test_the_first_calls_are_timed_with_and_without_gradients():
    with config.patch(choose_faster=True):
        compiled = torch.compile(lambda x, n: (x * n).exp().sum() / n)
        for i in range(24):
            x = torch.randn(50, requires_grad=bool(i % 2))
            found, expected = compiled(x, 0.5 + i), (x * (0.5 + i)).exp().sum() / (0.5 + i)
            assert torch.equal(found, expected) and found.requires_grad == expected.requires_grad


def test_sizes_and_numbers_change_together():
    calls = [(torch.ones(n), n * 0.1) for n in (3, 4, 5, 6, 7)]
    assert programs(lambda x, n: x * n + x.shape[0], calls, fullgraph=True) == 2


def test_a_backend_of_ones_own_is_given_the_number():
    examples = []

    def backend(module, inputs):
        examples.append(inputs)
        return module.forward

    assert programs(lambda x, n: x * (n + 1), [(X, n) for n in (2, 3, 4)], backend=backend, fullgraph=True) == 2
    (_, number) = examples[1]
    assert isinstance(number, torch.SymInt) and number.node.hint == 3
    assert programs(lambda x, n: x * (n / 2), [(X, n) for n in FLOATS], backend=backend, fullgraph=True) == 2


def test_numbers_stay_where_they_are_to_be_constants():
    with config.patch(specialize_int=True):
        assert programs(lambda x, n: x * n, [(X, n) for n in (1, 2, 3)]) == 3
        assert programs(lambda x, n: x * n, [(X, n) for n in FLOATS]) == 2
    assert programs(lambda x, n: x * n, [(X, n) for n in (1, 2, 3)], dynamic=False) == 3


def test_two_numbers_that_are_one_and_then_two():
    assert (
        programs(lambda x, a, b: x * a + b, [(X, n, m) for n, m in ((1.0, 1.0), (2.0, 2.0), (3.0, 4.0), (5.0, 5.0))])
        <= 3
    )


def test_two_numbers_that_are_alike_when_they_are_watched_are_told_apart():
    f = lambda x, a, b: (torch.clamp(x, max=b, min=a), torch.full((x.shape[0],), b))
    calls = [(X, 1.0, 1.0), (X, 2.0, 2.0), (X, 3.0, 4.0), (X, 2.0, 5.0)]
    assert programs(f, calls) > 1
    sizes = [(torch.ones(n), n, m) for n, m in ((2, 2), (3, 3), (4, 5), (6, 3))]
    assert programs(lambda x, a, b: torch.full((x.shape[0], b), a) + x[:, None], sizes) > 1


def test_a_number_like_a_constant_of_the_program_is_told_apart_from_it():
    assert programs(lambda x, n: torch.add(x * 0.5, x, alpha=n), [(X, n) for n in (0.5, 0.25, 2.0, 0.5)]) <= 3
    assert programs(lambda x, n: torch.add(x, 0.5, alpha=n), [(X, n) for n in (0.25, 0.5, 2.0, 0.5)]) <= 4


@pytest.mark.parametrize(
    "f, last", [(lambda x, n: x * ((n * n + n * n + n * n) / 2), 2**31 - 1), (lambda x, n: x + (n + (2**63 - 10)), 100)]
)
def test_sums_of_ints_do_not_wrap(f, last):
    compiled = torch.compile(f)
    for n in (3, 4, last):
        assert torch.equal(compiled(torch.ones(2), n), f(torch.ones(2), n))


def changing():
    """Functions of a tensor and a number that change something for some numbers or sizes only, and what tells it."""
    seen, flag, held, table = [], type("Flag", (), {"on": 0})(), torch.zeros(1), {}

    def listed(x, n):
        if n > 1:
            seen.append(n)
        return x * n

    def set_attribute(x, n):
        if n > 1:
            flag.on += 1
        return x * n

    def written(x, n):
        if n > 1:
            held.add_(1)
        return x * n

    def mapped(x, n):
        if x.shape[0] > 2:
            table[n] = len(table)
        return x * 2

    def written_by_size(x, n):
        if x.shape[0] > 2:
            held.add_(1)
        return x * 2

    def argument(x, n):
        if n > 1:
            x.add_(1)
        return x * n

    def drawn(x, n):
        return F.dropout(x, 0.5) if n > 1 else x * n

    functions = listed, set_attribute, written, mapped, written_by_size, argument, drawn
    return {f.__name__: f for f in functions}, lambda: (list(seen), flag.on, held.item(), dict(table))


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("numbers", [(2, 1, 3, 1, 5, 1), (1, 2, 1, 3, 4), (3, 1, 1, 2, 2, 0), (2, 3, 1, 4, 1)])
@pytest.mark.parametrize("name", changing()[0])
def test_what_only_some_numbers_change_is_changed_by_their_calls_alone(name, numbers, dynamic):
    (plain, told), (function, tells) = ((made[0][name], made[1]) for made in (changing(), changing()))
    compiled = torch.compile(function, dynamic=dynamic)
    for sizes in (lambda n: n + 1, lambda n: 3):
        for n in numbers:
            x, same = torch.ones(sizes(n)), torch.ones(sizes(n))
            torch.manual_seed(0)
            expected = plain(same, n), torch.rand(1)
            torch.manual_seed(0)
            found = compiled(x, n), torch.rand(1)
            assert all(map(torch.equal, found, expected)) and torch.equal(x, same) and tells() == told()


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, table: table[1, len(x) // 4] + x,
        lambda x, table: table[1:, len(x) // 4].sum() + x,
        lambda x, table: torch.full((1, 3), len(x) // 4),
        lambda x, table: table.narrow(1, len(x) // 8, 1),
        lambda x, table: table[len(x) % 3, 1] * x,
    ],
)
def test_a_size_that_equals_a_number_in_two_calls_is_not_taken_for_it(function, dynamic):
    table = torch.arange(64.0).view(8, 8)
    compiled = torch.compile(function, dynamic=dynamic)
    for n in (4, 5, 6, 7, 8, 9, 12, 13):
        x = torch.randn(n, 8)
        assert torch.equal(compiled(x, table), function(x, table)), n
