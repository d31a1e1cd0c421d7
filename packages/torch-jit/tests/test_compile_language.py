"""Statements and operators of Python within whole programs (``fullgraph=True``): match, operators of classes, generators of contexts."""

import collections
import collections.abc
import contextlib
import enum
import functools
import importlib
import operator

import pytest
import torch
from compiling import programs_run  # noqa: F401  (a fixture of every test)
from torch import nn

X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])


def whole(function, *calls):
    """How many graphs the calls of a function make, twice each, after its results are compared with those without compiling."""
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module

    compiled = torch.compile(function, fullgraph=True, backend=backend)
    for args in (*calls, *calls):
        assert torch.equal(compiled(*args), function(*args))
    return len(graphs)


def by_kind(x, k):
    match k:
        case 1:
            return x + 1
        case "a" | "b":
            return x + 2
        case (a, *rest) if a:
            return x + a + len(rest)
        case [*_, 9]:
            return x * 9
        case {"scale": v, **more}:
            return x * v + len(more)
        case float(z):
            return x * z
        case None:
            return x - 5
        case _:
            return x


def test_match_by_values_sequences_and_mappings_is_one_graph_for_each_way():
    for subjects in ([1, "b", (3, 4, 5), [0, 9]], [{"scale": 2.0, "r": 1}, 2.5, None, b"", ()]):
        assert whole(by_kind, *((X, k) for k in subjects)) == len(subjects)
        torch.compiler.reset()


class Point:
    __match_args__ = ("u", "v")

    def __init__(self, u, v):
        self.u, self.v = u, v


class Color(enum.Enum):
    RED, GREEN, BLUE = 1, 2, 3


def by_class(x, p):
    match p:
        case Point(1, v=w):
            return x * w
        case Point(u=k) as q:
            return x + k + q.v
        case Color.RED | Color.GREEN:
            return x - 1
        case str() as text:
            return x + len(text)
    return x


def test_match_by_classes_and_dotted_names_guards_what_it_reads():
    p = Point(1, 3)
    compiled = torch.compile(by_class, fullgraph=True)
    for value in (p, Point(2, 4), Color.GREEN, Color.BLUE, "abc"):
        assert torch.equal(compiled(X, value), by_class(X, value))
    p.v = 5
    assert torch.equal(compiled(X, p), X * 5)
    p.u = 2
    assert torch.equal(compiled(X, p), X + 7)


def test_a_match_over_a_tensor_reads_its_value_and_is_refused():
    def f(x):
        match x:
            case 1:
                return x + 1
        return x

    with pytest.raises(torch._dynamo.exc.Unsupported, match="__bool__"):
        torch.compile(f, fullgraph=True)(torch.ones(()))


class Pair:
    def __init__(self, t):
        self.t = t

    def __add__(self, other):
        return Pair(self.t + other.t) if isinstance(other, Pair) else NotImplemented

    def __rmul__(self, k):
        return Pair(self.t * k)

    def __isub__(self, k):
        self.t = self.t - k
        return self

    def __neg__(self):
        return Pair(-self.t)

    def __lt__(self, other):
        return other.t.shape[0] > 1

    def __eq__(self, other):
        return True

    __hash__ = None

    def __contains__(self, k):
        return k == 1

    def __len__(self):
        return 0


class Louder(Pair):
    def __radd__(self, other):
        return Pair(self.t * 100 + other.t)


def test_operators_of_classes_are_followed_in_pythons_order():
    def f(x):
        v = 3 * (Pair(x) + Pair(x))
        v -= 2
        v = -v + Louder(x)
        out = v.t
        out = out + 1 if 1 in v else out
        out = out + 2 if 2 not in v else out
        out = out + 4 if v == 3 else out
        out = out + 64 if v != 3 else out
        out = out + 8 if Pair(x) > v else out
        out = out + 16 if v else out
        return out + 32 if not v else out

    assert whole(f, (X,)) == 1


def test_an_operator_of_a_class_that_changes_makes_another_program(monkeypatch):
    class Shift:
        def __init__(self, by):
            self.by = by

        def __radd__(self, x):
            return self.by

        def __matmul__(self, x):
            return x + self.by

    s = Shift(1.0)
    f = torch.compile(lambda x: s @ x, fullgraph=True)
    assert torch.equal(f(X), X + 1)
    monkeypatch.setattr(Shift, "__matmul__", lambda self, x: x - self.by)
    assert torch.equal(f(X), X - 1)


def test_containers_of_modules_are_asked_for_length_and_names():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2)])
            self.named = nn.ModuleDict({"a": nn.Linear(2, 2)})

        def forward(self, x):
            if self.layers and "a" in self.named and "b" not in self.named:
                return self.layers[0](x)
            return x

    assert whole(Net(), (X,)) == 1


@contextlib.contextmanager
def number(k):
    yield k


@contextlib.contextmanager
def without_gradients():
    with torch.no_grad():
        try:
            yield
        finally:
            pass


def test_generators_of_contexts_are_followed():
    def f(x):
        with number(3) as k, without_gradients():
            y = x * k
        return y + x

    assert whole(f, (X,)) == 1
    x = X.clone().requires_grad_()
    torch.compile(f, fullgraph=True)(x).sum().backward()
    assert torch.equal(x.grad, torch.ones(2, 2))


def test_functions_within_may_be_decorated():
    def twice(f):
        @functools.wraps(f)
        def call(*args):
            return f(*args) * 2

        return call

    def f(x):
        @twice
        def g(y):
            return y + 1

        return g(x)

    assert whole(f, (X,)) == 1


def test_named_tuples_are_replaced_and_made_of_lists():
    two = collections.namedtuple("two", "a b")

    def f(x):
        made = two._make([x, x * 2])
        return made._replace(a=x + 1).a + made.b

    assert whole(f, (X,)) == 1


def test_abstract_classes_and_names_that_a_module_lacks_are_asked_for():
    class Layer(nn.Module):
        def forward(self, x):
            return x + 1 if hasattr(self, "scale") else x * 2

    def f(x, data):
        if isinstance(data, collections.abc.Mapping):
            return x + data["y"]
        return x * data

    assert whole(f, (X, 3), (X, {"y": X})) == 2
    layer = Layer()
    compiled = torch.compile(layer, fullgraph=True)
    assert torch.equal(compiled(X), X * 2)
    layer.scale = 1
    assert torch.equal(compiled(X), X + 1)


class Mapped:
    names = {"size": "hidden"}

    def __init__(self):
        self.hidden, self.on = 3.0, True

    def __getattribute__(self, name):
        return super().__getattribute__(super().__getattribute__("names").get(name, name))


mapped = Mapped()


def test_attributes_that_a_class_finds_itself_are_followed_and_guarded():
    def scaled(x):
        return x * mapped.size if mapped.on and "x" in scaled_by.__code__.co_varnames else x

    compiled = torch.compile(scaled, fullgraph=True)
    x = torch.ones(2)
    for hidden, on in ((3.0, True), (3.0, True), (5.0, True), (5.0, False)):
        mapped.hidden, mapped.on = hidden, on
        assert torch.equal(compiled(x), scaled(x))
    mapped.hidden, mapped.on = 3.0, True


def scaled_by(x):
    return x


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "area", "bilinear", "bicubic"])
def test_images_are_resized_within_a_whole_program(mode):
    def resized(x):
        return torch.nn.functional.interpolate(x * 2, scale_factor=2, mode=mode) + 1

    compiled = torch.compile(resized, fullgraph=True)
    for size in ((2, 2), (2, 2), (3, 2), (4, 5)):
        x = torch.rand(1, 1, *size, requires_grad=True)
        assert torch.equal(compiled(x), resized(x))
        (got,), (expected,) = (torch.autograd.grad(f(x).sin().sum(), x) for f in (compiled, resized))
        torch.testing.assert_close(got, expected)


def test_tables_of_images_are_seen_by_both_branches():
    def resized(x):
        def larger(x):
            return torch.nn.functional.interpolate(x, scale_factor=2)

        return torch.cond(x.sum() > 0, larger, lambda x: larger(x * 2), (x,))

    compiled = torch.compile(resized, fullgraph=True)
    for sign in (1, -1, 1, -1):
        x = sign * torch.ones(1, 1, 2, 3)
        assert torch.equal(compiled(x), resized(x))


def test_objects_that_equal_themselves_alone_may_be_in_sets():
    layers = torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Tanh()])
    layers.append(layers[0])

    def through(x):
        seen = set()
        for layer in layers:
            if layer not in seen:
                seen.add(layer)
                x = layer(x)
        return x

    compiled = torch.compile(through, fullgraph=True)
    for _ in range(3):
        assert torch.equal(compiled(torch.tensor([-1.0, 2.0])), torch.relu(torch.tensor([-1.0, 2.0])).tanh())


def test_whether_a_trace_runs_is_asked_in_a_whole_program():
    torch.jit.trace(lambda x: x + 1, torch.ones(1))

    def asked(x):
        return x * 2 if torch.jit.is_tracing() else x + 1

    compiled = torch.compile(asked, fullgraph=True)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), asked(torch.ones(2)))


class Table(collections.abc.MutableMapping):
    def __init__(self, **held):
        self.held = held

    def __getitem__(self, key):
        return self.held[key]

    def __setitem__(self, key, value):
        self.held[key] = value

    def __delitem__(self, key):
        del self.held[key]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)


def test_a_dict_is_made_of_an_object_that_is_a_mapping():
    table, x = Table(a=torch.ones(2), b=2), torch.randn(2)

    def f(x):
        made = dict(table, c=3)
        return x * made["a"] + made["b"] + made["c"] + len(made)

    compiled = torch.compile(f, fullgraph=True)
    for _ in range(2):
        assert torch.equal(compiled(x), f(x))
    table["b"] = 4
    assert torch.equal(compiled(x), f(x))
    table["d"] = 0
    assert torch.equal(compiled(x), f(x))


def test_methods_are_called_by_a_caller_that_has_arguments_by_name():
    def f(x, y):
        return operator.methodcaller("add", y, alpha=2)(x), operator.methodcaller("sum", dim=0)(x)

    compiled, x = torch.compile(f, fullgraph=True), torch.randn(3)
    for _ in range(2):
        assert all(map(torch.equal, compiled(x, x), f(x, x)))


def test_truth_that_is_no_bool_is_an_error():
    class Odd:
        def __bool__(self):
            return 1.5

    for call in (f := lambda x, odd: x if odd else -x), torch.compile(f):
        with pytest.raises(TypeError, match="__bool__ should return bool, returned float"):
            call(torch.ones(1), Odd())


def test_a_lambda_within_a_long_statement_is_read(tmp_path, monkeypatch):
    lines = [f"    {n}: lambda x: x * {n},\n" for n in range(100)]
    (tmp_path / "many_lambdas.py").write_text("TABLE = {\n" + "".join(lines) + "}\n")
    monkeypatch.syspath_prepend(tmp_path)
    table = importlib.import_module("many_lambdas").TABLE
    for n in (0, 3, 50, 99):
        assert torch.compile(table[n], fullgraph=True)(torch.ones(1)) == n
