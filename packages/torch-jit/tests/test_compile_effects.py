"""What a compiled function changes that was there before, and objects that it makes: as the function does, in one program."""

import collections
import copy
import dataclasses
import functools
import typing

import pytest
import torch
from compiling import agree, programs_run  # noqa: F401  (a fixture of every test)
from torch import nn
from torch._dynamo.testing import CompileCounter


def whole(function):
    """The function compiled as one program, and the count of its programs."""
    counter = CompileCounter()
    return torch.compile(function, fullgraph=True, backend=counter), counter


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("state", torch.zeros(2, 3))
        self.last, self.fresh, self.calls, self.seen = None, True, 0, {}

    def forward(self, x):
        self.state = torch.tanh(self.layer(x) + self.state).detach()
        self.last = self.state * 2
        self.fresh = False
        self.calls += 1
        self.seen["state"] = self.last + 1
        return self.state.sum()


def test_attributes_and_buffers_of_a_module_are_what_the_last_call_made_of_them():
    torch.manual_seed(0)
    plain = Remembers()
    module = copy.deepcopy(plain)
    compiled, counter = whole(module)
    for _ in range(4):
        x = torch.randn(2, 3)
        assert torch.equal(compiled(x), plain(x))
        for name in ("state", "last"):
            assert torch.equal(getattr(module, name), getattr(plain, name))
        assert (module.calls, module.fresh) == (plain.calls, False)
        assert torch.equal(module.seen["state"], plain.seen["state"])
    assert counter.frame_count == 2  # the dict has its key from the second call on
    assert "state" in dict(module.named_buffers()) and "state" not in vars(module)


def test_what_is_put_back_is_no_change():
    class Config:
        causal = True

    config = Config()
    config.causal = True
    log = []

    def f(x):
        before = config.causal
        config.causal = False
        try:
            return x * (2 if config.causal else 3)
        finally:
            config.causal = before

    class Watched(Config):
        def __setattr__(self, name, value):
            log.append(name)
            object.__setattr__(self, name, value)

    compiled, counter = whole(f)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 3.0)) and config.causal is True
    assert counter.frame_count == 1
    config = Watched()  # a program writes nothing where nothing is left changed
    config.causal = True
    compiled = torch.compile(f)
    compiled(torch.ones(2))
    assert len(log) >= 3


def test_lists_and_dicts_that_are_arguments_get_what_the_call_gives_them():
    def f(x, cache, items):
        cache["k"] = x + 3
        items.append(x * 5)
        items[0] = x
        return cache, x.sum()

    compiled, counter = whole(f)
    for i in range(3):
        x, cache, items = torch.full((2,), float(i)), {}, [1]
        same, _ = compiled(x, cache, items)
        assert same is cache and torch.equal(cache["k"], x + 3)
        assert len(items) == 2 and items[0] is x and torch.equal(items[1], x * 5)
    assert counter.frame_count == 1


def test_an_object_among_the_arguments_keeps_its_own_state():
    class Cache:
        def __init__(self):
            self.keys = None

        def update(self, x):
            self.keys = x if self.keys is None else torch.cat([self.keys, x])
            return self.keys

    compiled, _ = whole(lambda x, cache: cache.update(x).sum())
    caches = [Cache(), Cache()]
    for i in range(3):
        for k, cache in enumerate(caches):
            compiled(torch.full((1, 2), float(10 * k + i)), cache)
    assert caches[0].keys[:, 0].tolist() == [0, 1, 2] and caches[1].keys[:, 0].tolist() == [10, 11, 12]


def test_a_counter_that_nothing_asks_for_needs_one_program():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * 2

    module = Counts()
    compiled, counter = whole(module)
    for _ in range(20):
        compiled(torch.ones(2))
    assert module.calls == 20 and counter.frame_count == 1


def test_a_counter_that_is_asked_for_is_not_taken_for_a_constant():
    class Warms(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    module = Warms()
    compiled = torch.compile(module)
    assert [compiled(torch.ones(1)).item() for _ in range(12)] == list(range(1, 13))


def test_hooks_that_keep_activations_are_captured():
    torch.manual_seed(0)
    net, kept = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), {}

    def store(module, args, out):
        kept["relu"] = out

    net[1].register_forward_hook(store)
    compiled, counter = whole(net)
    for _ in range(4):
        x = torch.randn(2, 2)
        assert torch.equal(compiled(x), net(x))
        assert torch.equal(kept["relu"], net(x))
    assert counter.frame_count <= 3


def test_a_program_that_fails_changes_nothing():
    class Box:
        value = None

    box = Box()
    box.value = 1

    def f(x, i):
        box.value = x
        return x.index_select(0, i)

    compiled, _ = whole(f)
    compiled(torch.ones(3), torch.tensor([1]))
    box.value = 1
    with pytest.raises(IndexError):
        compiled(torch.ones(3), torch.tensor([7]))


def test_functions_that_change_objects_are_not_run_again_for_other_sizes():
    class Box:
        last = None

    box = Box()
    box.last, calls = None, []

    @functools.lru_cache
    def noted(n):
        calls.append(n)

    def f(x):
        box.last = x * 2
        return x + 1

    compiled = torch.compile(f)
    for n in (2, 3, 4, 5):
        x = torch.arange(float(n))
        compiled(x)
        assert torch.equal(box.last, x * 2)


# --- objects that are made within ---


@dataclasses.dataclass
class Point:
    x: torch.Tensor
    scale: int = 3
    parts: list = dataclasses.field(default_factory=list)
    times: dataclasses.InitVar[int] = 5
    kind: typing.ClassVar[str] = "point"

    def __post_init__(self, times):
        self.x = self.x * times
        self.label = f"{self.kind}{self.scale}"


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    first: torch.Tensor
    second: typing.Any = None


class Output(collections.OrderedDict):
    """A dict whose items are its attributes too, as libraries of models have."""

    def __init_subclass__(cls):
        super().__init_subclass__()

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key):
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def __setattr__(self, name, value):
        if name in {field.name for field in dataclasses.fields(self)} and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


@dataclasses.dataclass
class Hidden(Output):
    last: torch.Tensor | None = None
    states: tuple | None = None
    cache: object = None


def test_data_classes_are_made_as_their_init_says():
    def f(x):
        point = Point(x, times=2)
        point.parts.append(x + 1)
        return point, Pair(point.x, point)

    compiled, counter = whole(f)
    for _ in range(3):
        x = torch.randn(2)
        point, pair = compiled(x)
        assert torch.equal(point.x, x * 2) and point.label == "point3" and point.scale == 3
        assert torch.equal(point.parts[0], x + 1) and pair.second is point and pair.first is point.x
        assert type(pair) is Pair and "times" not in vars(point)
    assert counter.frame_count == 1
    with pytest.raises(TypeError, match="missing"):
        torch.compile(lambda x: Point(), fullgraph=True)(torch.ones(1))


def test_dicts_with_attributes_come_out_as_what_they_are():
    def f(x, more):
        out = Hidden(last=x * 2)
        if more:
            out.states = (x, x + 1)
        return out, out[0] + out["last"]

    compiled, counter = whole(f)
    for more in (False, True, False, True):
        x = torch.randn(3)
        out, twice = compiled(x, more)
        expected, also = f(x, more)
        assert type(out) is Hidden and list(out) == list(expected) and agree(dict(out), dict(expected))
        assert agree(vars(out), vars(expected)) and out["last"] is out.last and torch.equal(twice, also)
    assert counter.frame_count == 2


def test_an_object_that_holds_itself_comes_out_so():
    class Node:
        def __init__(self, value):
            self.value, self.root = value, self

    compiled, _ = whole(lambda x: Node(x * 2))
    for _ in range(2):
        made = compiled(torch.ones(2))
        assert made.root is made and made.value.tolist() == [2, 2]


def test_dict_classes_among_the_arguments_are_guarded_by_what_they_hold():
    class Named(dict):
        def __getitem__(self, key):
            return super().__getitem__(key) * 2

    compiled, _ = whole(lambda x, d: x * d["n"] + len(d))
    given = Named(n=2)
    assert compiled(torch.ones(1), given).item() == 5
    given["n"] = 3
    assert compiled(torch.ones(1), given).item() == 7
    given["m"] = 3
    assert compiled(torch.ones(1), given).item() == 8


def test_layers_without_parameters_are_made_within():
    class Doubles(nn.Module):
        def __init__(self, by):
            super().__init__()
            self.by = by

        def forward(self, x):
            return x * self.by

    def f(x, y):
        return nn.CrossEntropyLoss(label_smoothing=0.1)(x, y) + Doubles(3)(x).sum()

    compiled, counter = whole(f)
    x, y = torch.randn(4, 3, requires_grad=True), torch.tensor([0, 1, 2, 0])
    for _ in range(2):
        assert torch.equal(compiled(x, y), f(x, y))
    assert counter.frame_count == 1
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Linear is made"):
        torch.compile(lambda x: nn.Linear(2, 2)(x), fullgraph=True)(torch.ones(2))


def test_slices_of_module_lists_are_walked_over():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.n = nn.ModuleList(nn.Linear(2, 2) for _ in range(3)), 2

        def forward(self, x):
            for layer in self.layers[: self.n]:
                x = layer(x)
            return x

    net = Net()
    compiled, counter = whole(net)
    x = torch.randn(2, 2)
    assert torch.equal(compiled(x), net(x)) and torch.equal(compiled(x), net(x)) and counter.frame_count == 1
    net.n = 3
    assert torch.equal(compiled(x), net(x)) and counter.frame_count == 2


def test_copies_of_objects_follow_the_originals():
    class Config:
        def __init__(self, width):
            self.width, self.inner = width, {"a": [width]}

    config = Config(2)

    def f(x):
        own = copy.deepcopy(config)
        own.width += 1
        own.inner["a"].append(5)
        return x * own.width + own.inner["a"][0], copy.copy(config)

    compiled, _ = whole(f)
    for width in (2, 2, 7):
        config.width, config.inner["a"][0] = width, width
        out, also = compiled(torch.ones(1))
        assert out.item() == 2 * width + 1 and config.inner == {"a": [width]}
        assert type(also) is Config and also is not config and also.inner is config.inner


def test_errors_that_python_raises_may_be_caught():
    table = {"a": 2}

    def f(x, key):
        try:
            return x * table[key]
        except KeyError:
            return x

    compiled, _ = whole(f)
    for key, found in (("a", 2), ("b", 1), ("a", 2)):
        assert compiled(torch.ones(1), key).item() == found


def test_random_numbers_may_be_drawn_beside_a_finally():
    box = []

    def f(x):
        box.append(1)
        try:
            return nn.functional.dropout(x, 0.5)
        finally:
            box.pop()

    compiled, counter = whole(f)
    torch.manual_seed(0)
    found = [compiled(torch.ones(8)) for _ in range(3)]
    torch.manual_seed(0)
    assert all(torch.equal(a, f(torch.ones(8))) for a in found)
    assert counter.frame_count == 1 and box == []


def test_modules_that_a_function_imports_itself_are_found_in_its_source():
    def f(x):
        import torch

        return torch.relu(x) if torch.is_grad_enabled() else x

    compiled, counter = whole(f)
    assert torch.equal(compiled(torch.ones(2)), torch.ones(2)) and counter.frame_count == 1


def test_numbers_that_tell_objects_apart_stay_within():
    weight = nn.Parameter(torch.ones(2))
    net = nn.ModuleList([nn.ParameterList([weight]), nn.ParameterList([weight])])
    compiled, _ = whole(lambda x: x * len({id(p) for p in net.parameters()}))
    assert compiled(torch.ones(1)).item() == 1
    with pytest.raises(torch._dynamo.exc.Unsupported, match="id"):
        torch.compile(lambda x: (x + 1, id(net)), fullgraph=True)(torch.ones(1))


def test_an_attribute_that_comes_and_goes_is_gone():
    class Box:
        pass

    box = Box()

    def f(x):
        box.b = x * 3
        y = box.b + 1
        del box.b
        return y, hasattr(box, "b")

    compiled, counter = whole(f)
    for _ in range(3):
        out, there = compiled(torch.ones(1))
        assert out.item() == 4 and not there and not hasattr(box, "b")
    assert counter.frame_count == 1


def test_dicts_keep_the_order_that_a_call_gives_them():
    table = {"a": 1, "b": 2}

    def f(x):
        table["a"] = table.pop("a")
        return x * next(iter(table.values()))

    compiled, _ = whole(f)
    assert [compiled(torch.ones(1)).item() for _ in range(3)] == [2, 2, 2] and list(table) == ["b", "a"]


def test_descriptors_properties_and_cached_properties_are_followed():
    class Logged:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, owner, kind=None):
            return getattr(owner, self.name)

        def __set__(self, owner, value):
            setattr(owner, self.name, value * 2)

    class Thing:
        width = Logged()

        def __init__(self):
            self.width, self.made = 2, 0

        @functools.cached_property
        def table(self):
            return [self.width, 1]

        @property
        def height(self):
            return self._height + 1

        @height.setter
        def height(self, value):
            self._height = value

    thing, plain = Thing(), Thing()

    def f(x, of):
        of.width = 5
        of.height = 7
        return x * of.width + sum(of.table) + of.height

    compiled, _ = whole(f)
    for _ in range(3):
        x = torch.randn(2)
        assert torch.equal(compiled(x, thing), f(x, plain)) and vars(thing) == vars(plain)


def test_getattr_of_a_module_may_pass_on_what_it_does_not_know():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))

        def __getattr__(self, name):
            return 7 if name == "magic" else super().__getattr__(name)

        def forward(self, x):
            return x * self.weight + self.magic + getattr(self, "missing", 1)

    compiled, _ = whole(Net())
    assert compiled(torch.ones(2)).tolist() == [9, 9]


def test_generic_classes_enums_counters_and_getters_are_python():
    import enum
    import operator

    class Flag(enum.Flag):
        A = 1
        B = 2

    Kind = typing.TypeVar("Kind")

    class Holds(typing.Generic[Kind]):
        def __init__(self, value):
            self.value = value

    class Given(typing.TypedDict):
        x: torch.Tensor

    def f(x):
        counts, seen = collections.Counter("abca"), collections.defaultdict(list)
        seen[Flag.A | Flag.B].append(x)
        y = Holds[int](x).value * counts["a"] + counts["z"] + len(seen)
        return Given(x=y)["x"] * operator.attrgetter("ndim")(x) + hash(3) + torch.as_tensor(2.0)

    compiled, counter = whole(f)
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(2)), f(torch.ones(2)))
    assert counter.frame_count == 1


def test_generators_may_be_sent_values():
    def steps(x):
        while True:
            by = yield x
            if by is None:
                return
            x = x * by

    def f(x):
        each = steps(x)
        next(each)
        return each.send(2) + each.send(3)

    compiled, _ = whole(f)
    assert compiled(torch.ones(1)).item() == 8


def test_gradients_pass_through_a_derivative_that_was_captured():
    def f(x):
        return torch.func.grad(lambda y: (y**3).sum())(x)

    compiled, _ = whole(f)
    for _ in range(3):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        compiled(x).sum().backward()
        assert x.grad.tolist() == [6, 12]  # none came from the second call on


def test_results_of_operators_with_out_refuse_gradients_as_they_do():
    def f(a):
        out = torch.empty(2)
        torch.add(a, a, out=out)
        return out

    compiled = torch.compile(f)
    compiled(torch.ones(2))
    with pytest.raises(RuntimeError, match="out"):
        compiled(torch.ones(2, requires_grad=True))


def test_a_list_that_an_attribute_holds_grows_in_place():
    class Box:
        def __init__(self):
            self.items = [1, 2]

    def f(x, box):
        box.items += [4]
        return x * len(box.items)

    compiled, counter = whole(f)
    for _ in range(3):
        box = Box()
        assert compiled(torch.ones(1), box).item() == 3 and box.items == [1, 2, 4]
    assert counter.frame_count == 1


def test_a_counter_that_is_set_afterwards_is_what_it_was_set_to():
    class Box:
        count = 0

    box = Box()
    box.count = 0

    def f(x):
        box.count += 1
        box.count = 5
        return x * 2

    compiled, _ = whole(f)
    for _ in range(3):
        compiled(torch.ones(1))
        assert box.count == 5


def test_classes_of_a_namespace_without_a_name_are_guarded(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("class Box:\n    scale = 1\n\nbox = Box()\nbox.scale = 2\n\ndef f(x):\n    return x * box.scale\n")
    space = {}  # its classes say that they are of builtins
    exec(compile(path.read_text(), str(path), "exec"), space)
    compiled, _ = whole(space["f"])
    assert compiled(torch.ones(1)).item() == 2
    space["box"].scale = 3
    assert compiled(torch.ones(1)).item() == 3


def test_a_cache_of_fixed_size_is_written_to_where_an_operator_may_be_missing():
    class Cache:
        def __init__(self):
            self.keys, self.seen = torch.zeros(4, 2), torch.zeros(1, dtype=torch.int64)

        def update(self, x):
            try:
                self.keys.index_copy_(0, self.seen, x)
            except NotImplementedError:
                self.keys[self.seen] = x
            self.seen.add_(1)
            return self.keys

    compiled, counter = whole(lambda x, cache: cache.update(x).sum())
    cache = Cache()
    for i in range(4):
        compiled(torch.full((1, 2), float(i)), cache)
    assert cache.keys[:, 0].tolist() == [0, 1, 2, 3] and counter.frame_count == 1

    def catches_all(x):
        try:
            x.add_(1)
        except RuntimeError:
            return x * 2
        return x

    with pytest.raises(torch._dynamo.exc.Unsupported, match="errors are caught around"):
        torch.compile(catches_all, fullgraph=True)(torch.ones(1))


def test_what_is_set_and_put_back_leaves_a_program_free_for_other_sizes():
    class Flag:
        on = False

    flag = Flag()
    flag.on = False

    def f(x):
        flag.on = True
        try:
            return x * 2
        finally:
            flag.on = False

    compiled = torch.compile(f, fullgraph=True)
    for n in range(2, 14):  # more sizes than a function may have programs
        assert torch.equal(compiled(torch.ones(n)), torch.full((n,), 2.0)) and flag.on is False
    assert len(compiled._compiled.programs) <= 3


@pytest.mark.parametrize("dynamic", [None, True])
def test_containers_that_functions_of_c_change_unseen_are_changed_once_a_call(dynamic):
    counted, listed, summed = collections.Counter(), [], [[]]

    def f(x):
        counted.update("ab")
        return x + 1

    def g(x):
        any(map(list.append, [listed], [1]))
        return x + 1

    def h(x):
        functools.reduce(list.__iadd__, [[1], [2]], summed[0])
        return x + 1

    for function, count in ((f, lambda: counted["b"]), (g, lambda: len(listed)), (h, lambda: len(summed[0]) / 2)):
        compiled = torch.compile(function, dynamic=dynamic)
        for n in range(1, 5):
            assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0)) and count() == n
