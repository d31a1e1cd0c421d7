"""Checks of a text by what follows what in it."""

import pytest
import torch
from torch.testing import FileCheck

TEXT = "graph(%a):\n  %b = aten::add(%a)\n  %c = aten::add(%b)\n  %d = aten::mul(%c)\n  return (%d)\n"


def test_checks_follow_each_other():
    FileCheck().check("graph").check_same("%a").check_next("aten::add").check("aten::mul").check_not("aten::div").run(
        TEXT
    )
    FileCheck().check_count("aten::add", 2, exactly=True).check_regex(r"%d = aten::\w+").run(TEXT)
    FileCheck().check_dag("aten::mul").check_dag("aten::add").check("return").run(TEXT)


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        (FileCheck().check("aten::div"), 'Expected to find "aten::div"'),
        (FileCheck().check("aten::mul").check("aten::add"), 'Expected to find "aten::add"'),
        (FileCheck().check("graph").check_same("add"), "in the same line"),
        (FileCheck().check("graph").check_next("mul"), "in the next line"),
        (FileCheck().check_not("add").check("mul"), 'Expected to not find "add"'),
        (FileCheck().check("mul").check_not("return"), 'Expected to not find "return"'),
        (FileCheck().check_count("add", 3), 'Expected to find "add"'),
        (FileCheck().check_count("add", 1, exactly=True), 'Expected to not find "add"'),
        (FileCheck().check_regex("a+z"), "Expected to find regex"),
        (FileCheck().check_source_highlighted("add"), "highlighted"),
        (FileCheck(), "nothing to check"),
    ],
)
def test_a_check_that_fails_tells_what_it_looked_for(checks, message):
    with pytest.raises(RuntimeError, match=message):
        checks.run(TEXT)


def test_checks_are_read_from_comments():
    checks = "# CHECK: graph\n# CHECK-NEXT: add\n# CHECK-COUNT-EXACTLY-1: add\n# CHECK-NOT: sub\n# CHECK: return"
    FileCheck().run(checks, TEXT)
    with pytest.raises(RuntimeError, match='not find "mul"'):
        FileCheck().run("# CHECK-NOT: mul\n# CHECK: return", TEXT)


def test_the_place_of_an_error_is_highlighted():
    def wrong(x):
        return x.foo()

    with pytest.raises(RuntimeError) as caught:
        torch.jit.script(wrong)
    FileCheck().check_source_highlighted("x.foo").run(str(caught.value))
