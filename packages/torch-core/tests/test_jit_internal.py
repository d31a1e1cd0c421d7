"""Names of ``torch._jit_internal`` that libraries ask about annotations and marks."""

import typing
from typing import Dict, List, Optional, Tuple, Union  # noqa: UP035

import pytest
import torch._jit_internal as names
from torch._jit_internal import get_torchscript_modifier, is_ignored_fn, should_drop

KINDS = {
    "is_list": (List[int], list[int]),  # noqa: UP006
    "is_tuple": (Tuple[int], tuple[int, str]),  # noqa: UP006
    "is_dict": (Dict[str, int], dict[str, int]),  # noqa: UP006
    "is_optional": (Optional[int], int | None),  # noqa: UP045
    "is_final": (typing.Final, typing.Final[int]),
}


@pytest.mark.parametrize("name", KINDS)
def test_an_annotation_is_of_one_kind(name):
    found = {other for other, each in KINDS.items() if all(map(getattr(names, name), each))}
    assert found == {name} and not getattr(names, name)(int)


def test_an_optional_is_a_union_and_not_every_union_is_optional():
    assert names.is_union(Optional[int]) and names.is_union(Union[int, str])  # noqa: UP007, UP045
    assert not names.is_optional(Union[int, str]) and not names.is_optional(Union[int, str, None])  # noqa: UP007


def test_marks_are_told():
    def marked(word):
        def fn(x):
            return x

        fn._torchscript_modifier = word
        return fn

    plain = lambda x: x
    kinds = [get_torchscript_modifier(fn) for fn in (plain, marked("ignore"), marked("unused"), 3)]
    assert kinds == ["default", "ignore", "unused", None]
    assert [is_ignored_fn(fn) for fn in (plain, marked("ignore"), marked("unused"))] == [False, True, True]
    assert [should_drop(fn) for fn in (plain, marked("ignore"), marked("unused"))] == [False, False, True]


def test_names_are_found_where_a_function_stands():
    inner = 5

    def fn():
        return inner

    assert names.createResolutionCallbackFromFrame()("inner") == 5
    assert names.createResolutionCallbackFromClosure(fn)("inner") == 5
    assert names.createResolutionCallbackFromClosure(fn)("pytest") is pytest
    assert names._qualified_name(fn) == f"__torch__.{__name__}.fn"
    assert names.get_callable_argument_names(lambda a, *b, c=1: a) == ["a"]
