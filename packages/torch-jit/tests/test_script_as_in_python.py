"""Lists, dicts, ranges, slices and formats in scripts, as they are in Python."""

import collections.abc
import io
import typing
from typing import Any

import pytest
import torch
from torch import nn


def test_a_dict_by_keywords_is_written_to_like_any_other():
    @torch.jit.script
    def counted(x: int):
        counts = dict(a=1)  # noqa: C408
        counts["b"] = x
        more = dict(counts, c=5)
        more["a"] = 0
        return counts, more

    assert counted(3) == ({"a": 1, "b": 3}, {"a": 0, "b": 3, "c": 5})


TABLE = {"a": 1}


def test_what_is_known_while_compiling_cannot_be_written_to():
    def change():
        TABLE["a"] = 2

    with pytest.raises(RuntimeError, match=r"the constant \{'a': 1\} is known while compiling and cannot be changed"):
        torch.jit.script(change)


def test_lists_compare_tensors_by_their_values():
    @torch.jit.script
    def look(values: list[torch.Tensor], x: torch.Tensor):
        ordered = sorted(values)
        at, count, there = values.index(x), values.count(x), x in values
        values.remove(x)
        return ordered, at, count, there, len(values)

    values = [torch.tensor(4), torch.tensor(1), torch.tensor(4)]
    ordered, at, count, there, left = look(values, torch.tensor(4))
    assert [each.item() for each in ordered] == [1, 4, 4] and (at, count, there, left) == (0, 2, True, 2)
    with pytest.raises(RuntimeError, match="is not in list"):
        look(values, torch.tensor(9))
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        look([torch.ones(2)], torch.zeros(2))


def test_the_smaller_of_two_lists():
    @torch.jit.script
    def both(a: list[int], b: list[int]):
        return min(a, b), max(a, b)

    assert both([1, 8], [2, 1]) == ([1, 8], [2, 1]) and both([], [1]) == ([], [1])


def test_a_slice_may_have_a_name():
    @torch.jit.script
    def cut(values: list[int], x: torch.Tensor):
        part = slice(1, None, 2)
        return values[part], x[..., part]

    assert cut(range(5), torch.arange(4))[0] == [1, 3] and cut([0], torch.arange(4))[1].tolist() == [1, 3]
    with pytest.raises(RuntimeError, match="Slice does not accept any keyword arguments"):
        torch.jit.CompilationUnit("def f(x: List[int]):\n    return x[slice(1, stop=2)]")


def test_displays_and_comprehensions_are_of_the_type_that_is_said():
    @torch.jit.script
    def made():
        some: list[int | None] = [None for _ in range(2)]
        some.append(3)
        return some

    assert made() == [None, None, 3]
    for text, message in {
        "a: List[int] = [1, 'b']": r"List type annotation `List\[int\]` did not match the types of the given list elements",
        "a: int = [1]": "Expected an annotation of type List for a list, got int",
        "a: str = 1": "Variable 'a' is annotated with type str but is being assigned to a value of type int",
    }.items():
        with pytest.raises(RuntimeError, match=message):
            torch.jit.CompilationUnit(f"def f():\n    {text}\n    return a")


def test_the_rest_of_a_tuple_is_a_tuple():
    @torch.jit.script
    def rest() -> tuple[int, tuple[str, float]]:
        first, *others = 1, "a", 2.0
        return first, others

    assert rest() == (1, ("a", 2.0))


def test_formats_say_what_does_not_fit():
    texts = {
        "'%d' % x": "%d requires a number for formatting, but got String",
        "'%c' % x": "%c requires an int or char for formatting, but got String",
        "'%s %s' % x": "Too few arguments for format string",
        "'%s' % (x, x)": "Too many arguments for format string",
        "'%a' % x": "The specifier %a is not supported",
        "'100 %' % x": "Incomplete format specifier",
    }
    for text, message in texts.items():
        with pytest.raises(RuntimeError, match=message):
            torch.jit.CompilationUnit(f"def f(x: str):\n    return {text}").f("two")
    assert torch.jit.CompilationUnit("def f(x: int, y: str):\n    return '%c%c' % (x, y)").f(97, "é") == "aé"


def test_an_error_marks_the_whole_expression_that_raised():
    unit = torch.jit.CompilationUnit("def f(x: Dict[str, int]):\n    return 1 + x['missing']")
    with pytest.raises(KeyError) as caught:
        unit.f({})
    torch.testing.FileCheck().check_source_highlighted("x['missing']").run(str(caught.value))


def test_scripted_containers_are_sequences_and_mappings():
    values, table = torch.jit.script([1, 2]), torch.jit.script({"a": 1})
    assert isinstance(values, collections.abc.Sequence) and isinstance(table, collections.abc.Mapping)
    torch.testing.assert_close(values, [1, 2])


def test_a_union_has_one_order_and_no_member_that_another_takes_in():
    @torch.jit.script
    def first(x: str | int):
        return isinstance(x, int)

    @torch.jit.script
    def second(x: tuple[int, int] | tuple[int | None, int] | str):
        return isinstance(x, str)

    torch.testing.FileCheck().check("x : Union(int, str)").run(first.graph)
    torch.testing.FileCheck().check("x : Union((int?, int), str)").run(second.graph)
    with pytest.raises(TypeError, match=r"Expected a member of Union\[int, str\] but instead found type List\[int\]"):
        first([1])


def test_a_named_tuple_of_collections_comes_back_as_one():
    Pair = collections.namedtuple("Pair", ["a", "b"])

    @torch.jit.script
    def same(x: Pair):
        return x

    found = same(Pair(torch.ones(1), torch.zeros(1)))
    assert type(found).__name__ == "Pair" and found.a.item() == 1


def test_isinstance_outside_of_scripts_asks_for_whole_types():
    with pytest.raises(RuntimeError, match="Attempted to use List without a contained type"):
        torch.jit.isinstance([1], typing.List)  # noqa: UP006
    with pytest.raises(RuntimeError, match="must be a type or a tuple of types"):
        torch.jit.isinstance(1, [int, str])
    with pytest.warns(UserWarning, match="an empty container has no inner type"):
        assert torch.jit.isinstance([], list[int])
    for name in ("List", "Tuple", "Dict", "Optional"):
        with pytest.raises(RuntimeError, match=f"Attempted to use {name} without"):
            torch.jit.script(_asks(getattr(typing, name)))


def _asks(kind):
    def ask(x: Any):
        return torch.jit.isinstance(x, kind)

    return ask


def test_modules_of_a_slice_are_given_back_as_a_tuple():
    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.ReLU()])

        def forward(self):
            return self.layers[::2]

    assert [each(torch.tensor(-1.0)).item() for each in torch.jit.script(Layers())()] == [0, 0]


def test_objects_are_compared_with_is():
    class Shares(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = torch.jit.script(nn.ReLU())
            self.table = nn.ModuleDict({"act": self.act})

        def forward(self, x, y):
            return self.table["act"] is self.act, x is y

    x = torch.ones(1)
    assert torch.jit.script(Shares())(x, x) == (True, True) and torch.jit.script(Shares())(x, x.clone()) == (
        True,
        False,
    )


def test_an_optional_value_is_compared_with_is_on_either_side():
    @torch.jit.script
    def same(x: torch.Tensor, y: torch.Tensor | None, m: int | None, n: int):
        return x is y, y is x, x is not y, y is not x, m is n, n is m

    x = torch.ones(1)
    assert same(x, x, 2, 2) == (True, True, False, False, True, True)
    assert same(x, None, None, 2) == (False, False, True, True, False, False)
    assert same(x, x.clone(), 3, 2) == (False, False, True, True, False, False)


def test_a_module_says_what_is_compiled_in_its_place():
    class Prepared(nn.Module):
        def __prepare_scriptable__(self):
            return nn.ReLU()

        def forward(self, x):
            raise RuntimeError("never compiled")

    net = torch.jit.script(nn.Sequential(Prepared()))
    assert net(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]


def test_interfaces_are_of_modules_and_inherit_nothing():
    @torch.jit.interface
    class Doubles(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            pass

    class Twice(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    class Holder(nn.Module):
        inner: Doubles

        def __init__(self):
            super().__init__()
            self.inner = Twice()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner.forward(x)

    held = torch.jit.script(Holder())
    with pytest.raises(
        RuntimeError, match="non-scripted module, tried to replace existing module 'inner' with a Twice"
    ):
        held.inner = Twice()
    with pytest.raises(RuntimeError, match="does not support inheritance yet. Please directly inherit"):

        @torch.jit.interface
        class More(Doubles):
            pass


def test_an_annotation_that_says_no_type_is_a_value_error():
    def wrong(x: dict[str, nn.Module]):
        return x

    with pytest.raises(ValueError, match="Unknown type annotation"):
        torch.jit.script(wrong)


def test_an_ignored_method_is_that_of_the_module_that_runs():
    class Holds(nn.Module):
        def __init__(self, value):
            super().__init__()
            self.value = value

        @torch.jit.ignore
        def ignored(self):
            return self.value

        def forward(self):
            return self.ignored()

    one, two = torch.jit.script(Holds(torch.ones(1))), torch.jit.script(Holds(torch.zeros(1)))
    assert one._c._type() == two._c._type() and (one().item(), two().item()) == (1, 0)


def test_exported_methods_of_children_are_compiled():
    class Child(nn.Module):
        def forward(self, x):
            return x

        @torch.jit.export
        def twice(self, x):
            return x * 2

    compiled = torch.jit.script(nn.Sequential(Child()))
    assert compiled[0].twice.graph.findNode("aten::mul") is not None


@pytest.mark.parametrize("mark", [torch.jit.unused, torch.jit.ignore])
def test_a_forward_that_is_left_to_python_is_not_compiled(mark):
    class Metric(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(2))

        @mark
        def forward(self, *args, **kwargs):
            self.update(args[0])
            return [str(each) for each in self.total.tolist()]

        @torch.jit.export
        def update(self, x):
            self.total += x

    compiled = torch.jit.script(Metric())
    assert compiled._c._method_names() == ["update"]
    assert compiled(torch.ones(2)) == ["1.0", "1.0"], "its forward runs in Python, and the program's update"
    file = io.BytesIO()
    torch.jit.save(compiled, file)
    loaded = torch.jit.load(io.BytesIO(file.getvalue()))
    loaded.update(torch.ones(2))
    assert loaded.total.tolist() == [2, 2]
    assert not hasattr(loaded, "forward"), "no archive holds what is left to Python"


def test_a_branch_that_changes_a_type_is_named_with_the_type_before():
    unit = "def f(x: int):\n    y = 'foo'\n    if x > 1:\n        y = 'bar'\n    else:\n        y = x\n    return y"
    with pytest.raises(
        RuntimeError, match="y previously had type str but is now being assigned to a value of type int"
    ):
        torch.jit.CompilationUnit(unit)


def test_an_unused_method_of_a_script_class_raises_only_when_it_is_called():
    class Counter:
        def __init__(self):
            self.count = 0

        @torch.jit.unused
        def odd(self, *args, **kwargs) -> int:
            return kwargs["x"]

        def next(self) -> int:
            self.count += 1
            return self.count

    def use(bad: bool):
        counter = Counter()
        if bad:
            return counter.odd(x=1)
        return counter.next()

    used = torch.jit.script(use)
    assert used(False) == 1
    with pytest.raises(torch.jit.Error, match="annotated to be ignored"):
        used(True)


class Quoted(typing.NamedTuple):
    number: "float"
    more: "typing.List[float]"  # noqa: UP006


def test_named_tuples_say_their_types_in_quotes():
    def total(x: float):
        both = Quoted(x, [1.0, 2.0])
        return both.number + sum(both.more)

    assert torch.jit.script(total)(3.0) == 6.0


def test_generators_are_seeded_within_a_script():
    def draw():
        generator = torch.Generator()
        generator.manual_seed(7)
        return generator.initial_seed(), torch.empty(2).normal_(0.0, 1.0, generator=generator)

    seed, drawn = torch.jit.script(draw)()
    assert seed == 7 and torch.equal(drawn, draw()[1])


def test_lists_that_scripts_share_compare_tensors_by_value_too():
    shared = torch.jit.script([torch.zeros(1), torch.ones(1)])
    assert torch.ones(1) in shared and shared.count(torch.ones(1)) == 1
    shared.remove(torch.ones(1))
    assert len(shared) == 1

    @torch.jit.script
    def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]):
        return [a] == [b]

    assert same({"x": torch.ones(1)}, {"x": torch.ones(1)})
    assert not same({"x": torch.ones(1)}, {"x": torch.zeros(1)})
    assert not same({"x": torch.ones(1)}, {"y": torch.ones(1)})


def test_widths_of_formats_put_characters_to_the_right():
    @torch.jit.script
    def f(n: int, s: str):
        return "%5c|%-5c|%5r" % (n, n, s)  # noqa: UP031

    assert f(65, "a") == "    A|A    |  'a'"


def test_what_augmented_assignment_writes_to_is_evaluated_once():
    @torch.jit.script
    def next_of(log: list[int]) -> int:
        log.append(1)
        return len(log) - 1

    @torch.jit.script
    def f(values: list[int]):
        log: list[int] = []
        values[next_of(log)] += 5
        return values, log

    assert f([1, 2]) == ([6, 2], [1])


def test_bits_are_shifted_in_place():
    @torch.jit.script
    def f(x):
        x <<= 2
        x[0] >>= 1
        return x

    assert f(torch.tensor([1, 2])).tolist() == [2, 8]


def result_of(annotation, value):
    def told(x):
        return value

    told.__annotations__["return"] = annotation
    ignored = torch.jit.ignore(told)

    def f(x: torch.Tensor):
        return ignored(x)

    return torch.jit.script(f)(torch.ones(1))


@pytest.mark.parametrize(
    "annotation, value",
    [
        (int, 2.7), (int, "s"), (list[int], (1.5, 2)), (list[int], 3), (dict[str, int], {"a": "b"}), (int | None, "a"),
        (str, 1),
    ],
)  # fmt: skip
def test_results_of_ignored_functions_that_are_not_what_they_say_are_errors(annotation, value):
    with pytest.raises(
        RuntimeError, match=r"told: expected its result to be of type .*, but instead got value of type"
    ):
        result_of(annotation, value)


def test_results_of_ignored_functions_that_can_be_converted_are():
    assert result_of(int, torch.tensor(3)) == 3 and result_of(float, 2) == 2.0
    assert result_of(tuple[int, int], [1, 2]) == (1, 2) and result_of(int | None, None) is None
    assert result_of(dict[str, int], {"a": True}) == {"a": 1}


def test_words_of_factories_are_none_of_other_operators():
    def f(x):
        return torch.add(x, 1, requires_grad=True)

    with pytest.raises(RuntimeError, match="requires_grad"):
        torch.jit.script(f)
