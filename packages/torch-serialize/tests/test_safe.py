"""The list of allowed classes."""

import collections
import fractions
import io
import pickle

import pytest
from torch.serialize import (
    UnsafeGlobalError,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    get_unsafe_globals_in_checkpoint,
    load,
    safe_globals,
    save,
)


class Point:
    def __init__(self, x):
        self.x = x


class Stack(list):
    pass


class Outer:
    class Inner:
        pass


@pytest.fixture(autouse=True)
def nothing_allowed():
    clear_safe_globals()
    yield
    clear_safe_globals()


def written(obj):
    out = io.BytesIO()
    save(obj, out)
    return out.getvalue()


def test_a_class_is_refused_until_it_is_allowed():
    raw = written(Point(3))
    with pytest.raises(UnsafeGlobalError, match="Point") as info:
        load(raw)
    assert isinstance(info.value, pickle.UnpicklingError) and info.value.global_name == f"{__name__}.Point"
    assert get_unsafe_globals_in_checkpoint(raw) == [f"{__name__}.Point"]
    with safe_globals([Point]):
        assert load(raw).x == 3
    with pytest.raises(UnsafeGlobalError):
        load(raw)
    add_safe_globals([Point])
    assert load(raw).x == 3 and get_safe_globals() == [Point]


def test_allowed_classes_may_extend_containers_and_reduce_to_calls():
    stack = Stack([1, 2])
    stack.name = "s"
    raw = written([stack, fractions.Fraction(1, 3)])
    with safe_globals([Stack, fractions.Fraction]):
        out, third = load(raw)
    assert out == [1, 2] and out.name == "s" and type(out) is Stack and third == fractions.Fraction(1, 3)


def test_a_class_may_be_allowed_under_the_name_that_stands_in_the_file():
    raw = written(Point(3)).replace(f"c{__name__}\nPoint".encode(), f"c{'x' * len(__name__)}\nPoint".encode())
    with safe_globals([(Point, f"{'x' * len(__name__)}.Point")]), pytest.raises(RuntimeError, match="CRC"):
        load(raw)
    items = [(Point, "old.place.Point")]
    add_safe_globals(items)
    assert get_safe_globals() == items


def test_a_class_within_a_class_is_allowed_by_its_name_in_full():
    raw = written(Outer.Inner())
    with safe_globals([Outer]), pytest.raises(UnsafeGlobalError) as info:
        load(raw)
    assert info.value.global_name == f"{__name__}.Outer.Inner" and "add_safe_globals([Outer.Inner])" in str(info.value)
    with safe_globals([Outer, Outer.Inner]):
        assert type(load(raw)) is Outer.Inner
    assert get_unsafe_globals_in_checkpoint(raw) == [f"{__name__}.Outer"]


def test_names_of_python_2_are_allowed_and_refused_under_those_of_today():
    raw = written([range(3), ValueError("x")])
    with pytest.raises(UnsafeGlobalError, match=r"\[range\]\) after `from builtins import range`"):
        load(raw)
    for data in (raw, pickle.dumps([range(3), ValueError("x")], 2)):
        with safe_globals([range, ValueError]):
            assert load(data)[0] == range(3) and load(data)[1].args == ("x",)
    kinds = [int, str, collections.defaultdict(int, a=1), b"", bytes]
    assert load(pickle.dumps(kinds, 2)) == kinds


def test_the_environment_may_decide_whom_to_trust(monkeypatch):
    raw = written(Point(3))
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    assert load(raw).x == 3
    with pytest.raises(UnsafeGlobalError):
        load(raw, weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "yes")
    with pytest.raises(RuntimeError, match="are both set"):
        load(raw)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(UnsafeGlobalError):
        load(raw, weights_only=False)


def test_what_is_trusted_is_run():
    assert load(written(Point(3)), weights_only=False).x == 3


def test_wrong_arguments_are_explained():
    for wrong in (Point, "Point", 3):
        with pytest.raises(TypeError, match="expected a list"):
            add_safe_globals(wrong)
    with pytest.raises(TypeError, match="has no name of its own"):
        add_safe_globals([3])
    with pytest.raises(TypeError, match=r"\(object, 'module.name'\)"):
        add_safe_globals([(Point, 3)])


def test_a_state_dict_keeps_its_metadata():
    state = collections.OrderedDict(a=1)
    state._metadata = {"version": 1}
    assert load(written(state))._metadata == {"version": 1}
