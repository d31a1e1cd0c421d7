import interface
import pytest

HEADER = """#pragma once
// Adds.
int add(int a, int b);  /* both
counted */
const char* url = "http://x";
"""
ROW = 'TORCH_OP(add, "add(Tensor self, *, Scalar alpha=1) -> Tensor", Attr().method(), "Adds " "two.")\n'


def test_comments_and_layout_do_not_count():
    other = '#pragma once\nint add( int a,\n   int b );\nconst char* url="http://x";'
    assert interface.bare(HEADER) == interface.bare(other)


def test_strings_and_names_count():
    assert interface.bare(HEADER) != interface.bare(HEADER.replace("int b", "long b"))
    assert interface.bare(HEADER) != interface.bare(HEADER.replace("http://x", "http://y"))


def test_the_schema_of_a_row_counts_and_its_documentation_does_not():
    assert interface.bare(ROW) == interface.bare(ROW.replace('"two."', '"three."'))
    assert interface.bare(ROW) != interface.bare(ROW.replace("alpha=1", "alpha=2"))
    assert interface.bare(ROW) != interface.bare(ROW.replace("method()", "function()"))


def test_a_new_header_moves_the_hash(tmp_path):
    (tmp_path / "a.h").write_text(HEADER)
    before = interface.fingerprint(tmp_path)
    (tmp_path / "b.def").write_text(ROW)
    assert interface.fingerprint(tmp_path) != before


@pytest.mark.parametrize(
    "current, lines, expected",
    [
        (2, ["1 aa released", "2 bb"], None),
        (2, ["1 aa released", "2 cc"], "unreleased interface 2 changed"),
        (1, ["1 aa released"], "still 1, which is released"),
        (2, ["1 aa released"], "interface 2 is not in"),
        (1, ["1 bb released", "2 cc"], "a number is never used twice"),
    ],
)
def test_the_verdict_on_a_number_and_a_hash(current, lines, expected):
    said = interface.verdict(current, "bb", lines)
    assert said is None if expected is None else expected in said
