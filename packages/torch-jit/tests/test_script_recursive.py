"""Values of programs that lie in themselves, or a million deep in each other."""

import io
from typing import Any

import pytest
import torch
from torch import nn


def in_itself(asked: str):
    x: list[Any] = []
    x.append(x)
    y: list[Any] = [1]
    y[0] = y
    if asked == "text":
        return len(str(x))
    if asked == "print":
        print(x)
    if asked == "equal":
        return 1 if x == y else 0
    if asked == "in":
        return 1 if x in y else 0
    return len(x)


def dict_in_itself(asked: str):
    x: dict[str, Any] = {}
    x["x"] = x
    y: dict[str, Any] = {}
    y["x"] = y
    if asked == "text":
        return len(str(x))
    if asked == "equal":
        return 1 if x == y else 0
    return len(x)


@pytest.mark.parametrize(
    ("function", "asked"),
    [
        (in_itself, "text"), (in_itself, "print"), (in_itself, "equal"), (in_itself, "in"),
        (dict_in_itself, "text"), (dict_in_itself, "equal"),
    ],
)  # fmt: skip
def test_what_looks_into_a_value_that_lies_in_itself_is_an_error(function, asked):
    program = torch.jit.script(function)
    assert program("nothing") == 1
    with pytest.raises(RecursionError, match="values lie in each other more than 1000 deep, or in themselves"):
        program(asked)
    assert program("nothing") == 1  # the walk that failed is over


def given_back():
    x: list[Any] = []
    x.append(x)
    return x


def given_back_in_a_dict():
    x: dict[str, Any] = {}
    x["x"] = x
    return x


def count(values: list[Any]):
    return len(values)


def test_a_value_that_lies_in_itself_does_not_go_to_python_or_back():
    for function in (given_back, given_back_in_a_dict):
        with pytest.raises(RecursionError):
            torch.jit.script(function)()
    values: list[Any] = []
    values.append(values)
    with pytest.raises(RecursionError):
        torch.jit.script(count)(values)


def deep(n: int):
    x: list[Any] = []
    for _ in range(n):
        y: list[Any] = []
        y.append(x)
        x = y
    return len(x)


def deep_dicts(n: int):
    x: dict[str, Any] = {}
    for _ in range(n):
        y: dict[str, Any] = {}
        y["x"] = x
        x = y
    return len(x)


@torch.jit.script
class Link:
    def __init__(self):
        self.next: list[Any] = []


def chain(n: int):
    x = Link()
    for _ in range(n):
        y = Link()
        y.next.append(x)
        x = y
    return len(x.next)


@pytest.mark.parametrize("function", [deep, deep_dicts, chain])
def test_a_million_values_within_each_other_are_freed(function):
    assert torch.jit.script(function)(1_000_000) == 1


class Holds(nn.Module):
    values: list[Any]

    def __init__(self):
        super().__init__()
        self.values = []

    def forward(self, x):
        self.values.append(self.values)
        return x


def test_a_module_that_holds_a_value_within_itself_is_not_saved():
    module = torch.jit.script(Holds())
    module(torch.ones(1))
    with pytest.raises(RecursionError):
        torch.jit.save(module, io.BytesIO())
