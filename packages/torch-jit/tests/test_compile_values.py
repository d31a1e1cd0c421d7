"""Numbers that a function reads of tensors (``item``, sizes that values decide), in programs that are wanted whole."""

import math

import pytest
import torch
from torch import nn
from torch._dynamo import config, exc

F = torch.nn.functional
X = torch.arange(4.0)
COUNTS = [torch.tensor(n) for n in (2, 3, 1, 0, 4)]


def checked(x, n):
    count = n.item()
    torch._check(count >= 0)
    return x[:count]


def to_dict(x, n):
    return {"loss": x.sum().item(), "n": n.item(), "both": (n * 2).item() + x.mean().item()}


def in_list(x, n):
    first, second = torch.stack([n, n + 1]).tolist()
    return x * first + second, first


def changed_before(x, n):
    n = n.clone()
    n += 1
    count = n.item()
    n += 10
    return x * count, n


#: functions of a tensor and a count; one program serves all
ONE_FOR_ALL = {
    "times": lambda x, n: x * x.sum().item(), "of an argument": lambda x, n: x * n.item() + n.item(), "result": lambda x, n: x.sum().item(),
    "int result": lambda x, n: (n + 1).item(), "bool result": lambda x, n: (x > n).any().item(), "arithmetic": lambda x, n: x + (x.sum().item() + 1) * 2 - 3 / (1 + n.item()),
    "slice": lambda x, n: x[: n.item()], "slice by a tensor": lambda x, n: x[: (n * 1)], "zeros": lambda x, n: torch.zeros(n.item(), 2), "zeros of a tuple": lambda x, n: torch.zeros((2, n.item())),
    "full": lambda x, n: torch.full((2,), x.sum().item()), "arange": lambda x, n: torch.arange(n.item()) + 1, "float()": lambda x, n: x * float(x.sum()), "int()": lambda x, n: x * int(n + 1),
    "int of a float": lambda x, n: x * int(x.sum().item() / 3), "bool()": lambda x, n: x * bool(n), "compared": lambda x, n: ((n * 2).item() == 4, x.sum().item() > 5),
    "place": lambda x, n: x.roll(n.item()), "alpha": lambda x, n: torch.add(x, 2, alpha=n.item()), "other and alpha": lambda x, n: torch.add(x, n.item(), alpha=2), "clamp": lambda x, n: x.clamp(max=n.item()), "power": lambda x, n: x ** n.item(),
    "in place": lambda x, n: x.clone().mul_(n.item()).add_(x.mean().item()), "divided": lambda x, n: (n.item() + 1) / (x + 1), "check": checked, "dict": to_dict, "list": in_list, "before it is changed": changed_before,
    "index": lambda x, n: x.repeat(2)[n.item()], "index by a tensor": lambda x, n: x.repeat(2)[n], "rows of a mask": lambda x, n: x[x > n].sum() / (x[x > n].shape[0] + 1), "zeros like rows": lambda x, n: torch.zeros(x[x > 1].size(0)) + n,
    "len": lambda x, n: x * len(x.nonzero()), "numel": lambda x, n: x * (x[x > 2] * 2).numel(), "viewed": lambda x, n: x[x > n].view(-1, 1).expand(-1, x[x > n].shape[0]),
    "negative": lambda x, n: -x.sum().item() * x - n.item(), "beside an equal one": lambda x, n: x.expand(5, 4)[:2, : n.item()],
    "place beside an equal one": lambda x, n: x.repeat(6).view(2, 3, 4)[:, 2, n.item() % 3], "sizes beside an equal one": lambda x, n: torch.ones(2, n.item(), 2),
}  # fmt: skip
ONE_FOR_ALL |= {
    "powers": lambda x, n: (x.sum().item() ** 2, n.item() ** 3, 2 ** n.item(), 1.5 ** n.item(), n.item() ** 0.5, n.item() ** n.item()),
    "rests": lambda x, n: (x.sum().item() // 1.5, x.sum().item() % 1.5, n.item() // 2.5, -n.item() % 2.5, 7.5 // (n.item() + 1)),
    "absolute": lambda x, n: (abs(x.sum().item()), abs(n.item() - 2)), "of two": lambda x, n: (x / max(n.item(), 1), min(x.sum().item(), 2.5), max(1.0, x.sum().item())),
    "rounded": lambda x, n: (math.floor(x.mean().item()), math.ceil(x.mean().item()), round(x.mean().item()), round(n.item()), math.floor(n.item())),
}  # fmt: skip
ONE_FOR_ALL["tensor"] = lambda x, n: torch.tensor(x.sum().item()) + torch.tensor([n.item(), 1], dtype=torch.int16)
ONE_FOR_ALL["tensor of ints"] = lambda x, n: torch.tensor([n.item(), 1]) + n
ONE_FOR_ALL["type"] = lambda x, n: (type(n.item()) is int, {float: 1}.get(type(x.sum().item())), type((n > 1).item()))


def of_a_truth(x, truth):
    match truth.item():
        case True:
            return x + 1, truth.item() is True
        case False:
            return x - 1, truth.item() is not True


#: a guard asks for the value of an argument
GUARDED = {
    "branch": (lambda x, n: x + 1 if n.item() > 2 else x - 1, 2), "range": (lambda x, n: [x + i for i in range(n.item())], 5),
    "arithmetic": (lambda x, n: x * n.item() if 2 * n.item() + 1 < 6 else x, 2), "truth": (lambda x, n: x if n.item() else -x, 2),
    "largest of two kinds": (lambda x, n: x * max(n.item(), 2.0), 2), "largest of three": (lambda x, n: x * max(n.item(), 2, 1), 2),
}  # fmt: skip


def on_by_condition(x, n):
    return x + 1 if x.sum().item() > 0 else x - 1


def in_text(x, n):
    return x, f"{x.sum().item()}"


REFUSED = {
    "branch": on_by_condition, "text": in_text, "while": lambda x, n: [x for _ in range(int(x.sum().item()))], "hash": lambda x, n: x * {6.0: 2}.get(x.sum().item(), 1),
    "rows": lambda x, n: x if x[x > 9].numel() else -x, "root of an int": lambda x, n: x * 2 ** -(n.item() + 1),
}  # fmt: skip


@pytest.fixture(autouse=True)
def programs_are_kept(monkeypatch):
    monkeypatch.setattr(config, "choose_faster", False)


def same(found, expected):
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[k], expected[k]) for k in expected)
    if isinstance(expected, (tuple, list)):
        return type(found) is type(expected) and len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, torch.Tensor):
        return found.dtype == expected.dtype and torch.equal(found.nan_to_num(7), expected.nan_to_num(7))
    return type(found) is type(expected) and (found == expected or math.isnan(expected))


def programs(function, **options):
    compiled = torch.compile(function, fullgraph=True, **options)
    for i, n in enumerate([*COUNTS, *COUNTS]):
        assert same(compiled(X - i, n), function(X - i, n)), (i, n)
    return len(compiled._compiled.programs)


@pytest.mark.parametrize("name", ONE_FOR_ALL)
def test_one_program_serves_whatever_is_read(name):
    assert programs(ONE_FOR_ALL[name]) == 1


@pytest.mark.parametrize(
    "name",
    [
        "times",
        "arithmetic",
        "result",
        "slice",
        "dict",
        "check",
        "compared",
        "int of a float",
        "powers",
        "of two",
        "rounded",
    ],
)
def test_a_backend_of_ones_own_reads_as_the_program_does(name):
    assert programs(ONE_FOR_ALL[name], backend=lambda module, inputs: module.forward) == 1


@pytest.mark.parametrize("name", GUARDED)
def test_what_is_asked_of_a_number_of_an_argument_is_a_guard(name):
    function, count = GUARDED[name]
    assert programs(function) == count


@pytest.mark.parametrize("name", REFUSED)
def test_what_follows_from_values_otherwise_is_refused_with_its_line_and_cut_around(name):
    with pytest.raises(exc.Unsupported, match=r"\(.*test_compile_values.py:\d+ in "):
        torch.compile(REFUSED[name], fullgraph=True)(X, COUNTS[0])
    partly = torch.compile(REFUSED[name])
    for x in (X, X - 9, X + 1):
        assert same(partly(x, COUNTS[0]), REFUSED[name](x, COUNTS[0]))


def _outcome(function, *args):
    try:
        return function(*args)
    except (ArithmeticError, ValueError) as error:
        return type(error)


def test_powers_that_a_program_has_no_number_for_are_those_of_python():
    def power(base, by):
        return torch.ones(1, dtype=torch.float64) * base.item() ** by.item()

    inf, nan = math.inf, math.nan
    floats = (
        (2.0, 3.0),
        (-2.0, 3.0),
        (0.0, 0.0),
        (inf, -1.0),
        (-inf, 0.5),
        (nan, 0.0),
        (0.0, -1.0),
        (1e200, 2.0),
        (-8.0, 0.5),
    )
    for pairs in (floats, ((2, 3), (-3, 3), (0, 0), (-2, 63), (2, 62), (2, -1), (0, -1))):
        compiled = torch.compile(power, fullgraph=True)
        for pair in pairs:
            args = [torch.tensor(each, dtype=torch.float64 if pairs is floats else None) for each in pair]
            found, expected = _outcome(compiled, *args), _outcome(power, *args)
            assert found is expected if isinstance(expected, type) else same(found, expected), pair
        assert len(compiled._compiled.programs) == 1


@pytest.mark.parametrize("function", [lambda x, f: str(f.item()), lambda x, f: math.copysign(x.numel(), f.item())])
def test_the_zeros_are_two(function):
    compiled = torch.compile(function, fullgraph=True)
    for f in (1.5, -0.0, 0.0, -0.0, 0.0, 1.5):
        assert str(compiled(X, torch.tensor(f))) == str(function(X, torch.tensor(f)))


def test_a_truth_is_asked_by_identity():
    compiled = torch.compile(of_a_truth, fullgraph=True)
    for n in (True, False, True, False):
        assert same(compiled(X, torch.tensor(n)), of_a_truth(X, torch.tensor(n)))
    with pytest.raises(exc.Unsupported, match="compared by identity"):
        torch.compile(lambda x: x if (x.sum() > 2).item() is True else -x, fullgraph=True)(X)


def test_gradients_flow_around_what_is_read_and_sizes_may_change():
    f = lambda x: (x * x.detach().sum().item()).sum() / x.shape[0]
    compiled = torch.compile(f, fullgraph=True)
    for size in (3, 5, 8, 2):
        x = torch.arange(float(size), requires_grad=True)
        (found,), (expected,) = torch.autograd.grad(compiled(x), x), torch.autograd.grad(f(x), x)
        assert torch.equal(found, expected)
    assert len(compiled._compiled.programs) == 2


def test_a_check_that_fails_raises_its_error():
    def f(x, n):
        torch._check((n * 2).item() > 2, lambda: "too few")
        return x * 2

    compiled = torch.compile(f, fullgraph=True)
    assert torch.equal(compiled(X, COUNTS[0]), X * 2)
    with pytest.raises(RuntimeError, match="too few"):
        compiled(X, COUNTS[2])


def test_ints_do_not_wrap():
    f = lambda n: n.item() * n.item() + (n + 0).item() * (n - 1).item()
    compiled = torch.compile(f, fullgraph=True)
    for n in (3, 1 << 40, -(1 << 62)):
        assert compiled(torch.tensor(n)) == f(torch.tensor(n))


def test_what_is_changed_outside_of_the_arguments_is_changed_once():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(()))

        def forward(self, x):
            self.total += x.sum()
            return x * x.sum().item()

    net = Net()
    compiled = torch.compile(net, fullgraph=True)
    for n in (1, 2, 3):
        assert torch.equal(compiled(X * n), X * n * (X.sum() * n)) and net.total == 6 * n * (n + 1) / 2
    net.total.zero_()
    assert torch.equal(torch.compile(net)(X), X * 6) and net.total == 6


def test_without_fullgraph_a_setting_captures_reads():
    f, graphs = (lambda x: x * x.sum().item() + 1), []

    def backend(module, inputs):
        graphs.append(module.code)
        return module.forward

    with config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(f, backend=backend)
        assert torch.equal(compiled(X), f(X)) and torch.equal(compiled(X + 1), f(X + 1))
    assert len(graphs) == 1 and ".item()" in graphs[0]


FUNCTIONS = [
    "sqrt",
    "log",
    "log2",
    "log10",
    "atan",
    "tanh",
    "asinh",
    "erf",
    "erfc",
    "fabs",
    "degrees",
    "radians",
    "exp",
    "expm1",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "sinh",
    "cosh",
    "acosh",
    "atanh",
    "lgamma",
]


@pytest.mark.parametrize("options", [{}, {"backend": lambda module, inputs: module.forward}], ids=["own", "other"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_math_of_numbers_are_those_of_python(name, options):
    function = getattr(math, name)

    def f(x):
        return x * function(x.sum().item()) - function(x.sum().item())

    compiled = torch.compile(f, fullgraph=True, **options)
    compiled(torch.tensor([1.0 if name == "acosh" else 0.5]))
    for value in (0.5, 0.25, 1.5, -0.5, 1000.0, 0.0, math.nan, math.inf):
        x = torch.tensor([value])
        found, expected = _outcome(compiled, x), _outcome(f, x)
        if isinstance(expected, type):
            assert found is expected, value
        else:
            torch.testing.assert_close(found, expected, equal_nan=True)
    assert len(compiled._compiled.programs) == 1


@pytest.mark.parametrize("name", ["exp", "expm1", "log1p", "sinh", "cosh", "acosh", "lgamma", "sin", "atanh"])
def test_functions_of_math_behind_a_write_take_what_python_takes(name):
    function = getattr(math, name)

    def f(x, count):
        count.add_(1)
        return x + function(x.sum().item())

    compiled, counts = torch.compile(f, fullgraph=True), (torch.zeros(1), torch.zeros(1))
    compiled(torch.tensor([1.0 if name == "acosh" else 0.5]), torch.zeros(1))
    for value in (math.inf, -math.inf, math.nan):
        x = torch.tensor([value])
        try:
            expected = f(x, counts[1])
        except (ValueError, OverflowError):
            with pytest.raises((ValueError, OverflowError, RuntimeError)):
                compiled(x, counts[0])
        else:
            torch.testing.assert_close(compiled(x, counts[0]), expected, equal_nan=True)
    assert len(compiled._compiled.programs) == 1


class Notes(nn.Module):
    """A layer that notes numbers of its results as it goes."""

    def __init__(self):
        super().__init__()
        self.layer, self.last, self.rows, self.calls = nn.Linear(3, 3), 0.0, 0, 0

    def forward(self, x):
        y = self.layer(x)
        self.last, self.rows = y.sum().item(), int((y > 0).sum())
        self.calls += 1
        return y * self.last + self.rows


def _notes(module):
    return module.last, module.rows, module.calls


@pytest.mark.parametrize("options", [{}, {"backend": lambda module, inputs: module.forward}], ids=["own", "other"])
def test_numbers_that_are_read_are_noted_in_attributes_of_a_module(options):
    module, other = Notes(), Notes()
    other.load_state_dict(module.state_dict())
    compiled = torch.compile(module, fullgraph=True, **options)
    for i in range(5):
        x = torch.full((2, 3), i - 2.0)
        torch.testing.assert_close(compiled(x), other(x))
        assert _notes(module) == pytest.approx(_notes(other))
        assert list(map(type, _notes(module))) == [float, int, int]
    assert len(compiled._compiled.programs) == 1


def test_numbers_that_are_read_and_counted_on_are_refused_and_change_what_they_change_once():
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.average = 1.0

        def forward(self, x):
            self.average = 0.5 * self.average + x.sum().item()
            return x * self.average

    module = Average()
    with pytest.raises(exc.Unsupported, match="the attribute average of a .*Average counts"):
        torch.compile(module, fullgraph=True)(torch.ones(2))
    assert module.average == 2.5
    partly = torch.compile(module)
    assert partly(torch.ones(2)).tolist() == [3.25] * 2 and module.average == 3.25


def test_an_error_behind_a_noted_number_leaves_what_the_call_has_changed():
    class Fails(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = 0.0

        def forward(self, x):
            self.last = x.sum().item()
            if x.shape[0] == 3:
                raise ValueError("three")
            return x * self.last

    module = Fails()
    compiled = torch.compile(module, fullgraph=True)
    with pytest.raises(ValueError, match="three"):
        compiled(torch.ones(3))
    assert module.last == 3
    assert compiled(torch.ones(2)).tolist() == [2, 2] and module.last == 2
    assert compiled(torch.full((2,), 2.0)).tolist() == [8, 8] and module.last == 4
