"""What a captured program reads anew at each call: globals, cells, attributes, classes, modes."""

import abc
import collections.abc
import dataclasses
import functools
import sys
import types
import typing

import compile_cases
import pytest
import torch
from compiling import programs_run  # noqa: F401  (a fixture of every test)
from torch import nn


def test_a_program_is_captured_once_for_calls_that_are_alike():
    compiled = torch.compile(lambda x: x + 1)
    for _ in range(3):
        compiled(torch.randn(3))
    assert compiled._compiled.captures == 1
    compiled(torch.randn(4))
    assert compiled._compiled.captures == 2


def test_globals_are_read_anew():
    space = {"torch": torch, "K": 2}
    f = torch.compile(lambda x: x * compile_cases.SCALE)
    before = compile_cases.SCALE
    try:
        assert f(torch.ones(1)).item() == 2
        compile_cases.SCALE = 5.0
        assert f(torch.ones(1)).item() == 5
        compile_cases.SCALE = 5
        assert f(torch.ones(1, dtype=torch.int64)).dtype == torch.int64
        compile_cases.SCALE = torch.tensor([7.0])
        assert f(torch.ones(1)).item() == 7
    finally:
        compile_cases.SCALE = before
    del space


def test_cells_and_lists_are_read_anew():
    k, many = 1, [1, 2]

    def f(x):
        return x * k + sum(many)

    g = torch.compile(f)
    assert g(torch.ones(1)).item() == 4
    k = 2
    assert g(torch.ones(1)).item() == 5
    many.append(10)
    assert g(torch.ones(1)).item() == 15
    many[0] = 2
    assert g(torch.ones(1)).item() == 16


def test_attributes_of_modules_are_read_anew():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.k, self.inner = 2, nn.Linear(2, 2)

        def forward(self, x):
            return self.inner(x) * self.k

    net = Net()
    compiled = torch.compile(net)
    x = torch.randn(1, 2)

    def check():
        assert torch.equal(compiled(x), net(x)) and torch.equal(compiled(x), net(x))

    check()
    net.k = 3
    check()
    net.inner = nn.Linear(2, 2, bias=False)
    check()
    net.inner.weight = nn.Parameter(torch.ones(2, 2))
    check()
    net.inner = nn.Sequential(nn.ReLU(), nn.Dropout(0.5)).eval()
    check()
    net.inner[1].train()
    torch.manual_seed(1)
    a = compiled(x)
    torch.manual_seed(1)
    assert torch.equal(a, net(x))
    net.inner = nn.Identity()
    check()
    handle = net.inner.register_forward_hook(lambda m, a, out: out + 100)
    check()
    handle.remove()
    check()
    net.inner.forward = lambda x: x - 5
    check()


def test_methods_put_into_a_class_later_are_seen():
    class Net(nn.Module):
        def forward(self, x):
            return self.step(x)

        def step(self, x):
            return x + 1

    net = Net()
    compiled = torch.compile(net)
    assert compiled(torch.zeros(1)).item() == 1
    Net.step = lambda self, x: x + 2
    assert compiled(torch.zeros(1)).item() == 2
    net.step = lambda x: x + 3
    assert compiled(torch.zeros(1)).item() == 3


def test_modes_of_gradients_are_part_of_the_key():
    f = torch.compile(lambda x: x * 2)
    x = torch.ones(2, requires_grad=True)
    assert f(x).requires_grad
    with torch.no_grad():
        assert not f(x).requires_grad
    assert f(x).requires_grad
    f(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_autocast_and_default_dtype_are_part_of_the_key():
    f = torch.compile(lambda x: x @ x + torch.ones(2))
    x = torch.ones(2, 2)
    assert f(x).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.compile(lambda x: x @ x)(x).dtype == torch.bfloat16
        expected = x @ x + torch.ones(2)
        assert f(x).dtype == expected.dtype
    torch.set_default_dtype(torch.float64)
    try:
        assert f(x).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert f(x).dtype == torch.float32


def test_tables_by_class_are_read_anew():
    table, kinds = {torch.Tensor: 2, float: 3}, {torch.Tensor, int}

    def scaled(x):
        return x * table.get(type(x), 1) + (type(x) in kinds)

    f = torch.compile(scaled, fullgraph=True)
    assert f(torch.ones(1)).item() == 3
    table[torch.Tensor] = 5
    assert f(torch.ones(1)).item() == 6
    kinds.remove(torch.Tensor)
    assert f(torch.ones(1)).item() == 5
    del table[torch.Tensor]
    assert f(torch.ones(1)).item() == 1


def test_keys_that_compare_by_code_of_their_own_are_not_captured():
    class Meta(type):
        def __eq__(self, other):
            return False

        __hash__ = type.__hash__

    class Key(metaclass=Meta):
        pass

    table = {Key: 2}
    with pytest.raises(RuntimeError, match="keys that are objects"):
        torch.compile(lambda x: x * table.get(float, 3), fullgraph=True)(torch.ones(1))


def test_a_table_that_the_first_call_fills_is_found_by_the_next():
    class Kind:
        pass

    class Numbers(Kind):
        of, scale = torch.Tensor, 3

    table = {}

    def scaled(x):
        if type(x) not in table:
            table[type(x)] = next(k.scale for k in Kind.__subclasses__() if k.of is type(x))
        return x * table[type(x)]

    f = torch.compile(scaled, fullgraph=True)
    for _ in range(3):
        assert f(torch.ones(1)).item() == 3
    assert f._compiled.captures == 2

    with pytest.raises(RuntimeError, match=r"__subclasses__\(\) is called"):
        g = torch.compile(lambda x: x * len(Kind.__subclasses__()), fullgraph=True)
        for _ in range(2):
            g(torch.ones(1))


def test_what_a_cache_keeps_is_a_constant():
    made = []

    class Plan:
        def __init__(self, factor):
            self.factor = factor

    @functools.lru_cache
    def plan(factor, shape):
        made.append(factor)
        return Plan(factor)

    @functools.lru_cache
    def factor_of(plan):
        return plan.factor

    f = torch.compile(lambda x, by: x * factor_of(plan(by, tuple(x.shape))), fullgraph=True)
    for _ in range(3):
        assert f(torch.ones(1), 2).item() == 2
    assert f(torch.ones(1), 3).item() == 3 and made == [2, 3]
    plan(2, (1,)).factor = 7
    assert f(torch.ones(1), 2).item() == factor_of(plan(2, (1,))) == 2


def test_tensors_that_a_cache_keeps_are_read_at_each_call():
    made = []

    @functools.lru_cache
    def table(n, *, base=2.0):
        made.append(n)
        return torch.arange(float(n)) * base, {"mask": torch.ones(n, n).tril()}

    def f(x, base):
        places, held = table(x.shape[0], base=base)
        return (held["mask"] @ x + places) * 2

    compiled = torch.compile(f, fullgraph=True)
    calls = [
        (torch.randn(n, 2).sum(1), base) for n, base in ((3, 2.0), (4, 2.0), (3, 2.0), (5, 3.0), (7, 3.0), (3, 2.0))
    ]
    for args in calls:
        assert torch.equal(compiled(*args), f(*args))
    assert len(made) == len({(len(x), base) for x, base in calls})
    table(3, base=2.0)[0].add_(1)
    assert torch.equal(compiled(*calls[0]), f(*calls[0]))


def _applied(x, fn):
    return fn(x)


@pytest.mark.parametrize(
    "one, other",
    [
        (torch.sin, torch.cos),
        (torch.Tensor.exp, torch.Tensor.neg),
        (torch.ops.aten.sin, torch.ops.aten.cos),
        (torch.ops.aten.sin.default, torch.ops.aten.exp.default),
    ],
    ids=["functions", "methods", "packets", "overloads"],
)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_operators_among_the_arguments_are_told_apart(one, other, backend):
    x = torch.tensor([0.5, 2.0])
    compiled = torch.compile(_applied, backend=backend)
    for fn in (one, other, one):
        assert torch.equal(compiled(x, fn), fn(x))
    within = torch.compile(lambda x, table: table["fn"](x), backend=backend)
    for fn in (one, other, one):
        assert torch.equal(within(x, {"fn": fn}), fn(x))


def agrees(function, *calls):
    for backend in ("inductor", "eager"):
        compiled = torch.compile(function, backend=backend)
        for args in calls:
            assert torch.equal(compiled(*args), function(*args)), args


def scaled(x, k):
    return x * k


@functools.lru_cache
def one_more(n):
    return n + 1


@functools.lru_cache
def two_more(n):
    return n + 2


def test_functions_with_arguments_of_their_own_are_told_apart():
    x, partial = torch.tensor([0.5, 2.0]), functools.partial
    agrees(
        _applied,
        (x, partial(torch.add, other=1)),
        (x, partial(torch.add, other=2)),
        (x, partial(torch.sub, other=2)),
        (x, partial(scaled, k=3)),
        (x, partial(scaled, k=4)),
    )
    agrees(lambda x, fn: x * fn(3), (x, one_more), (x, two_more), (x, one_more))


@dataclasses.dataclass
class Step:
    k: object = 1
    fn: object = None


@dataclasses.dataclass
class Steps:
    first: Step
    sizes: list


@dataclasses.dataclass(order=True)
class Ordered:
    k: int


def test_objects_of_dataclasses_are_compared_by_their_fields():
    x = torch.tensor([0.5, 2.0])
    for same in (lambda x, a, b: x if a == b else -x, lambda x, a, b: -x if a != b else x):
        agrees(same, (x, Step(1), Step(1)), (x, Step(1), Step(2)), (x, Step(2), Step(2)), (x, Step(1), Ordered(1)))
        agrees(
            same,
            (x, Steps(Step(1), [1]), Steps(Step(1), [1])),
            (x, Steps(Step(1), [1]), Steps(Step(2), [1])),
            (x, Steps(Step(1), [1]), Steps(Step(1), [2])),
        )
        agrees(same, (x, [Step(1)], [Step(1)]), (x, [Step(1)], [Step(2)]))
    agrees(lambda x, a, b: x if a < b else -x, (x, Ordered(1), Ordered(2)), (x, Ordered(2), Ordered(1)))
    agrees(lambda x, a, b: x if a in b else -x, (x, Step(1), [Step(1)]), (x, Step(2), [Step(1)]))


RECORDED = {"hidden": Step(1)}


def test_a_key_is_looked_for_in_a_dict_whatever_its_values_are():
    x = torch.tensor([0.5, 2.0])
    looked = torch.compile(lambda x, name: x if name in RECORDED else -x, fullgraph=True)
    assert looked(x, "hidden").equal(x)
    assert looked(x, "other").equal(-x)


def test_an_operator_that_an_object_holds_is_asked_for_its_truth():
    x = torch.tensor([0.5, 2.0])
    agrees(
        lambda x, step: step.fn(x) * step.k if step.fn else x * step.k,
        (x, Step(2)),
        (x, Step(2, torch.sin)),
        (x, Step(2, torch.cos)),
        (x, Step(3, torch.cos)),
    )


def test_attributes_that_a_program_gives_its_tensors_are_looked_for_anew():
    x, tagged = torch.ones(2), torch.ones(2)
    tagged.tag = 5
    agrees(lambda x: x * getattr(x, "tag", 1), (x,), (tagged,), (x,))
    agrees(lambda x: x * 2 if hasattr(x, "tag") else x * 3, (x,), (tagged,), (x,))


def test_numbers_of_classes_functions_and_files_change_from_call_to_call(monkeypatch):
    """From the third value on a program takes the number, wherever it stands."""

    class Settings:
        scale = 1

    def inner(x):
        return x * inner.power

    module = types.ModuleType("numbers_of_a_test")
    monkeypatch.setitem(sys.modules, "numbers_of_a_test", module)

    def imports(x):
        from numbers_of_a_test import scale

        return x * scale

    cases = {
        lambda x: x * Settings.scale: lambda n: setattr(Settings, "scale", n),
        lambda x: inner(x): lambda n: setattr(inner, "power", n),
        imports: lambda n: setattr(module, "scale", n),
    }
    for f, change in cases.items():
        compiled = torch.compile(f)
        for n in (2, 3, 5, 4, 3, 1.5, 2.5, 3.5):
            change(n)
            assert compiled(torch.ones(1)).item() == n
        assert compiled._compiled.captures <= 5


def test_an_object_of_another_class_is_another_object():
    class One:
        def by(self, x):
            return x

    class Two:
        def by(self, x):
            return x * 2

    held = One()
    f = torch.compile(lambda x: held.by(x))
    assert f(torch.ones(1)).item() == f(torch.ones(1)).item() == 1
    held.__class__ = Two
    assert f(torch.ones(1)).item() == 2


def test_an_attribute_of_a_class_comes_before_its_getattr():
    class Open:
        def __getattr__(self, name):
            return len(name)

    held = Open()
    f = torch.compile(lambda x: x * held.size)
    assert f(torch.ones(1)).item() == f(torch.ones(1)).item() == 4
    assert f._compiled.captures == 1
    Open.size = 7
    assert f(torch.ones(1)).item() == 7
    Open.size = None
    with pytest.raises(TypeError):
        f(torch.ones(1))
    del Open.size
    assert f(torch.ones(1)).item() == 4


def test_a_function_with_another_code_makes_another_program():
    """As tools that reload modules do it: the functions stay, and get the code of the new ones."""

    def inner(x, by=1):
        return x + by

    def f(x):
        return inner(x) * 2

    g, x = torch.compile(f, fullgraph=True), torch.ones(1)
    assert g(x).item() == g(x).item() == 4
    inner.__code__ = (lambda x, by: x - by).__code__
    assert g(x).item() == g(x).item() == 0
    first = f.__code__
    f.__code__ = _plus_five(inner).__code__
    assert g(x).item() == g(x).item() == 5
    f.__code__ = first
    assert g(x).item() == 0
    assert g._compiled.captures == 3
    assert "another __code__" in g._compiled.programs[0].guards.why((x,), {})


def _plus_five(inner):
    def f(x):
        return inner(x) + 5

    return f


def test_an_attribute_of_a_class_may_be_none():
    class Held:
        by = None

    held = Held()
    f = torch.compile(lambda x: x if held.by is None else x * held.by, fullgraph=True)
    assert f(torch.ones(1)).item() == 1
    Held.by = 5
    assert f(torch.ones(1)).item() == 5
    held.by = None
    assert f(torch.ones(1)).item() == 1


@pytest.mark.parametrize("nest", [lambda kind: int | kind, lambda kind: (int, (str, kind))], ids=["union", "tuples"])
def test_a_class_is_registered_with_one_within_a_union_or_tuples(nest):
    class Abstract(abc.ABC):
        @abc.abstractmethod
        def double(self):
            pass

    class Plain:
        pass

    value, kinds = Plain(), nest(Abstract)
    compiled, x = torch.compile(lambda x: x * 2 if isinstance(value, kinds) else x, fullgraph=True), torch.ones(1)
    assert compiled(x).item() == 1
    Abstract.register(Plain)
    assert compiled(x).item() == 2


def test_a_class_that_is_registered_with_an_abstract_one_is_asked_again():
    class Doubling(abc.ABC):
        @abc.abstractmethod
        def double(self):
            pass

    class Other:
        pass

    class Plain:
        pass

    value = Plain()

    def f(x, given):
        return x * 2 if isinstance(given, (Doubling, Other)) else x + 1 if isinstance(value, Doubling) else x

    compiled, x = torch.compile(f, fullgraph=True), torch.full((1,), 3.0)
    assert [compiled(x, value).item() for _ in range(2)] == [3, 3] and len(compiled._compiled.programs) == 1
    Doubling.register(Plain)
    assert [compiled(x, value).item(), compiled(x, None).item()] == [6, 4]
    assert compiled(x, value).item() == 6 and len(compiled._compiled.programs) == 3


@pytest.mark.parametrize("kind", [collections.abc.Sized, typing.Sized, typing.Union[int, typing.Sized]])  # noqa: UP007
def test_a_class_that_is_registered_with_one_of_python_is_asked_again(kind):
    class Plain:
        pass

    value = Plain()
    compiled, x = torch.compile(lambda x: x * 2 if isinstance(value, kind) else x, fullgraph=True), torch.ones(1)
    assert [compiled(x).item() for _ in range(2)] == [1, 1] and len(compiled._compiled.programs) == 1
    collections.abc.Sized.register(Plain)
    assert compiled(x).item() == 2


@pytest.mark.parametrize(
    "kind",
    [typing.Mapping, typing.Sequence, typing.Callable, typing.List, typing.Union[int, str], typing.Optional[dict], (typing.Dict, str)],  # noqa: UP006, UP007, UP045
    ids=str,
)  # fmt: skip
def test_names_of_typing_are_asked_as_in_python(kind):
    def f(x, value):
        return x * 2 if isinstance(value, kind) else x

    compiled, x = torch.compile(f, fullgraph=True), torch.ones(1)
    for value in ({}, [], (), len, "a", 3, 2.5, None):
        assert torch.equal(compiled(x, value), f(x, value)), value
    with pytest.raises(TypeError, match="isinstance"):
        torch.compile(lambda x: x if isinstance(x, typing.Any) else x + 1, fullgraph=True)(x)
