"""What the core knows of an operator stands in its row: code that serves all operators names none of them."""

import re

import pytest

from packages import ROOT

OPS = ROOT / "core" / "include" / "torch" / "core" / "ops"
#: layers and rules that every operator goes through; they read attributes of rows
GENERAL = [
    "core/src/stored/stored.cpp",
    "core/src/ops/sparse/zero_keeping.cpp",
    "core/src/ops/sparse/compressed_elements.cpp",
    "core/src/dispatch/autocast.cpp",
    "core/src/dispatch/out.cpp",
    "core/src/dispatch/layer.cpp",
    "packages/torch-autograd/csrc/func/dual_rules.cpp",
    "packages/torch-autograd/csrc/func/dual_call.h",
]


def names():
    """The operators of all rows, as texts of the program may name them."""
    found = set()
    for path in OPS.glob("*.def"):
        text = path.read_text()
        found |= set(re.findall(r'TORCH_OP\(\w+,\s*"(\w+)\(', text))
        found |= set(re.findall(r"^TORCH_(?!OP\(|ALIAS\()[A-Z_0-9]+\((\w+),", text, re.M))
    return found


def test_rows_are_found():
    assert {"add", "add_", "abs", "eq", "_to_copy", "index_select"} <= names()
    assert len(names()) > 600


def named(code):
    """Texts that code compares a name with, or looks a name up in.

    >>> sorted(named('if (op == "view") f("g"); constexpr std::string_view kAll[] = {"a", "b"}; Rule r[] = {{"c", 1}};'))
    ['a', 'b', 'c', 'view']
    """
    code = re.sub(r"//[^\n]*", "", code)
    compared = re.findall(r'\b(?:op|op_name\(\)|text) [=!]= "(\w+)"', code)
    lists = re.findall(r"string_view \w+\[\]\s*=\s*\{([^;]*)\};", code)
    tables = re.findall(r'\{"(\w+)",', code)
    return {*compared, *re.findall(r'"(\w+)"', " ".join(lists)), *tables}


@pytest.mark.parametrize("path", GENERAL)
def test_code_that_serves_all_operators_names_none(path):
    assert sorted(named((ROOT / path).read_text()) & names()) == []


def test_a_name_would_be_found():
    code = 'const std::string_view kLinear[] = {"sum", "neg"}; if (op != "as_strided") { op_name() == "zero_"; }'
    assert named(code) & names() == {"sum", "neg", "as_strided", "zero_"}


def test_work_is_looked_up_without_a_name():
    """The function of a device adds the row's name to the error (core/src/dispatch/one_device.h)."""
    named_by_hand = re.compile(r'(?:host_work|work<[^;()]*>\s*\.on)\((?:"|op\b|\w+\.name\b|[^();]*,)')
    found = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in (ROOT / "core" / "src").rglob("*.[ch]*")
        for match in named_by_hand.finditer(path.read_text())
    }
    assert found == set()
    assert named_by_hand.search('if (!host_work("sort", out))') and named_by_hand.search("work<Sort>.on(op, out)")
    assert not named_by_hand.search("work<IndexWork>.on(out)->along(op, x)")
