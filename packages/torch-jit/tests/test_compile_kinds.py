"""Compiled functions read values of all kinds, from all places, which change between calls: results are those of the function as it
was written."""

import collections
import copy
import dataclasses
import enum
import functools
import types

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn
from torch._dynamo import config

X = torch.arange(1.0, 5.0)
Pair = collections.namedtuple("Pair", "first second")


class Color(enum.Enum):
    RED = 2
    BLUE = 3


class Flags(enum.IntFlag):
    A = 1
    B = 2


@dataclasses.dataclass
class Point:
    x: object
    y: object = 1.0


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: object


class Box:
    scale = 2.0

    def __init__(self, value):
        self.value = value

    def __call__(self, x):
        return consume(x, self.value) * self.scale

    def method(self, x):
        return consume(x, self.value) + self.scale


class Other(Box):
    scale = 3.0


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Property:
    def __init__(self, value):
        self._value = value

    @property
    def value(self):
        return self._value


class Number:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return self.value + other

    def __eq__(self, other):
        return isinstance(other, Number) and self.value == other.value

    def __hash__(self):
        return 1

    def __len__(self):
        return 3

    def __bool__(self):
        return self.value > 1


class MyList(list):
    pass


class MyDict(dict):
    pass


class MyInt(int):
    pass


class MyStr(str):
    pass


class Scaled(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale, self.weight = scale, nn.Parameter(torch.tensor([1.0, 2.0, 3.0, 4.0]))

    def forward(self, x):
        return consume(x, self.scale) * self.weight


def double(x):
    return 2 * x


def adder(n):
    def add(x, by=n):
        return x + n * by

    return add


def consume(x, v):
    """A tensor that follows from all that a value is."""
    if v is None:
        return x + 1
    if isinstance(v, torch.Tensor):
        return x + v * 2 if v.dim() and v.shape[0] == x.shape[0] else x - v.sum()
    if isinstance(v, bool):
        return x * 3 if v else -x
    if isinstance(v, enum.Enum):
        return x * v.value if v is not Color.RED else x + v.value
    if isinstance(v, (int, float)):
        return x * v + (1 if v else 2) + (v > 3)
    if isinstance(v, complex):
        return x * v.real + v.imag
    if isinstance(v, (str, bytes)):
        return x * len(v) + (v in ("abc", b"abc")) * 2
    if isinstance(v, Pair):
        return consume(x, v.first) - consume(x, v.second)
    if isinstance(v, (list, tuple, collections.deque)):
        for i, each in enumerate(v):
            x = consume(x, each) + i
        return x + len(v)
    if isinstance(v, dict):
        for key, each in v.items():
            x = consume(x, each) + (key == "a")
        return x + len(v)
    if isinstance(v, (set, frozenset)):
        return x * (len(v) + 1) + (1 in v)
    if isinstance(v, slice):
        return x + x[v].sum()
    if isinstance(v, range):
        return x * len(v) + v.step
    if isinstance(v, torch.dtype):
        return x + x.to(v).sum().to(x.dtype)
    if isinstance(v, (Point, Frozen)):
        return consume(x, v.x) * 2
    if isinstance(v, Number):
        return (v + x) * len(v) + (2 if v else 1)
    if isinstance(v, (Slotted, Property)):
        return consume(x, v.value) * 5
    if isinstance(v, types.SimpleNamespace):
        return consume(x, v.a) * 7
    return v(x)


plain = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 5), st.sampled_from([0.0, -0.0, 0.5, 1.0, 2.0, 4.0]), st.sampled_from(["", "abc", "abd"]),
    st.sampled_from([b"abc", 1 + 2j, MyInt(3), MyStr("abc"), torch.float64, torch.float32, Color.RED, Color.BLUE, Flags.A, Flags.A | Flags.B]),
    st.sampled_from([slice(1, 3), slice(None, 2), range(3), range(0, 3, 2)]),
)  # fmt: skip
tensors = st.builds(
    lambda n, dtype, grad: torch.full((n,), 1.5).to(dtype).requires_grad_(grad and dtype.is_floating_point),
    st.sampled_from([1, 4]), st.sampled_from([torch.float32, torch.float64, torch.int64]), st.booleans(),
) | st.builds(lambda v: torch.tensor(v), st.sampled_from([1.0, 2.0, 3]))  # fmt: skip
functions = st.one_of(
    st.sampled_from([double, torch.sin, torch.relu, nn.functional.gelu, abs, torch.Tensor.cos]),
    st.builds(adder, st.integers(1, 3)),
    st.builds(lambda n: lambda x: x * n, st.sampled_from([2, 3.0])),
    st.builds(lambda n: functools.partial(torch.mul, other=n), st.sampled_from([2, 3.0])),
)


def held(inner):
    """What has values within."""
    return st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=2).map(tuple), st.lists(inner, max_size=2).map(MyList),
        st.dictionaries(st.sampled_from(["a", "b", 1]), inner, max_size=2), st.dictionaries(st.just("a"), inner).map(MyDict),
        st.dictionaries(st.sampled_from(["a", "b"]), inner).map(collections.OrderedDict),
        st.builds(Pair, inner, inner), st.sets(st.integers(0, 3), max_size=3), st.sets(st.integers(0, 3)).map(frozenset),
        st.builds(Box, inner), st.builds(Other, inner), st.builds(Slotted, inner), st.builds(Property, inner), st.builds(Point, inner),
        st.builds(Frozen, inner), st.builds(Number, st.sampled_from([0.5, 2, 3])), st.builds(Scaled, inner),
        st.builds(lambda v: types.SimpleNamespace(a=v), inner), st.builds(lambda v: Box(v).method, inner),
        st.lists(inner, max_size=2).map(collections.deque), st.builds(lambda v: nn.ModuleList([Scaled(v)])[0], inner),
    )  # fmt: skip


values = st.recursive(plain | tensors | functions, held, max_leaves=4)
PLACES = ("argument", "named", "global", "cell", "attribute", "item", "default", "class", "module")


class Holder:
    shared = None


OTHER = None


def make(cell, holder, items, module):
    def f(x, argument, *, named=None, default=None):
        x = consume(x, argument)
        x = consume(x, named) / 2
        x = consume(x, OTHER)
        x = consume(x, cell) / 2
        x = consume(x, holder.value)
        x = consume(x, items["key"]) / 2
        x = consume(x, default)
        x = consume(x, Holder.shared) / 2
        return consume(x, module.value)

    def put(value):
        nonlocal cell
        cell = value

    return f, put


class World:
    """A function that reads a value from every place, and the places."""

    def __init__(self, found):
        self.holder, self.items, self.module, self.now = types.SimpleNamespace(), {}, nn.Module(), {}
        self.holder = Box(None)
        self.f, self.put_cell = make(None, self.holder, self.items, self.module)
        self.given = {}
        for place, value in found.items():
            self.put(place, value)

    def put(self, place, value):
        if place in ("argument", "named"):
            self.given[place] = value
        elif place == "global":
            globals()["OTHER"] = value
        elif place == "cell":
            self.put_cell(value)
        elif place == "attribute":
            self.holder.value = value
        elif place == "item":
            self.items["key"] = value
        elif place == "default":
            self.f.__kwdefaults__["default"] = value
        elif place == "class":
            Holder.shared = value
        else:
            self.module.__dict__.pop("value", None)
            self.module._modules.pop("value", None)
            self.module.value = value
        self.now[place] = value

    def call(self, f):
        try:
            return f(X, self.given["argument"], named=self.given["named"])
        except Exception as error:
            return type(error)


def changed(data, value):
    """Change what lies within a value; False where there is nothing to change."""
    inner = lambda: data.draw(plain | tensors | functions, "within")
    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            value.add_(1)
    elif isinstance(value, (list, collections.deque)):
        if value and data.draw(st.booleans(), "replaced"):
            value[0] = inner()
        else:
            value.append(inner())
    elif isinstance(value, dict):
        value[data.draw(st.sampled_from(["a", "b"]), "key")] = inner()
    elif isinstance(value, set):
        value.symmetric_difference_update({1})
    elif isinstance(value, Scaled):
        value._modules.pop("scale", None)
        value.scale = inner()
    elif isinstance(value, Number):
        value.value = data.draw(st.sampled_from([0.5, 2, 3]))
    elif isinstance(value, (Box, Slotted)):
        value.value = inner()
    elif isinstance(value, Property):
        value._value = inner()
    elif isinstance(value, Point):
        value.x = inner()
    elif isinstance(value, types.SimpleNamespace):
        value.a = inner()
    elif isinstance(value, types.MethodType):
        return changed(data, value.__self__)
    elif isinstance(value, types.FunctionType) and value.__name__ == "add":
        value.__defaults__ = (data.draw(st.integers(1, 3)),)
    elif isinstance(value, (tuple, Frozen)):
        parts = value if isinstance(value, tuple) else (value.x,)
        return any(changed(data, part) for part in parts[:1])
    else:
        return False
    return True


@pytest.fixture(autouse=True)
def many_programs(monkeypatch):
    monkeypatch.setattr(config, "recompile_limit", 40)
    monkeypatch.setattr(config, "choose_faster", False)


def same(found, expected):
    if isinstance(expected, type):
        return found is expected
    return (
        isinstance(found, torch.Tensor)
        and found.dtype == expected.dtype
        and found.shape == expected.shape
        and found.requires_grad == expected.requires_grad
        and torch.equal(found.nan_to_num(7), expected.nan_to_num(7))
        and torch.equal(found.signbit(), expected.signbit())
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_values_of_all_kinds_from_all_places_may_change_between_calls(data):
    first = {place: data.draw(st.none() | values, place) for place in PLACES}
    if data.draw(st.booleans(), "one object in two places"):
        one, two = data.draw(st.permutations(PLACES), "which")[:2]
        first[one] = first[two]
    world = World(first)
    compiled = torch.compile(world.f)
    for _ in range(data.draw(st.integers(2, 6), "calls")):
        expected = world.call(world.f)
        assert same(world.call(compiled), expected), (expected, world.now)
        place = data.draw(st.sampled_from(PLACES), "change at")
        how = data.draw(st.sampled_from(["within", "copied", "other", "moved"]), "how")
        if how == "within" and changed(data, world.now[place]):
            continue
        if place == "default":  # what stands for a function has its own: they change within only
            continue
        if how == "copied":
            world.put(place, copy.deepcopy(world.now[place]))
        elif how == "moved":
            world.put(place, world.now[data.draw(st.sampled_from(PLACES), "from")])
        else:
            world.put(place, data.draw(values, "other"))


# --- what is changed ---

ENTRIES = ("count", "total", "rate", "moment", "last", "log", "items", "one", "two")


class Plain:
    pass


class Slots:
    __slots__ = ENTRIES


class Constructed:
    def __new__(cls):
        return object.__new__(cls)


class Layer(nn.Module):
    pass


class Set:
    """Attributes go through a method of the class."""

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


def filled(kind):
    state = kind()
    state.count, state.total, state.rate, state.log, state.items = 0, 0.0, 0.5, [], {"k": 0}
    state.moment, state.last, state.one, state.two = torch.zeros(()), None, torch.ones(1), torch.zeros(1)
    return state


def run(steps, state, x, n):
    for step in steps:
        if step == "count":
            state.count += 1
        elif step == "total":
            state.total = state.total + n
        elif step == "rate":
            x = x * state.rate
        elif step == "decay":
            state.rate *= 0.5
        elif step == "moment":
            state.moment.mul_(state.rate).add_(x.sum(), alpha=n)
        elif step == "last":
            x, state.last = x if state.last is None else x + 1, x * 2
        elif step == "append":
            state.log.append(n)
        elif step == "item":
            state.items["k"] = state.items.get("k", 0) + 1
        elif step == "use":
            x = x + state.count * state.total
        elif step == "size":
            x = x * x.shape[0] + state.moment
        elif step == "branch":
            x = -x if n > 2 else x + state.items["k"]
        elif step == "swap":
            state.one, state.two = state.two, state.one
        elif step == "sum":
            x = x + state.one - len(state.log)
        elif step == "power":
            x = x / (2 - 0.9**state.count)
    return x, n + 1


STEPS = (
    "count", "total", "rate", "decay", "moment", "last", "append", "item", "use", "size", "branch", "swap", "sum", "power",
)  # fmt: skip


def told(state):
    found = [getattr(state, name) for name in ENTRIES]
    return [(str(v.dtype), v.tolist()) if isinstance(v, torch.Tensor) else (type(v), v) for v in found]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_objects_are_changed_as_without_compiling_while_numbers_and_sizes_change(data):
    kind = data.draw(st.sampled_from([Plain, Slots, Constructed, Layer, Set, types.SimpleNamespace]), "kind")
    steps = tuple(data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5), "steps"))
    one, two = filled(kind), filled(kind)
    if data.draw(st.booleans(), "an argument"):
        of_state = torch.compile(lambda state, x, n: run(steps, state, x, n))
        compiled = lambda x, n: of_state(one, x, n)
    else:
        compiled = torch.compile(lambda x, n: run(steps, one, x, n))
    number = (
        st.sampled_from([1, 2, 3, 4]) if data.draw(st.booleans(), "ints") else st.sampled_from([0.5, 1.0, 2.5, 3.0])
    )
    for _ in range(data.draw(st.integers(2, 6), "calls")):
        x, n = torch.arange(1.0, 1.0 + data.draw(st.integers(2, 5), "size")), data.draw(number, "n")
        (found, after), (expected, plainly) = compiled(x, n), run(steps, two, x, n)
        assert same(found, expected) and after == plainly and type(after) is type(plainly)
        assert told(one) == told(two)


class Above:
    scale, table = 2.0, [torch.ones(2)]

    @property
    def twice(self):
        return self.scale * 2


class Below(Above):
    @property
    def twice(self):
        return super().twice + 1

    def scaled(self, x):
        return x * self.twice + super().scale * super().table[0]


def test_properties_and_attributes_of_the_class_above():
    below = Below()
    compiled, x = torch.compile(below.scaled, fullgraph=True), torch.ones(2)
    assert torch.equal(compiled(x), below.scaled(x))
    below.scale = 5.0
    assert torch.equal(compiled(x), below.scaled(x))
    try:
        Above.scale, Above.table = 7.0, [torch.ones(2) * 4]
        assert torch.equal(compiled(x), below.scaled(x))
    finally:
        Above.scale, Above.table = 2.0, [torch.ones(2)]
