"""The families of operators are listed where C++ needs a list; every list has all of them."""

import ast
import re

import pytest

from packages import ROOT

OPS = ROOT / "core" / "include" / "torch" / "core" / "ops"
DERIVATIVES = ROOT / "packages" / "torch-autograd" / "csrc" / "derivatives"
#: files beside the families: lists of other names, and words that stand for rows
NO_FAMILIES = {"aliases", "all", "deprecated", "overloads", "shorthand"}
FAMILIES = {p.stem for p in OPS.glob("*.def")} - NO_FAMILIES


@pytest.mark.parametrize(
    "file, entry",
    [
        ("core/src/dispatch/register.h", r"^  X\((\w+)\)"),
        ("core/include/torch/core/ops/all.def", r'^#include "torch/core/ops/(\w+)\.def"'),
        ("core/include/torch/core/ops.h", r'^#include "torch/core/ops/(\w+)\.h"'),
    ],
)
def test_a_list_of_families_has_all_of_them_once(file, entry):
    listed = re.findall(entry, (ROOT / file).read_text(), re.M)
    assert sorted(set(listed) - NO_FAMILIES) == sorted(FAMILIES) and len(listed) == len(set(listed))


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_family_has_a_header_that_declares_its_rows(family):
    text = (OPS / f"{family}.h").read_text()
    assert f'#include "torch/core/ops/{family}.def"' in text and f"operators of {family}.def" in text


def test_every_file_of_derivatives_is_registered():
    listed = re.findall(r"^  X\((\w+)\)", (DERIVATIVES / "register.h").read_text(), re.M)
    defined = {
        name
        for path in DERIVATIVES.glob("*.cpp")
        for name in re.findall(r"^void register_(\w+)\(\)", path.read_text(), re.M)
    }
    assert sorted(listed) == sorted(defined)


def test_families_are_named_where_some_are_chosen():
    chosen = re.search(
        r"set\(wanted_families (.*?)\)", (ROOT / "core" / "cmake" / "TorchSmall.cmake").read_text(), re.S
    )[1].split()
    assert set(chosen) <= FAMILIES
    titles = ast.parse((ROOT / "ci" / "website" / "operators.py").read_text())
    (named,) = (
        {key.value for key in node.value.keys}
        for node in titles.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FAMILIES"
    )
    assert named == FAMILIES
