"""Script classes, dataclasses, named tuples and enums within programs; hooks and copies of compiled modules."""

import copy
import enum
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn


class Counter:
    def __init__(self, start: int):
        self.n = start
        self.items: list[int] = []

    def bump(self, by: int = 1) -> int:
        self.n += by
        self.items.append(self.n)
        return self.n

    def __len__(self) -> int:
        return len(self.items)

    def __add__(self, other: int) -> int:
        return self.n + other


@dataclass
class Box:
    w: int
    h: int = 2

    def area(self) -> int:
        return self.w * self.h


Pair = namedtuple("Pair", ["a", "b"])


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


def test_an_object_is_made_changed_and_asked():
    def run(x, k: int):
        counter = Counter(k)
        for i in range(3):
            counter.bump(i)
        counter.n = counter.n + 1
        return x * counter.n + len(counter) + counter.items[0] + (counter + 2)

    x = torch.ones(2)
    assert torch.equal(torch.jit.script(run)(x, 5), run(x, 5))


def test_an_object_of_python_is_an_argument():
    def grow(counter: Counter, by: int) -> int:
        return counter.bump(by) + counter.n

    assert torch.jit.script(grow)(Counter(3), 4) == 14


def test_a_dataclass_is_made():
    def run(k: int) -> int:
        box = Box(k)
        return box.area() + Box(k, h=5).area() + box.w

    assert torch.jit.script(run)(3) == run(3)


def test_a_named_tuple_without_annotations_holds_tensors():
    def run(x):
        pair = Pair(x, x + 1)
        return pair.a + pair.b

    assert torch.jit.script(run)(torch.ones(1)).item() == 3.0


def test_an_enum_is_an_argument_and_a_result():
    def other(level: Level) -> Level:
        if level == Level.LOW:
            return Level.HIGH
        return Level.LOW

    compiled = torch.jit.script(other)
    assert compiled(Level.LOW) is Level.HIGH and compiled(Level.HIGH) is Level.LOW


def test_a_missing_method_of_an_object_is_guessed():
    def run(k: int) -> int:
        return Counter(k).bumb(1)

    with pytest.raises(RuntimeError, match="did you mean 'bump'"):
        torch.jit.script(run)


def test_comprehensions_over_several_loops_and_formats():
    def run(x: float, n: int, names: list[str]) -> tuple[str, list[int], dict[str, int], list[float]]:
        text = f"{x:.2f} {n:03d} {names[0]!r:>6}|{n}"
        pairs = [i * 10 + j for i in range(n) for j in range(i) if (i + j) % 2 == 0]
        places = {name: i for i, name in enumerate(names) if i > 0}
        return text, pairs, places, [v for v in (x, x + 1, -x) if v > 0]

    args = 1.2345, 4, ["a", "b", "c"]
    assert torch.jit.script(run)(*args) == run(*args)


def test_an_ordered_dict_is_a_dict():
    def run(names: list[str], xs: list[Tensor]) -> dict[str, Tensor]:
        return OrderedDict([(name, x * 2) for name, x in zip(names, xs)])

    got = torch.jit.script(run)(["b", "a"], [torch.ones(1), torch.zeros(1)])
    assert list(got) == ["b", "a"] and got["b"].item() == 2.0


def test_a_beam_search_is_that_of_python():
    def search(scores: Tensor, k: int) -> list[tuple[float, list[int]]]:
        beams: list[tuple[float, list[int]]] = [(0.0, [0])]
        for t in range(scores.size(0)):
            found: list[tuple[float, list[int]]] = []
            for score, words in beams:
                for v in range(scores.size(1)):
                    found.append((score + float(scores[t, v]), words + [v]))
            best: list[tuple[float, list[int]]] = []
            for _ in range(min(k, len(found))):
                top = 0
                for i in range(len(found)):
                    if found[i][0] > found[top][0]:
                        top = i
                best.append(found.pop(top))
            beams = best
        return beams

    x = torch.arange(12.0).reshape(3, 4).sin()
    assert torch.jit.script(search)(x, 2) == search(x, 2)


def test_a_compiled_child_is_part_of_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.compiled = torch.jit.script(nn.Linear(2, 2))
            self.plain = nn.Linear(2, 2)

        def forward(self, x):
            return self.compiled(x) + self.plain(x)

    net = Net()
    compiled = torch.jit.script(net)
    x = torch.ones(1, 2)
    assert torch.equal(compiled(x), net(x)) and compiled.compiled is net.compiled


def test_hooks_run_around_a_compiled_module():
    compiled, seen = torch.jit.script(nn.Sequential(nn.Linear(2, 3))), []
    handle = compiled.register_forward_hook(lambda module, args, output: seen.append(output.shape))
    compiled(torch.ones(1, 2))
    handle.remove()
    compiled(torch.ones(1, 2))
    assert seen == [(1, 3)]


def test_a_module_that_holds_a_compiled_function_is_copied():
    @torch.jit.script
    def act(x):
        return x * 2

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = act

        def forward(self, x, scale: float | None = None):
            y = self.act(x)
            return y if scale is None else y * scale

    assert copy.deepcopy(Net()).act is act
    assert torch.jit.script(Net())(torch.ones(1), 3.0).item() == 6.0


def test_an_overloaded_method_is_compiled_for_each_of_its_signatures():
    class Joined(nn.Module):
        @torch.jit._overload_method
        def forward(self, x: list[Tensor]) -> Tensor: ...

        @torch.jit._overload_method
        def forward(self, x: Tensor) -> Tensor: ...  # noqa: F811

        def forward(self, x: Tensor) -> Tensor:  # noqa: F811
            if isinstance(x, Tensor):
                return x
            return torch.cat(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.join = Joined()

        def forward(self, x):
            return self.join([x, x]) + self.join(x)

    x = torch.ones(1)
    assert torch.equal(torch.jit.script(Net())(x), torch.full((2,), 2.0))


@torch.jit._overload
def paired(x: Tensor, more: str = "none") -> Tensor: ...


@torch.jit._overload
def paired(x: Tensor, more: Tensor, count: int = 1) -> tuple[Tensor, Tensor]: ...  # noqa: F811


@torch.jit._overload
def paired(x: Tensor, more: list[Tensor], count: int = 1) -> tuple[Tensor, list[Tensor]]: ...  # noqa: F811


def paired(x, more="none", count=1):  # noqa: F811
    if isinstance(more, Tensor):
        return x * count, more
    if isinstance(more, list):
        return x * count, more
    return x


def test_a_call_of_an_overloaded_function_is_of_the_first_signature_that_takes_it():
    def run(x, y):
        alone = paired(x)
        twice, same = paired(x, y, 2)
        thrice, several = paired(x, more=[x, y], count=3)
        return alone, twice, same, thrice, several

    x, y = torch.ones(1), torch.zeros(1)
    compiled = torch.jit.script(run)
    assert compiled(x, y) == (x, 2 * x, y, 3 * x, [x, y]) == run(x, y)
    assert str(compiled.schema).endswith("-> ((Tensor, Tensor, Tensor, Tensor, Tensor[]))")


def test_a_tuple_of_one_type_is_passed_for_a_list():
    def total(sizes: list[int]) -> int:
        return sum(sizes)

    def run(pair: tuple[int, int]) -> int:
        return total(pair) + total((1, 2, 3))

    assert torch.jit.script(run)((4, 5)) == 15


@torch.jit.script
@dataclass(order=True)
class Version:
    major: int
    minor: int = 0


@torch.jit.script
@dataclass
class Loose:
    """A comparison that is written by hand counts."""

    n: int

    def __eq__(self, other: "Loose") -> bool:
        return abs(self.n - other.n) < 2


def test_comparisons_of_a_dataclass():
    @torch.jit.script
    def compared(a: int, b: int):
        x, y = Version(a, b), Version(2, 3)
        return x < y, x <= y, x > y, x >= y, x == y, x != y

    for a, b in ((1, 9), (2, 2), (2, 3), (2, 4), (3, 0)):
        x, y = (a, b), (2, 3)
        assert compared(a, b) == (x < y, x <= y, x > y, x >= y, x == y, x != y)

    @torch.jit.script
    def near(a: int, b: int):
        return Loose(a) == Loose(b), Loose(a) != Loose(b)

    assert near(1, 2) == (True, False)
    assert near(1, 3) == (False, True)


@torch.jit.script
class Purse:
    def __init__(self, start: int):
        self.coins = [start]

    def put(self, coin: int) -> int:
        self.coins.append(coin)
        return len(self.coins)

    @property
    def total(self) -> int:
        return sum(self.coins)

    @staticmethod
    def twice(x: int) -> int:
        return 2 * x


def test_python_reaches_methods_of_an_object_that_no_program_has_called():
    @torch.jit.script
    def made(x: int) -> Purse:
        return Purse(x)

    purse = made(3)
    assert (purse.put(4), purse.total, purse.twice(5)) == (2, 7, 10)
    with pytest.raises(AttributeError, match="has no attribute 'gone'"):
        purse.gone


@dataclass(order=True)
class Maybe:
    x: float
    norm: "torch.Tensor | None" = None
    size: "int | None" = None


def compares(x: float, y: float, with_norm: bool) -> tuple[bool, bool, bool]:
    a, b = Maybe(x), Maybe(y)
    c = Maybe(x, torch.ones(1), 3)
    d = Maybe(x, torch.ones(1) if with_norm else None, 3)
    return a == b, a == c, c == d


def test_a_dataclass_compares_fields_that_may_be_none():
    compiled = torch.jit.script(compares)
    for given in ((1.0, 1.0, True), (1.0, 2.0, False)):
        assert compiled(*given) == compares(*given)


def orders(x: float, y: float, n: int | None) -> tuple[bool, bool, bool, bool]:
    a, b = Maybe(x, None, n), Maybe(y, None, 3)
    return a < b, a <= b, a > b, a >= b


def test_a_dataclass_orders_fields_that_may_be_none():
    compiled = torch.jit.script(orders)
    for given in ((1.0, 1.0, 3), (1.0, 2.0, None), (1.0, 1.0, 4), (2.0, 1.0, 3)):
        assert compiled(*given) == orders(*given)
    with pytest.raises(Exception, match="size: None is neither smaller nor larger"):
        compiled(1.0, 1.0, None)


def test_a_class_is_asked_for_its_attributes():
    def asked():
        return hasattr(Counter, "__init__"), hasattr(Counter, "nothing"), hasattr(Level, "nothing")

    assert torch.jit.script(asked)() == asked() == (True, False, False)


class Match:
    def __init__(self, by: float):
        self.by = by

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by


class OneMore(Match):
    def __init__(self, by: float):
        super().__init__(by)
        self.more = 1

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return super().__call__(x) + self.more


class Matched(torch.nn.Module):
    match: Match

    def __init__(self, match):
        super().__init__()
        self.match = match

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.match(x)


def test_an_attribute_annotated_with_a_base_has_the_methods_of_its_own_class():
    for match, wanted in ((OneMore(2.0), 3.0), (Match(2.0), 2.0)):
        assert torch.jit.script(Matched(match))(torch.ones(1)).item() == wanted
