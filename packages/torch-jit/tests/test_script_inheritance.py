"""Script classes with base classes, class methods, operators of their own, and objects that Python gets back."""

from __future__ import annotations

import abc
import dataclasses
import io
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar, Generic, List, Tuple, TypeVar, Union  # noqa: UP035 (the script language's own)

import pytest
import torch
from torch import Tensor

T = TypeVar("T")


class Shape:
    name: str

    def __init__(self, side: int):
        self.side = side
        self.name = "shape"

    def area(self) -> int:
        return self.side

    def twice(self) -> int:
        return self.area() * 2

    @property
    def label(self) -> str:
        return self.name + str(self.area())


class Square(Shape):
    def __init__(self, side: int):
        super().__init__(side)
        self.corners = 4

    def area(self) -> int:
        return self.side * self.side


class Tile(Square):
    def area(self) -> int:
        return super().area() + self.corners


def shapes(n: int) -> Tuple[int, int, str, int, int, str]:  # noqa: UP006
    square, tile = Square(n), Tile(n + 1)
    return square.twice(), square.corners, square.label, tile.twice(), tile.side, tile.label


def test_methods_and_attributes_of_base_classes_are_there_and_overridden():
    assert torch.jit.script(shapes)(3) == shapes(3) == (18, 4, "shape9", 40, 4, "shape20")


def test_objects_of_derived_classes_are_saved():
    file = io.BytesIO()
    torch.jit.script(shapes).save(file)
    assert torch.jit.load(io.BytesIO(file.getvalue()))(2) == shapes(2)


def kinds(n: int) -> List[bool]:  # noqa: UP006
    shape, tile = Shape(n), Tile(n)
    return [isinstance(tile, Shape), isinstance(shape, Tile), isinstance(tile, Tile), isinstance(tile, (int, Square))]


def unknown(x: Any) -> bool:
    return isinstance(x, Square)


def one_of(x: Union[Shape, Tile, int]) -> int:  # noqa: UP007
    if isinstance(x, Square):
        return x.corners
    return -1


def test_isinstance_knows_derived_classes():
    assert torch.jit.script(kinds)(3) == kinds(3) == [True, False, True, True]
    asks = torch.jit.script(unknown)
    assert [asks(torch.jit.script(each)) for each in (Tile(1), Square(2), Shape(3))] == [True, True, False]
    found = torch.jit.script(one_of)
    assert [found(each) for each in (Tile(1), Shape(2), 3)] == [4, -1, -1]


class Abstract(abc.ABC, Generic[T]):
    limit: ClassVar[int] = 3

    @abc.abstractmethod
    def value(self) -> int: ...

    def double(self) -> int:
        return self.value() * 2


class Concrete(Abstract[int]):
    def __init__(self, n: int):
        self.n = n

    def value(self) -> int:
        return self.n + self.limit


def abstract(n: int) -> int:
    return Concrete(n).double()


def test_abstract_and_generic_bases_are_bases():
    assert torch.jit.script(abstract)(4) == abstract(4) == 14


class Counter(dict):
    pass


def counts() -> int:
    return len(Counter())


def test_what_is_built_in_is_no_base():
    with pytest.raises(torch.jit.frontend.NotSupportedError, match="Counter has the base class dict"):
        torch.jit.script(counts)


class Money:
    def __init__(self, cents: int):
        self.cents = cents

    @classmethod
    def of(cls, euros: int) -> Money:
        return cls(euros * 100)

    @staticmethod
    def nothing() -> Money:
        return Money.of(0)

    def __eq__(self, other: Money) -> bool:
        return self.cents == other.cents

    def __add__(self, other: Money) -> Money:
        return Money(self.cents + other.cents)

    def __rmul__(self, times: int) -> Money:
        return Money(self.cents * times)

    def __lt__(self, other: Money) -> bool:
        return self.cents < other.cents

    def __len__(self) -> int:
        return self.cents // 100


def spent(n: int) -> Money:
    one = Money.of(n)
    return 2 * (one + one.of(1)) + Money.nothing()


def test_class_methods_are_called_on_classes_and_objects():
    assert torch.jit.script(spent)(3).cents == spent(3).cents == 800


def test_python_compares_and_adds_objects_of_programs():
    spend = torch.jit.script(spent)
    a, b = spend(3), spend(4)
    assert a == spend(3) and a != b and a == Money(800) and a < b and not a > b
    assert (a + b).cents == 1800 and (3 * a).cents == 2400 and len(a) == 8 and not spend(-1)
    a.cents = 1000
    assert a == b
    with pytest.raises(AttributeError, match="Money has no attribute 'euros'"):
        a.euros = 3
    with pytest.raises(TypeError):
        a - b


class Box:
    def __init__(self, n: int):
        self.n = n

    def put(self, n: int):
        self.n = n

    @property
    def twice(self) -> int:
        return self.n * 2


def boxed(n: int) -> Box:
    return Box(n)


def test_objects_of_two_classes_are_not_equal():
    money, box = torch.jit.script(spent)(3), torch.jit.script(boxed)(800)
    assert money != box and box != money and money not in [box]
    with pytest.raises(TypeError, match="unsupported operand"):
        money + box


def test_a_list_of_objects_of_programs_finds_one():
    spend = torch.jit.script(spent)
    assert spend(2) in [spend(1), spend(2)] and len({spend(1), spend(1)}) == 2


def put(box: Box):
    box.put(box.n + 5)


def test_an_object_becomes_one_of_programs_that_shares_its_changes():
    box = torch.jit.script(Box(1))
    torch.jit.script(put)(box)
    assert (box.n, box.twice) == (6, 12)
    with pytest.raises(TypeError, match="expected a function, class or module, got int"):
        torch.jit.script(3)


class Flip:
    def __init__(self, x: Tensor):
        self.x = x

    def __neg__(self) -> Flip:
        return Flip(-self.x)

    def __mul__(self, other: Tensor) -> Tensor:
        return self.x * other


def flipped(x: Tensor) -> Tensor:
    return -Flip(x) * x


def test_an_object_times_a_tensor_is_its_own_product():
    x = torch.arange(3.0)
    assert torch.equal(torch.jit.script(flipped)(x), -x * x)


class Rank:
    def __init__(self, n: int):
        self.n = n

    def __lt__(self, other: Rank) -> bool:
        return self.n < other.n


def ranked(reverse: bool) -> List[int]:  # noqa: UP006
    pairs = [(2, Rank(1)), (1, Rank(5)), (1, Rank(3))]
    pairs.sort(reverse=reverse)
    found = [each[1].n for each in pairs]
    for pair in sorted([("b", Rank(1)), ("a", Rank(2)), ("a", Rank(1))]):
        found.append(pair[1].n)
    return found


@pytest.mark.parametrize("reverse", [False, True])
def test_tuples_with_objects_are_sorted(reverse):
    assert torch.jit.script(ranked)(reverse) == ranked(reverse)


@dataclass
class Norm:
    x: float
    y: float
    p: InitVar[int] = 2
    seen: ClassVar[int] = 7
    value: float = dataclasses.field(default=0.0, init=False)

    def __post_init__(self, p: int):
        self.value = (self.x**p + self.y**p) ** (1 / p)


def norm(x: float, y: float, p: int) -> Tuple[float, float]:  # noqa: UP006
    return Norm(x, y, p).value, Norm(x, y).value


def test_dataclasses_have_arguments_that_are_no_fields():
    assert torch.jit.script(norm)(1.0, 2.0, 3) == norm(1.0, 2.0, 3)


@torch.jit.interface
class One:
    def one(self, x: Tensor) -> Tensor:
        pass


@torch.jit.interface
class OneAndTwo:
    def one(self, x: Tensor) -> Tensor:
        pass

    def two(self, x: Tensor) -> Tensor:
        pass


class Both:
    def __init__(self):
        pass

    def one(self, x: Tensor) -> Tensor:
        return x + 1

    def two(self, x: Tensor) -> Tensor:
        return x + 2


def narrow(value: One, x: Tensor) -> Tensor:
    return value.one(x)


def wide(value: OneAndTwo, x: Tensor) -> Tensor:
    return narrow(value, x) * value.two(x)


def through(x: Tensor) -> Tensor:
    return wide(Both(), x)


def backwards(value: One, x: Tensor) -> Tensor:
    return wide(value, x)


def test_an_interface_stands_for_one_with_fewer_methods():
    x = torch.arange(3.0)
    assert torch.equal(torch.jit.script(through)(x), (x + 1) * (x + 2))
    with pytest.raises(RuntimeError, match="OneAndTwo"):
        torch.jit.script(backwards)


class Callable:
    def __call__(self, x: int) -> int:
        return x + 1


class Prepared(Callable):
    def __prepare_scriptable__(self):
        return one_more


def one_more(x: int) -> int:
    return x + 100


def wrapped(function):
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    call.__prepare_scriptable__ = lambda: function
    return call


decorated = wrapped(one_more)


def through_decorator(x: int) -> int:
    return decorated(x) + decorated(1)


def test_objects_and_functions_say_what_is_compiled_in_their_place():
    assert torch.jit.script(Callable())(1) == 2
    assert torch.jit.script(Prepared())(1) == torch.jit.script(decorated)(1) == 101
    assert torch.jit.script(through_decorator)(2) == through_decorator(2) == 203


class Wide(Shape):
    def __init__(self, side: int):
        self.side = side
        self.name = "wide"
        self.calls = 0

    def area(self) -> int:
        self.calls = self.calls + 1
        return 10 * self.side


def read_and_written(x: Any) -> int:
    if not isinstance(x, (Shape, int)):
        return -1
    if isinstance(x, int):
        return x
    area = x.area() + len(x.name)
    x.side = 1
    return 100 * x.area() + area + x.side


def of_every_class(side: int) -> list[int]:
    return [read_and_written(Shape(side)), read_and_written(Wide(side)), read_and_written(side), read_and_written("")]


def test_an_object_of_a_class_with_derived_ones_is_known_as_one_of_them():
    compiled = torch.jit.script(of_every_class)
    assert compiled(3) == of_every_class(3) == [109, 1035, 3, -1]
    file = io.BytesIO()
    torch.jit.save(compiled, file)
    assert torch.jit.load(io.BytesIO(file.getvalue()))(3) == [109, 1035, 3, -1]


def test_objects_of_script_classes_come_into_programs_as_values_of_any_type():
    compiled = torch.jit.script(read_and_written)
    assert [compiled(each) for each in (Shape(3), Wide(3), 3, "")] == [109, 1035, 3, -1]


def an_attribute_that_one_lacks(x: Any) -> int:
    if isinstance(x, Shape):
        return x.calls
    return 0


def test_what_one_of_the_classes_lacks_is_named_with_the_class():
    with pytest.raises(RuntimeError, match="'Shape' object has no attribute or method 'calls'"):
        torch.jit.script(an_attribute_that_one_lacks)
