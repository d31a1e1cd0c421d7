"""Statements and annotations of programs: del, tolist, unions as results, enums in loops, containers of any type."""

import collections.abc
import enum
import io
import numbers
from typing import Any

import pytest
import torch
from torch.nn.modules.utils import _pair, _triple


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def saved(fn):
    """A compiled function, written and read again."""
    file = io.BytesIO()
    torch.jit.save(fn, file)
    return torch.jit.load(io.BytesIO(file.getvalue()))


def test_del_removes_elements_of_lists_and_dicts():
    @torch.jit.script
    def without(items: list[int], named: dict[str, int]) -> tuple[list[int], dict[str, int]]:
        del items[1], named["a"]
        return items, named

    assert without([1, 2, 3], {"a": 1, "b": 2}) == ([1, 3], {"b": 2})


def test_a_deleted_name_has_no_value():
    def wrong(x):
        y = x + 1
        del y
        return y  # noqa: F821

    with pytest.raises(RuntimeError, match="undefined value y: it was deleted"):
        torch.jit.script(wrong)


def test_tolist_gives_what_its_annotation_says():
    @torch.jit.script
    def lists(x, n, mask) -> tuple[list[list[float]], int, list[bool]]:
        rows: list[list[float]] = x.tolist()
        number: int = n.tolist()
        return rows, number, torch.jit.annotate(list[bool], mask.tolist())

    x, n, mask = torch.arange(6.0).reshape(2, 3).t(), torch.tensor(7), torch.tensor([True, False])
    expected = x.tolist(), 7, [True, False]
    assert lists(x, n, mask) == expected
    assert saved(lists)(x, n, mask) == expected
    assert "annotate(List[List[float]], (x).tolist())" in lists.code


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (torch.ones(2, 2, dtype=torch.int64), "lists of depth 1, the tensor has 2 dims"),
        (torch.ones(2), "dtype torch.float32"),
    ],
)
def test_tolist_refuses_a_tensor_of_another_kind(tensor, message):
    @torch.jit.script
    def ints(x) -> list[int]:
        found: list[int] = x.tolist()
        return found

    with pytest.raises(RuntimeError, match=message):
        ints(tensor)


def test_each_way_out_of_a_function_may_return_another_member_of_its_union():
    @torch.jit.script
    def longer(x: int | str | list[int]) -> int | str:
        if isinstance(x, int):
            return x + 1
        elif isinstance(x, str):
            return x + "a"
        return len(x)

    assert [longer(1), longer("b"), longer([1, 2])] == [2, "ba", 2]


def test_any_value_is_asked_whether_it_is_a_container():
    @torch.jit.script
    def kind(x: Any) -> str:
        if isinstance(x, (list, tuple)):
            return "sequence"
        if isinstance(x, dict):
            return "dict"
        return "int" if isinstance(x, int) else "other"

    values = [[1], (1, "a"), {"a": 1}, 3, "text"]
    expected = ["sequence", "sequence", "dict", "int", "other"]
    assert [kind(each) for each in values] == expected
    again = saved(kind)
    assert [again(each) for each in values] == expected


def test_an_assertion_refines_a_name_assigned_before():
    @torch.jit.script
    def total(y: int | None = None) -> int:
        z = y
        assert z is not None
        return z + 1

    assert total(2) == 3
    with pytest.raises(AssertionError):
        total()


def test_a_loop_goes_over_the_members_of_an_enum():
    @torch.jit.script
    def values(mine: Color) -> tuple[list[int], bool]:
        found: list[int] = []
        for each in Color:
            found.append(each.value)
        return found, mine is Color.RED

    assert values(Color.RED) == ([1, 2], True)


def test_dict_takes_pairs_of_zip_and_keywords():
    @torch.jit.script
    def made(n: int) -> tuple[dict[str, int], dict[str, int]]:
        return dict(zip(["a", "b"], [1, n])), dict(a=1, b=n)  # noqa: C408

    assert made(5) == ({"a": 1, "b": 5}, {"a": 1, "b": 5})


def test_a_number_is_put_where_a_tensor_of_places_says():
    @torch.jit.script
    def put(x, at):
        x[at] = 3
        return x

    assert put(torch.zeros(3), torch.tensor([1])).tolist() == [0, 3, 0]


def test_a_text_of_several_lines_keeps_its_spaces():
    @torch.jit.script
    def text() -> str:
        return """a
            b
c"""

    assert text() == "a\n            b\nc"


def test_a_function_of_python_may_say_its_types_in_a_comment():
    @torch.jit.ignore
    def shown(x):
        # type: (int) -> str
        return str(x)

    @torch.jit.script
    def twice(x: int) -> str:
        return shown(x) + "!"

    assert twice(3) == "3!"


class Span:
    def __init__(self, low, high=2.5):
        # type: (float, float) -> None
        self.low = low
        self.high = high

    def within(self, other: "Span") -> bool:
        return other.low <= self.low and self.high <= other.high


def test_a_class_may_name_itself_and_say_types_in_comments():
    @torch.jit.script
    def inside(x: float) -> bool:
        return Span(x).within(Span(0.0, 3.0))

    assert inside(1.0) and not inside(-1.0)


def test_a_loop_leaves_its_last_element_behind():
    @torch.jit.script
    def last(n: int) -> tuple[int, int]:
        i = 7
        total = 0
        for i in range(n):
            total += i
        return i, total

    assert last(3) == (2, 3) and last(0) == (7, 0)


def test_tuples_are_joined():
    @torch.jit.script
    def joined(x: tuple[int, int], y: tuple[str]) -> tuple[int, int, str]:
        return x + y

    assert joined((1, 2), ("a",)) == (1, 2, "a")


def test_operators_are_called_by_their_names_in_torch_ops():
    @torch.jit.script
    def twice(x):
        return torch.ops.aten.relu(x) + torch.ops.aten.mul.Tensor(x, x)

    assert twice(torch.tensor([-1.0, 2.0])).tolist() == [1, 6]


def test_slices_are_objects_in_subscripts():
    @torch.jit.script
    def cut(x, items: list[int]):
        return x[slice(0, 1), slice(1, 2)], items[slice(2)], items[slice(None, None, 2)]

    assert cut(torch.arange(4.0).view(2, 2), [1, 2, 3])[1:] == ([1, 2], [1, 3])

    @torch.jit.script
    def without_step(x, items: list[int]):
        return x[slice(None, -1, None)], items[slice(1, None, None)], items[1:None:None]

    x = torch.arange(4.0).view(2, 2)
    first, rest, again = without_step(x, [1, 2, 3])
    assert torch.equal(first, x[:-1]) and rest == again == [2, 3]

    @torch.jit.script
    def by_name(x):
        return x[(Ellipsis, slice(None, 1, None))]

    assert torch.equal(by_name(x), x[..., :1])


def test_results_of_operators_have_names():
    @torch.jit.script
    def largest(x):
        return x.max(dim=0).values + x.sort(dim=0).indices[0]

    x = torch.tensor([[1.0, 5.0], [3.0, 2.0]])
    assert torch.equal(largest(x), x.max(dim=0).values + x.sort(dim=0).indices[0])


def test_equal_values_have_one_hash():
    @torch.jit.script
    def hashes(a: int, b: str, c: tuple[int, str]) -> list[int]:
        return [hash(a), hash(b), hash(c)]

    first, again, other = hashes(1, "a", (1, "b")), hashes(1, "a", (1, "b")), hashes(2, "b", (1, "c"))
    assert first == again and all(x != y for x, y in zip(first, other))


def test_devices_have_their_own_hashes():
    @torch.jit.script
    def hashes(a: torch.device, b: torch.device, c: torch.device) -> list[int]:
        return [hash(a), hash(b), hash(c), hash((a, b))]

    cpu, first, second = torch.device("cpu"), torch.device("cuda:0"), torch.device("cuda:1")
    found = hashes(cpu, first, second)
    assert len(set(found)) == 4 and found == hashes(torch.device("cpu"), first, second)


def one_type(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor):
    return a.dtype is b.dtype is c.dtype


def test_identity_is_compared_in_chains():
    script, one = torch.jit.script(one_type), torch.ones(1)
    assert script(one, one, one) and not script(one, one.double(), one) and not script(one, one, one.double())


def test_elements_chosen_by_a_mask_are_changed_in_their_tensor():
    def shifted(x, mask, rows, y):
        x = x.clone()
        x[mask] += y[mask]
        x[rows, 0] *= 10
        x[0] -= 1
        return x

    x, rows = torch.arange(6.0).reshape(3, 2), torch.tensor([0, 2])
    args = x, x > 2, rows, torch.ones(3, 2)
    assert torch.equal(torch.jit.script(shifted)(*args), shifted(*args))


def test_values_of_different_types_are_not_one_object():
    unit = torch.jit.CompilationUnit("""
    def same(x: List[int], n: int) -> Tuple[bool, bool, bool, bool]:
        return x is x, x is n, 1.5 is 1.5, 1 is not True
    """)
    assert unit.same([1], 1) == (True, False, True, True)


def test_a_star_takes_the_rest_of_a_tuple_as_a_tuple():
    @torch.jit.script
    def rest() -> tuple[int, tuple[int, str], list[int]]:
        a, *b = 1, 2, "three"
        _, *c = 4, 5, 6
        return a, b, c

    assert rest() == (1, (2, "three"), [5, 6])


def test_an_object_without_addition_is_not_added_to():
    class Plain:
        def __init__(self):
            self.n = 1

    @torch.jit.script
    class Counts:
        def __init__(self):
            self.n = 1

        def __iadd__(self, n: int):
            self.n += n
            return self

    @torch.jit.script
    def counted(n: int) -> int:
        counts = Counts()
        counts += n
        return counts.n

    assert counted(4) == 5

    def added():
        plain = Plain()
        plain += 1
        return plain.n

    with pytest.raises(
        RuntimeError, match=r"Cannot emit inplace op on .*Plain since it does not define an __iadd__ or"
    ):
        torch.jit.script(added)


class Noted:
    """What writes down, as digits, when it enters (1) and leaves (2)."""

    def __init__(self, digits: torch.Tensor, fails: bool = False):
        self.digits = digits
        self.fails = fails

    def __enter__(self) -> int:
        self.digits.mul_(10).add_(1)
        return 3

    def __exit__(self, kind: Any, error: Any, trace: Any):
        self.digits.mul_(10).add_(2)
        if self.fails:
            raise ValueError("while leaving")


@torch.jit.script
def noted(digits: torch.Tensor, others: torch.Tensor, x: torch.Tensor, how: str) -> torch.Tensor:
    outer, inner, y = Noted(digits), Noted(others, how == "worse"), x
    for i in range(2):
        with outer as n:
            x = x * n
            with inner, outer:
                if i == 1 and how != "well":
                    raise IndexError("within")
                y = x + 1
        with inner:
            pass
    return y


class Noting(torch.nn.Module):
    def forward(self, digits, others, x, how: str):
        return noted(digits, others, x, how)


@pytest.mark.parametrize("form", ["compiled", "loaded", "frozen"])
def test_a_block_is_left_also_when_its_body_raises(form):
    run = noted if form == "compiled" else torch.jit.script(Noting().eval())
    run = saved(run) if form == "loaded" else torch.jit.freeze(run) if form == "frozen" else run
    seen = {}
    for how in ("well", "badly"):
        digits, others = torch.zeros(2, dtype=torch.int64)
        if how == "well":
            assert run(digits, others, torch.ones(1), how).item() == 10
        else:
            with pytest.raises(Exception, match="within"):
                run(digits, others, torch.ones(1), how)
        seen[how] = digits.item(), others.item()
    assert seen == {"well": (11221122, 12121212), "badly": (11221122, 121212)}


def test_an_error_while_leaving_gives_way_to_that_of_the_body():
    digits, others = torch.zeros(2, dtype=torch.int64)
    with pytest.raises(Exception, match="while leaving"):
        noted(digits, others, torch.ones(1), "worse")


def test_text_of_a_block_is_a_with():
    assert "with outer as n:" in noted.code and noted.code.count("with ") == 4 and "pass" in noted.code


def test_modes_are_put_back_when_a_body_raises():
    @torch.jit.script
    def run(x, kind: str):
        with torch.no_grad(), torch.autocast("cpu"):
            if kind != "":
                raise ValueError(kind)
            return x * 2

    assert not run(torch.ones(1, requires_grad=True), "").requires_grad
    for each in (run, saved(run)):
        with pytest.raises(Exception, match="no"):
            each(torch.ones(1), "no")
        assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")


def test_tensors_of_bits_are_changed_in_place():
    def bits(x, y):
        seen = x
        x |= 8
        x &= 13
        x ^= 3
        y |= True
        x[0] |= 64
        x[:, 1] &= 1
        x[x > 5] ^= 7
        return seen, y

    given = lambda: (torch.arange(6).reshape(2, 3), torch.tensor([True, False]))
    for mine, want in zip(torch.jit.script(bits)(*given()), bits(*given()), strict=True):
        assert torch.equal(mine, want)


class Bytes(torch.nn.Module):
    def forward(self, x):
        return x.view(torch.int8), x.view(dtype=torch.int8), x.view(2, 2), x.view(-1)


def test_the_same_bytes_are_seen_as_another_dtype():
    x = torch.tensor([250, 2, 3, 4], dtype=torch.uint8)
    want = [[-6, 2, 3, 4], [-6, 2, 3, 4], [[250, 2], [3, 4]], [250, 2, 3, 4]]
    for made in (torch.jit.script(Bytes()), torch.jit.trace(Bytes(), x)):
        for each in (made, saved(made)):
            assert [y.tolist() for y in each(x)] == want


def test_an_empty_list_equals_another_whatever_its_elements_are():
    @torch.jit.script
    def empty(numbers: list[int], named: dict[str, int]):
        made = []
        same = made == numbers
        return numbers == [], numbers != [], named == {}, same, made

    for each in (empty, saved(empty)):
        assert each([], {}) == (True, False, True, True, [])
        assert each([1], {"a": 1}) == (False, True, False, False, [])


def test_a_function_of_any_keywords_is_refused_by_its_name():
    def takes(a: int, **rest: int):
        return a

    with pytest.raises(
        torch.jit.frontend.NotSupportedError, match=r"takes: Compiled functions can't take .* \(\*\*rest\)"
    ):

        @torch.jit.script
        def run(x: int):
            return takes(x, b=2)


def test_hasattr_knows_modules_of_python():
    @torch.jit.script
    def run(x):
        return x * 2 if hasattr(torch, "relu") and not hasattr(torch, "no_such_function") else x

    assert run(torch.ones(1)).item() == 2


def test_both_sides_of_a_choice_take_the_type_that_is_said_of_it():
    @torch.jit.script
    def run(n: int | None) -> tuple[list[int | None], dict[str, int | None], tuple[list[int], int]]:
        items: list[int | None] = [n] if n is not None else [None, None]
        named: dict[str, int | None] = {"n": n} if n is not None else {"none": None}
        pair: tuple[list[int], int] = ([], 1) if n is None else ([n], 2)
        return items, named, pair

    for each in (run, saved(run)):
        assert each(3) == ([3], {"n": 3}, ([3], 2))
        assert each(None) == ([None, None], {"none": None}, ([], 1))

    def wrong(n: int) -> list[int]:
        return [n] if n > 0 else ["none"]

    with pytest.raises(RuntimeError, match="List type annotation `List\\[int\\]` did not match"):
        torch.jit.script(wrong)


Values = torch.Tensor | list[torch.Tensor] | str | None


def test_branches_may_make_a_parameter_any_type_of_its_union():
    @torch.jit.script
    def more(values: Values = "none"):
        if isinstance(values, torch.Tensor):
            values = values + 1
        elif isinstance(values, (list, tuple)):
            values = [each + 1 for each in values]
        return values

    @torch.jit.script
    def growing(values: int | str) -> int | str:
        for _ in range(3):
            if isinstance(values, int):
                values = values + 1
            else:
                values = values + "a"
        return values

    for each in (more, saved(more)):
        assert each(torch.ones(2)).tolist() == [2, 2]
        assert [x.tolist() for x in each([torch.ones(1), torch.zeros(1)])] == [[2], [1]]
        assert (each(None), each("text"), each()) == (None, "text", "none")
    assert (growing(1), growing("b"), saved(growing)(2)) == (4, "baaa", 5)

    def wrong(values: int | str):
        if isinstance(values, int):
            values = torch.ones(2)
        return values

    with pytest.raises(RuntimeError, match="values is set to type Tensor in the true branch and type str in the false"):
        torch.jit.script(wrong)


def test_text_says_by_a_cast_that_the_sides_of_a_branch_are_of_a_union():
    @torch.jit.script
    def run(number: bool) -> int | str:
        if number:
            return 3
        else:
            return "a"

    assert "unchecked_cast(Union[int, str], 3)" in run.code, "for PyTorch's reader annotate says no type of a value"
    assert [saved(run)(number) for number in (True, False)] == [3, "a"]


def test_what_either_of_two_conditions_says_of_a_name_is_known():
    @torch.jit.script
    def run(values: Values) -> int:
        if values is None or isinstance(values, torch.Tensor):
            kept: torch.Tensor | None = values
            return -1 if kept is None else kept.numel()
        if not (isinstance(values, list) and len(values) > 1):
            return 0
        return len(values)

    for each in (run, saved(run)):
        given = [None, torch.ones(3), "text", [torch.ones(1)], [torch.ones(1)] * 4]
        assert [each(values) for values in given] == [-1, 3, 0, 0, 4]

    def wrong(values: Values, sure: bool) -> torch.Tensor | None:
        return values if sure or values is None else None  # the first says nothing of values

    with pytest.raises(
        RuntimeError, match="Expected a value of type 'Optional\\[Tensor\\]'|Return value was annotated"
    ):
        torch.jit.script(wrong)


def test_the_length_of_a_union_is_that_of_what_it_holds():
    @torch.jit.script
    def length(values: torch.Tensor | list[int] | tuple[int, int, int] | str) -> int:
        return len(values)

    for each in (length, saved(length)):
        assert [each(values) for values in (torch.ones(4, 2), [1, 2], (1, 2, 3), "texts")] == [4, 2, 3, 5]

    def wrong(values: torch.Tensor | int) -> int:
        return len(values)

    with pytest.raises(RuntimeError, match=r"len\(int\)"):
        torch.jit.script(wrong)


def test_segments_are_reduced_in_a_script_as_outside():
    @torch.jit.script
    def run(x, offsets, reduce: str):
        return torch.segment_reduce(x, reduce, offsets=offsets, initial=0 if reduce == "mean" else None) * 2

    x, offsets = torch.tensor([1.0, 2.0, 6.0]), torch.tensor([0, 2, 2, 3])
    for each in (run, saved(run)):
        assert each(x, offsets, "mean").tolist() == [3, 0, 12]
        assert each(x, offsets, "amax").tolist() == [4, -float("inf"), 12]


def test_a_name_has_another_type_later_in_the_block_that_annotates_it():
    def joined(xs: list[torch.Tensor]):
        found: list[list[torch.Tensor]] = []
        for x in xs:
            found.append([x, x])
        found = [torch.cat(each) for each in found]  # as torchvision does with anchors
        n: int = 1
        n = 1.5
        for i in range(3):
            n = n + i
        return found, n

    x = torch.ones(1)
    found, n = torch.jit.script(joined)([x, 2 * x])
    assert [each.tolist() for each in found] == [[1.0, 1.0], [2.0, 2.0]]
    assert n == 4.5

    def branched(x, flag: bool):
        n: int = 1
        if flag:
            n = "one"
        return n

    with pytest.raises(RuntimeError, match="Variable 'n' is annotated with type int but is being assigned to .* str"):
        torch.jit.script(branched)


def kinds_of(x):
    asked = (
        isinstance(x, collections.abc.Iterable),
        isinstance(x, collections.abc.Sequence),
        isinstance(x, collections.abc.Mapping),
        isinstance(x, (collections.abc.Sized, numbers.Integral)),
        isinstance(x, numbers.Real),
        isinstance(x, numbers.Number),
    )
    return [1 if each else 0 for each in asked]


@pytest.mark.parametrize(
    "value", [1, 1.5, True, "a", [1, 2], (1, 2), {"a": 1}, torch.ones(2)], ids=lambda v: type(v).__name__
)
def test_values_are_of_the_abstract_classes_of_python(value):
    typed = {list: list[int], tuple: tuple[int, int], dict: dict[str, int]}.get(type(value), type(value))

    def asks(x):
        return kinds_of(x)

    asks.__annotations__["x"] = typed
    assert torch.jit.script(asks)(value) == kinds_of(value)


def test_a_number_is_repeated_for_each_dim_and_a_list_is_not():
    def sizes(x, one: int, several: list[int], both: tuple[int, int]):
        return x.new_zeros(_pair(several)), x.new_zeros(_pair(both)), _pair(one), _triple(several)

    several, both, one, three = torch.jit.script(sizes)(torch.ones(1), 3, [1, 2], (4, 5))
    assert several.shape == (1, 2)
    assert both.shape == (4, 5)
    assert (one, three) == ([3, 3], [1, 2])
