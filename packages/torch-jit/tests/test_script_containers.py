"""Lists and dicts that programs share with Python, and generators of random numbers as arguments."""

import copy
import io
import pickle

import pytest
import torch
from torch import Tensor


@torch.jit.script
def append_four(values: list[int]):
    values.append(4)


@torch.jit.script
def put_c(values: dict[str, int]):
    values["c"] = 3


def test_a_list_of_scripts_is_changed_by_the_program_that_gets_it():
    values = torch.jit.script([1, 2, 3])
    append_four(values)
    assert isinstance(values, torch._C.ScriptList)
    assert list(values) == [1, 2, 3, 4] and len(values) == 4 and 4 in values and values[-1] == 4
    assert list(values[1:3]) == [2, 3]
    plain = [1]
    append_four(plain)
    assert plain == [1]


def test_a_list_of_scripts_has_the_methods_of_a_list_and_one_type_of_elements():
    values = torch.jit.script([1, 2, 3])
    values.extend([2, 5])
    values.insert(0, 9)
    assert values.count(2) == 2 and values.pop() == 5 and values.pop(0) == 9
    values.remove(3)
    values[0:2] = [7, 8]
    del values[2]
    assert list(values) == [7, 8] and repr(values) == "[7, 8]" and bool(values)
    for wrong in (lambda: values.append("a"), lambda: values.__setitem__(0, "a"), lambda: "a" in values):
        with pytest.raises(TypeError, match="expected a value of type int, not str"):
            wrong()
    with pytest.raises(IndexError, match="out of range: 5 of 2"):
        values[5]
    with pytest.raises(ValueError, match="9 is not in the list"):
        values.remove(9)
    with pytest.raises(RuntimeError, match="different sizes: 1 and 2"):
        values[0:1] = [1, 2]
    assert list(pickle.loads(pickle.dumps(values))) == list(copy.deepcopy(values)) == [7, 8]
    values.clear()
    assert not values


def test_a_dict_of_scripts_is_changed_by_the_program_that_gets_it():
    values = torch.jit.script({"a": 1, "b": 2})
    put_c(values)
    assert isinstance(values, torch._C.ScriptDict)
    assert dict(values.items()) == {"a": 1, "b": 2, "c": 3} and list(values) == list(values.keys()) == ["a", "b", "c"]
    del values["a"]
    values["b"] = 5
    assert len(values) == 2 and "b" in values and "a" not in values and values["b"] == 5
    with pytest.raises(KeyError, match="'a'"):
        values["a"]
    with pytest.raises(KeyError, match="a key of type str"):
        values[1]
    with pytest.raises(TypeError, match="type int"):
        values["z"] = "z"
    assert "z" not in values


def test_lists_within_lists_and_tensors_in_dicts_are_shared():
    @torch.jit.script
    def grow(rows: list[list[int]], named: dict[str, Tensor]):
        rows[0].append(3)
        named["b"] = named["a"] + 1

    rows, named = torch.jit.script([[1, 2]]), torch.jit.script({"a": torch.ones(1)})
    grow(rows, named)
    assert list(rows) == [[1, 2, 3]] and named["b"].item() == 2


# --- generators ---


@torch.jit.script
def draw(x, generator: torch.Generator | None = None):
    return torch.rand([2], generator=generator), x.clone().normal_(0.0, 1.0, generator=generator)


@torch.jit.script
def seeded(seed: int):
    generator = torch.Generator()
    generator.manual_seed(seed)
    return torch.randperm(4, generator=generator)


def test_a_program_draws_from_the_generator_that_it_is_given():
    generator, x = torch.Generator().manual_seed(3), torch.zeros(3)
    drawn = draw(x, generator)
    again = torch.Generator().manual_seed(3)
    expected = torch.rand(2, generator=again), torch.zeros(3).normal_(generator=again)
    assert all(map(torch.equal, drawn, expected))
    assert torch.equal(generator.get_state(), again.get_state())
    torch.manual_seed(0)
    first = draw(x)
    torch.manual_seed(0)
    assert all(map(torch.equal, first, draw(x, None)))


def test_a_generator_is_made_within_a_program_which_is_saved_and_loaded():
    expected = torch.randperm(4, generator=torch.Generator().manual_seed(5))
    assert torch.equal(seeded(5), expected)
    for program, given in ((seeded, (5,)), (draw, (torch.zeros(1), torch.Generator().manual_seed(1)))):
        file = io.BytesIO()
        torch.jit.save(program, file)
        file.seek(0)
        loaded = torch.jit.load(file)
        made = loaded(*given)
        assert torch.equal(made, expected) if program is seeded else made[0].shape == (2,)


def test_what_is_no_generator_is_refused():
    with pytest.raises(RuntimeError, match=r"(?i)generator"):
        draw(torch.zeros(1), "seed")


def test_a_list_that_is_empty_is_an_index_of_nothing():
    @torch.jit.script
    def chosen(x):
        none: list[int] = []
        return x[none], x[none, :, 1:2], x[[]], x.__getitem__(torch.tensor([1, 0])), x.__getitem__(1)

    x = torch.arange(24.0).reshape(2, 3, 4)
    found = chosen(x)
    assert [tuple(each.shape) for each in found[:3]] == [(0, 3, 4), (0, 3, 1), (0, 3, 4)]
    assert torch.equal(found[3], x.flip(0)) and torch.equal(found[4], x[1])


def either(n: int) -> tuple[int | str, int | str]:
    found: int | str = n
    if n > 2:
        found = "many"
    else:
        found = n + 1
    other: int | str = "x"
    if isinstance(other, str):
        other = other + "y"
        if n == 1:
            other = 5
    return found, other


def test_a_name_that_is_declared_a_union_may_be_of_another_type_of_it_in_each_branch():
    script = torch.jit.script(either)
    assert [script(n) for n in (1, 2, 3)] == [either(n) for n in (1, 2, 3)] == [(2, 5), (3, "xy"), ("many", "xy")]


def beyond(n: int) -> str:
    if n > 0:
        return ["a", "b"][2]
    return ["a", "b"][-1]


def test_an_element_that_a_constant_list_lacks_is_missed_where_it_is_reached():
    script = torch.jit.script(beyond)
    assert script(0) == "b"
    with pytest.raises(IndexError):
        script(1)
