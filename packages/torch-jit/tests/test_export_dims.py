"""Which sizes may change: the forms in which ``dynamic_shapes`` says it."""

import dataclasses
import functools
import io

import pytest
import torch
from torch.export import AdditionalInputs, Dim, UserError, export
from torch.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes as refined


class Sum(torch.nn.Module):
    def forward(self, x, y):
        return x + y


class Cut(torch.nn.Module):
    def forward(self, x, n):
        return x[:n] * n


@dataclasses.dataclass
class Rows:
    x: torch.Tensor
    factor: object = None
    bias: object = None


torch.export.register_dataclass(Rows, serialized_type_name="test_export_dims.Rows")


class Scaled(torch.nn.Module):
    def forward(self, rows):
        return Rows(rows.x * rows.factor, None, rows.x.sum(0))


@pytest.mark.parametrize("spec", [[{0: Dim("rows")}, None], ({0: Dim.DYNAMIC}, None)])
def test_sizes_within_a_registered_class_are_said_by_the_order_of_its_fields(spec):
    program = export(Scaled(), (Rows(torch.ones(4, 2), 3),), dynamic_shapes={"rows": spec})
    result = program.module()(Rows(torch.ones(7, 2), 3))
    assert result.x.shape == (7, 2) and result.bias.tolist() == [7, 7] and result.factor is None
    with pytest.raises(UserError, match=r"\[None\] is said of a Rows of 2: give a tuple of as many entries"):
        export(Scaled(), (Rows(torch.ones(4, 2), 3),), dynamic_shapes={"rows": [None]})


def test_a_registered_class_with_absent_fields_is_saved_and_loaded():
    file = io.BytesIO()
    torch.export.save(export(Scaled(), (Rows(torch.ones(4, 2), 3),)), file)
    file.seek(0)
    result = torch.export.load(file).module()(Rows(torch.ones(4, 2), 3))
    assert isinstance(result, Rows) and result.bias.tolist() == [4, 4]


def test_hints_have_bounds():
    x = torch.ones(4, 3)
    program = export(Sum(), (x, x), dynamic_shapes=({0: Dim.DYNAMIC(min=2, max=10)}, {0: Dim.AUTO}))
    assert (2, 10) in [tuple(bounds) for bounds in program.range_constraints.values()]
    assert program.module()(torch.ones(10, 3), torch.ones(10, 3)).shape == (10, 3)
    for rows in (1, 11):
        with pytest.raises(RuntimeError, match=rf"2 <= .* <= 10.*got {rows}"):
            program.module()(torch.ones(rows, 3), torch.ones(rows, 3))
    assert repr(Dim.AUTO(max=4)) == "DimHint(AUTO, max=4)" and Dim.AUTO(min=2) == Dim.AUTO(min=2) != Dim.AUTO


def test_bounds_of_ints_are_those_that_are_said():
    program = export(Cut(), (torch.ones(8), 3), dynamic_shapes=(None, Dim.DYNAMIC(min=1, max=6)))
    assert program.module()(torch.ones(8), 6).shape == (6,)
    with pytest.raises(RuntimeError, match="got 7"):
        program.module()(torch.ones(8), 7)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Dim.AUTO(min=3, max=2), "Dim.AUTO: min must be at most max, got min=3, max=2"),
        (lambda: Dim.DYNAMIC(min=-1), "Dim.DYNAMIC: min must be a size, got -1"),
    ],
)
def test_bounds_that_cannot_be_are_refused(make, message):
    with pytest.raises(AssertionError, match=message):
        make()


def test_bounds_are_said_once_and_hold_for_the_example():
    with pytest.raises(TypeError, match=r"DimHint\(AUTO, min=2\) has its bounds already"):
        Dim.AUTO(min=2)(max=3)
    with pytest.raises(UserError, match=r"dim 0 is 4, outside of Dim.DYNAMIC's \[0, 3\]"):
        export(Sum(), (torch.ones(4), torch.ones(4)), dynamic_shapes=({0: Dim.DYNAMIC(max=3)}, None))


def test_an_int_that_differs_in_further_examples_may_change():
    more, x = AdditionalInputs(), torch.ones(8)
    more.add((x, 2))
    more.add((torch.ones(9), 4))
    assert more.dynamic_shapes(Cut(), (x, 3)) == {"x": {0: Dim.DYNAMIC}, "n": Dim.DYNAMIC}
    program = export(Cut(), (x, 3), dynamic_shapes=more)
    assert program.module()(torch.ones(7), 5).tolist() == [5] * 5
    more.verify(program)
    more.add((torch.ones(8, 2), 3))
    with pytest.raises(AssertionError, match="x: the program was exported for torch.float32 with 1 dims"):
        more.verify(program)


@pytest.mark.parametrize(
    "fixes, before, after",
    [
        ("a = 5", {"x": {0: 2 * Dim("a") + 1, 1: None}}, {"x": {0: 11, 1: None}}),
        ("a = Dim('a', min=2, max=5)", ({0: Dim("a")}, [2 * Dim("a")]), ({0: Dim("a", 2, 5)}, [2 * Dim("a", 2, 5)])),
        ("b = a", {"x": (Dim("a"), Dim.AUTO), "y": {"k": [Dim("b"), 3]}}, {"x": (Dim("a"), Dim.AUTO), "y": {"k": [Dim("a"), 3]}}),
        ("_a = Dim('_a', max=9)\n  a = 2*_a - 1", ({0: Dim("a")},), ({0: 2 * Dim("_a", max=9) - 1},)),
        ("a = Dim('a', min=2)\n  b = a*1", ({0: Dim("a")}, {0: Dim("b")}), ({0: Dim("a", 2)}, {0: Dim("a", 2)})),
        ("a = b\n  b = 2*c\n  c = 3", ({0: 2 * Dim("a")}, {0: Dim("b")}, {0: Dim("c")}), ({0: 12}, {0: 6}, {0: 3})),
        ("a = 3\n  b = " + "-" * 100_000 + "1", ({0: Dim("a")},), ({0: 3},)),
        ("a = 3\n\nThe error above occurred. b = 4", ({0: Dim("a")},), ({0: 3},)),
    ],
)  # fmt: skip
def test_what_an_error_suggests_is_put_in(fixes, before, after):
    assert refined(f"Constraints violated!\n  - a reason\nSuggested fixes:\n  {fixes}", before) == after


def test_suggested_fixes_of_an_export_make_it_work():
    args, shapes = (torch.ones(4, 3), torch.ones(4, 3)), ({0: Dim("a")}, {0: Dim("b")})
    with pytest.raises(UserError) as caught:
        export(Sum(), args, dynamic_shapes=shapes)
    program = export(Sum(), args, dynamic_shapes=refined(str(caught.value), shapes))
    assert program.module()(torch.ones(7, 3), torch.ones(7, 3)).shape == (7, 3)


@pytest.mark.parametrize(
    "message, text",
    [
        ("all is well", "has no 'Suggested fixes:': 'all is well'"),
        ("Suggested fixes:\n  none", "there is no line like 'batch = 4'"),
        ("Suggested fixes:\n  a = " + "-" * 100_000 + "1", "there is no line like 'batch = 4'"),
        ("Suggested fixes:\n  a = " + "1+" * 20_000 + "1", "there is no line like 'batch = 4'"),
        ("Suggested fixes:\n  a = a" + "+1" * 2000, "the fix of a is nested too deeply"),
        ("Suggested fixes:\n  a = b\n  b = a", "the fixes go round: a = b = a"),
        ("Suggested fixes:\n  a = 5 - a", r"the fix of a takes Dim\('a', min=0\) away from 5"),
        ("Suggested fixes:\n  c = 4", "a fix is for c, and the Dims are a"),
        ("Suggested fixes:\n  a = 2*c", "the fix of a follows c, and the Dims are a"),
        (
            "Suggested fixes:\n  a = open('x')",
            r"must be an int, Dim\(...\), another name or a sum or product, got \"open",
        ),
        ("Suggested fixes:\n  a = Dim('a', size=3)", r"must be an int, Dim\(...\)"),
    ],
)
def test_other_messages_are_refused(message, text):
    with pytest.raises(UserError, match=text):
        refined(message, ({0: Dim("a")},))


def test_caches_of_users_keep_no_size_that_may_change():
    def places(sizes, times):
        return (sizes[0], times, *sizes[1:])

    kept = functools.lru_cache(places)

    def repeated(x):  # as einops does
        try:
            sizes = kept(tuple(x.shape), 2)
        except TypeError:
            sizes = places(tuple(x.shape), 2)
        return x.unsqueeze(1).expand(sizes)

    class Repeats(torch.nn.Module):
        def forward(self, x):
            return repeated(x)

    x, y = torch.rand(2, 3), torch.rand(5, 3)
    repeated(x)
    program = torch.export.export(Repeats(), (x,), dynamic_shapes=({0: torch.export.Dim("b")},))
    assert torch.equal(program.module()(y), repeated(y))
    assert all(type(size) is int for size in kept(tuple(x.shape), 2))


def test_a_size_that_may_change_is_no_key():
    class Looks(torch.nn.Module):
        def forward(self, x):
            return x * {2: 3.0}.get(x.shape[0], 1.0)

    with pytest.raises(TypeError, match=r"unhashable type: b, a size that may change"):
        torch.export.export(Looks(), (torch.rand(2, 3),), dynamic_shapes=({0: torch.export.Dim("b")},))
