"""Builtins that call what they are given, or ask objects of classes in Python: those are followed."""

import functools
import itertools

import pytest
import torch
from compiling import programs_run  # noqa: F401  (a fixture of every test)
from torch import nn

X = torch.tensor([1.0, -2.0])
layer = nn.Linear(2, 2)


def square(x):
    return x * x


def product(a, b):
    return a * b


def minus(i):
    return -i


class Count:
    def __init__(self, n):
        self.n = n

    def times(self, x):
        return x * self.n

    def __bool__(self):
        return self.n > 2

    def __int__(self):
        return self.n

    def __float__(self):
        return self.n / 2

    def __repr__(self):
        return "n" * self.n

    def __abs__(self):
        return Count(abs(self.n))

    def __round__(self, digits=0):
        return self.n + digits

    def __iter__(self):
        return iter(range(self.n))

    def __reversed__(self):
        return [3, self.n]


def taken_apart(x, k):
    a, b, *rest = k
    return x * a, x * b, len(rest), torch.stack([x * i for i in [*k]])


CALLS = {
    "map": lambda x, k: sum(map(square, [x, x + 1])),
    "map of a layer": lambda x, k: list(map(layer, [x, x + 1])),
    "map of a method": lambda x, k: list(map(k.times, x)),
    "map of a partial": lambda x, k: list(map(functools.partial(product, x), k)),
    "filter": lambda x, k: [x * i for i in filter(minus, k)],
    "reduce": lambda x, k: functools.reduce(product, [x, x, x]),
    "accumulate": lambda x, k: list(itertools.accumulate([x, x], product)),
    "starmap": lambda x, k: list(itertools.starmap(product, [(x, x), (x, 2)])),
    "extremes": lambda x, k: (x * max([1, 2, 3], key=minus), x * min(k, key=minus)),
    "sorted": lambda x, k: [x * i for i in sorted(k, key=minus)],
    "truth": lambda x, k: x if bool(k) else -x,
    "numbers": lambda x, k: (x * int(k), x * float(k), x * round(k), x * round(k, 2)),
    "texts": lambda x, k: x * len(str(k) + repr(k)),
    "magnitude": lambda x, k: abs(k).times(x),
    "iterated": lambda x, k: (x * sum(reversed(k)), x * (1 in k), x * (7 in k), x * max(k)),
    "taken apart": taken_apart,
}


def same(a, b):
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else type(a) is type(b) and a == b


@pytest.mark.parametrize("name", CALLS)
def test_what_builtins_call_is_followed(name):
    f = CALLS[name]
    compiled = torch.compile(f, fullgraph=True)
    for n in (2, 3, 2):
        found, expected = compiled(X, Count(n)), f(X, Count(n))
        pairs = zip(found, expected) if isinstance(expected, (list, tuple)) else [(found, expected)]
        assert all(same(a, b) for a, b in pairs)


def test_a_list_is_sorted_by_a_function_that_is_followed():
    def f(x):
        held = [3, 1, 2]
        held.sort(key=minus)
        return [x * i for i in held]

    assert all(map(torch.equal, torch.compile(f, fullgraph=True)(X), f(X)))


def test_a_compiled_function_calls_itself_through_map():
    @functools.partial(torch.compile, fullgraph=True)
    def joined(tree):
        if isinstance(tree, torch.Tensor):
            return tree
        left, right = map(joined, tree)
        return layer(left + right)

    expected = layer(layer(X + X) + X)
    for _ in range(2):
        assert torch.equal(joined(((X, X), X)), expected)


def test_a_function_that_a_builtin_calls_is_guarded(monkeypatch):
    compiled = torch.compile(CALLS["map"], fullgraph=True)
    assert torch.equal(compiled(X, Count(2)), X * X + (X + 1) * (X + 1))
    monkeypatch.setitem(globals(), "square", minus)
    assert torch.equal(compiled(X, Count(2)), -X - (X + 1))


@pytest.mark.parametrize("other", [3, 2.5, torch.ones(2)], ids=["int", "float", "tensor"])
def test_a_program_asks_whether_something_is_a_tensor(other):
    def f(x, *others):
        return [x + other if torch.is_tensor(other) else x * other for other in others]

    compiled = torch.compile(f, fullgraph=True)
    for given in ((X, other), (X, X, other), (X, 1)):
        assert all(map(torch.equal, compiled(*given), f(*given)))


def test_a_program_asks_for_autocast_and_is_for_what_it_was_told():
    def f(x):
        if any(torch.is_autocast_enabled(device) for device in ("cpu", "cuda", "mps")) or torch.is_autocast_enabled():
            return x.to(torch.promote_types(torch.get_autocast_dtype("cpu"), torch.bool))
        return x - 1

    compiled = torch.compile(f, fullgraph=True)
    for _ in range(2):
        assert torch.equal(compiled(X), X - 1)
        for dtype in (torch.bfloat16, torch.float16):
            with torch.autocast("cpu", dtype=dtype):
                assert compiled(X).dtype is dtype


def test_the_dtype_of_autocast_is_refused_where_no_guard_knows_it():
    def f(x):
        return x.to(torch.get_autocast_dtype("cpu"))

    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"get_autocast_dtype\(\) is called"):
        torch.compile(f, fullgraph=True)(X)


def test_a_program_is_told_that_nothing_traces_it():
    def f(x):
        return x if torch._C._get_tracing_state() is not None else x + 1

    assert torch.equal(torch.compile(f, fullgraph=True)(X), X + 1)


LAYERS = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
NAMED = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})


class Pairs:
    def keys(self):
        return ["a", "b"]

    def __getitem__(self, key):
        return {"a": 2, "b": 3}[key]


def extended(x):
    found = []
    found.extend(LAYERS)
    return found[1](found[0](x))


def updated(x):
    found = {}
    found.update(NAMED)
    found.update(Pairs(), c=4)
    found.update([("d", 5)])
    return x * found["a"] * found["b"] * found["d"]


def applied(x, layers):
    for each in layers:
        x = each(x)
    return x


ITERATED = {
    "map": lambda x: torch.stack([*map(lambda layer, i: layer(x) * i, LAYERS, (1, 2))]),
    "filter": lambda x: applied(x, filter(lambda layer: layer is not None, LAYERS)),
    "reversed": lambda x: applied(x, reversed(LAYERS)),
    "chain": lambda x: applied(x, itertools.chain(LAYERS, LAYERS)),
    "islice": lambda x: applied(x, itertools.islice(LAYERS, 1)),
    "zip_longest": lambda x: sum(one(two(x)) for one, two in itertools.zip_longest(LAYERS, LAYERS)),
    "starmap": lambda x: sum(itertools.starmap(lambda i, layer: i * layer(x), enumerate(LAYERS))),
    "reduce": lambda x: functools.reduce(lambda y, layer: layer(y), LAYERS, x),
    "extend": extended,
    "update": updated,
}


@pytest.mark.parametrize("name", ITERATED)
def test_what_iterates_asks_modules_and_objects_of_python_for_their_items(name):
    f = ITERATED[name]
    compiled = torch.compile(f, fullgraph=True)
    x = X.unsqueeze(0)
    for _ in range(2):
        assert torch.equal(compiled(x), f(x))
    assert torch.equal(torch.compile(f)(x), f(x))
