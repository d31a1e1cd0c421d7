"""Script classes and modules as objects: properties, operators, sorting, instances as attributes, interfaces."""

import io
import pickle

import pytest
import torch
from torch import nn


class Money:
    def __init__(self, cents: int):
        self.cents = cents

    @property
    def euros(self) -> float:
        return self.cents / 100

    @euros.setter
    def euros(self, value: float):
        self.cents = int(value * 100)

    def __lt__(self, other: "Money") -> bool:
        return self.cents < other.cents

    def __neg__(self):
        return Money(-self.cents)

    def __contains__(self, part: int) -> bool:
        return part <= self.cents

    def __str__(self) -> str:
        return "money"

    def __bool__(self) -> bool:
        return self.cents != 0

    def __int__(self) -> int:
        return self.cents

    def add(self, cents: int) -> "Money":
        self.cents += cents
        return self


def test_a_property_is_read_and_set():
    @torch.jit.script
    def paid(cents: int) -> tuple[float, int]:
        mine = Money(cents)
        mine.euros = mine.euros + 1.5
        return mine.euros, mine.cents

    assert paid(50) == (2.0, 200)


def test_operators_are_methods_of_the_class():
    @torch.jit.script
    def asked(cents: int) -> tuple[int, bool, bool, str, bool, int]:
        mine = Money(cents)
        return (-mine).cents, 3 in mine, 30 not in mine, str(mine), bool(Money(0)), int(mine)

    assert asked(7) == (-7, True, True, "money", False, 7)


@pytest.mark.parametrize("reverse", [False, True])
def test_objects_are_sorted_by_their_order(reverse):
    @torch.jit.script
    def ordered(cents: list[int], reverse: bool) -> tuple[list[int], list[int]]:
        found = [Money(each) for each in cents]
        copy = sorted(found, reverse=reverse)
        first = [each.cents for each in found]
        found.sort(reverse=reverse)
        assert [each.cents for each in copy] == [each.cents for each in found]
        return first, [each.cents for each in found]

    cents = [3, 1, 2, 1]
    assert ordered(cents, reverse) == (cents, sorted(cents, reverse=reverse))


def test_an_instance_is_an_attribute_of_a_module():
    class Till(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.money = Money(1)

        def forward(self, cents: int) -> int:
            return self.money.add(cents).cents

    torch.jit.script(Money)
    till = torch.jit.script(Till())
    assert [till(2), till(2)] == [3, 5]


class Scaled(torch.nn.Module):
    rate: torch.jit.Final[int]

    def __init__(self):
        super().__init__()
        self.scale, self.rate = 1, 7

    @property
    def twice(self) -> int:
        return 2 * self.scale

    @twice.setter
    def twice(self, value: int):
        self.scale = value // 2

    def forward(self, n: int) -> int:
        self.twice = n
        return self.scale * self.rate


def test_a_property_of_a_module_is_set_in_its_program_and_from_python():
    module = torch.jit.script(Scaled())
    assert module(6) == 21 and module.twice == 6
    module.twice = 10
    assert module.scale == 5


def test_constants_of_a_program_cannot_be_changed():
    with pytest.raises(AttributeError, match="'rate' is a constant of its program"):
        torch.jit.script(Scaled()).rate = 8


@torch.jit.interface
class Step(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Shift(torch.nn.Module):
    def __init__(self, by: int):
        super().__init__()
        self.by = by

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.by


class Chosen(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = torch.nn.ModuleList([Shift(1), Shift(10)])

    def forward(self, x: torch.Tensor, i: int) -> torch.Tensor:
        step: Step = self.steps[i]
        return step.forward(x)


def test_modules_of_one_kind_are_chosen_at_run_time():
    chosen = torch.jit.script(Chosen())
    assert [chosen(torch.zeros(1), i).item() for i in (0, 1)] == [1, 10]


def test_a_bare_script_module_takes_methods_from_a_text():
    module = torch.jit.ScriptModule()
    module.define("def forward(self, x):\n    return x + 1\n")
    assert module(torch.ones(1)).item() == 2


def test_attributes_of_2018_are_those_of_the_program():
    class Counter(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.seen = torch.jit.Attribute([], list[int])

        @torch.jit.script_method
        def forward(self, n: int) -> list[int]:
            self.seen.append(n)
            return self.seen

    counter = Counter()
    counter(1)
    assert counter(2) == counter.seen == [1, 2]


def test_a_trace_follows_the_number_of_elements():
    mean = torch.jit.trace(lambda x: x.sum() / x.numel(), torch.ones(4))
    assert mean(torch.full((6,), 3.0)).item() == 3


def test_a_trace_of_what_gives_nothing_is_refused():
    with pytest.raises(RuntimeError, match="didn't return any values"):
        torch.jit.trace(lambda x: None, torch.ones(1))


def test_an_object_that_a_program_returns_has_attributes_and_methods():
    @torch.jit.script
    def made(cents: int) -> Money:
        return Money(cents)

    mine = made(5)
    assert mine.cents == 5 and mine.add(3).cents == 8 == mine.cents
    with pytest.raises(AttributeError, match="no attribute 'pounds'"):
        mine.pounds


def test_a_method_and_a_layer_are_forked():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def slow(self, x, n: int):
            return self.layer(x) * n

        def forward(self, x):
            a, b = torch.jit.fork(self.slow, x, n=2), torch.jit.fork(self.layer, x)
            return torch.jit.wait(a) - torch.jit.wait(b)

    net, x = Net(), torch.ones(1, 2)
    assert torch.allclose(torch.jit.script(net)(x), net.layer(x))


def test_a_traced_module_keeps_numbers_and_texts():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.rate, self.title = torch.nn.Linear(2, 2), 3, "net"

        def forward(self, x):
            return self.layer(x) * self.rate

    traced = torch.jit.trace(Net(), torch.ones(1, 2))
    file = io.BytesIO()
    torch.jit.save(traced, file)
    for each in (traced, torch.jit.load(io.BytesIO(file.getvalue()))):
        assert (each.rate, each.title) == (3, "net")


def _first_by_second(pair: tuple[torch.Tensor, float]) -> torch.Tensor:
    return pair[0] * pair[1]


def test_a_list_of_the_right_length_serves_as_a_tuple():
    scripted = torch.jit.script(_first_by_second)
    assert scripted([torch.ones(2), 3]).tolist() == [3, 3] == scripted((torch.ones(2), 3)).tolist()
    with pytest.raises(TypeError, match=r"'Tuple\[Tensor, float\]' for argument 'pair' but instead found"):
        scripted([torch.ones(2)])


class Recipe:
    def __init__(self, shape: list[int], names: dict[str, int], steps: list[dict[str, int]]):
        self.shape: list[int] = shape
        self.names: dict[str, int] = names
        self.steps: list[dict[str, int]] = steps


def _apply(recipe: Recipe, x: torch.Tensor, extra: list[tuple[str, int]]) -> torch.Tensor:
    for name, size in extra:
        x = x * (size + recipe.names.get(name, 0))
    return x.reshape(recipe.shape) + len(recipe.steps)


class Planned(torch.nn.Module):
    """As libraries of patterns keep them: plans by number of dims, in a dict without an annotation."""

    def __init__(self, names, extra=()):
        super().__init__()
        self.plans = {1: Recipe([-1, 2], names, [{}]), 2: Recipe([-1], names, [])}
        self.extra = extra

    def forward(self, x):
        return _apply(self.plans[x.dim()], x, self.extra)


@pytest.mark.parametrize(("names", "extra", "factor"), [({}, (), 1), ({"a": 2}, (("a", 1), ("b", 3)), 9)])
def test_objects_of_plain_classes_within_a_dict_are_compiled_with_their_class(names, extra, factor):
    scripted = torch.jit.script(Planned(names, extra))
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    for each in (scripted, torch.jit.load(io.BytesIO(file.getvalue()))):
        assert each(torch.ones(4)).tolist() == [[factor + 1.0] * 2] * 2
        assert each(torch.ones(2, 2)).tolist() == [factor] * 4


class Settings:
    def __init__(self, rate):
        self.rate = rate


class Knot:
    def __init__(self, other: "Knot"):
        self.other = other


def _knot():
    knot = Knot.__new__(Knot)
    knot.other = knot
    return knot


@pytest.mark.parametrize("held", [Settings(0.5), _knot(), object()])
def test_objects_that_the_script_language_cannot_hold_are_no_trouble_unless_used(held):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.held = held

        def forward(self, x):
            return x + 1

    class Using(Net):
        def forward(self, x):
            return x + self.held.rate

    assert torch.jit.script(Net())(torch.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match=f"'held'.*a value of {type(held).__name__} has no type"):
        torch.jit.script(Using())


def test_a_traced_child_is_forked():
    class Forks(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.traced = torch.jit.trace(nn.Sequential(nn.ReLU(), nn.Tanh()), torch.ones(2))

        @torch.jit.script_method
        def forward(self, x):
            return torch.jit.wait(torch.jit.fork(self.traced, x))

    x = torch.tensor([-1.0, 1.0])
    assert torch.equal(Forks()(x), x.relu().tanh())


@pytest.mark.parametrize("name", ["Object", "Function", "Node", "Value", "Block", "ScriptList", "ScriptDict", "Tracer"])
def test_an_instance_that_was_not_made_is_refused_and_not_read(name):
    kind = getattr(torch.jit._native, name)
    with pytest.raises(TypeError, match=f"{name}.* is not safe|{name}: made of nothing"):
        kind.__new__(kind)


def test_states_of_pytorch_with_objects_of_programs_are_refused():
    pickled = b"\x80\x02ctorch\nScriptObject\n)\x81(K\x01tb."  # as those of dynamic LSTM layers are
    with pytest.raises(TypeError, match="made of nothing; objects of programs are not read from pickles"):
        pickle.loads(pickled)
