import interface
import pytest

HEADER = """#pragma once
// Adds.
int add(int a, int b);  /* both
counted */
const char* url = "http://x";
"""
ROW = 'TORCH_OP(add, "add(Tensor self, *, Scalar alpha=1) -> Tensor", Attr().method(), "Adds " "two.")\n'


@pytest.fixture
def include(tmp_path):
    """Public headers of a small core: one header and one family with one operator."""
    (tmp_path / "ops").mkdir()
    (tmp_path / "a.h").write_text(HEADER)
    (tmp_path / "ops" / "sums.def").write_text(ROW)
    (tmp_path / "ops" / "sums.h").write_text('#include "ops/sums.def"\n')
    return tmp_path


def test_comments_and_layout_do_not_count():
    other = '#pragma once\nint add( int a,\n   int b );\nconst char* url="http://x";'
    assert interface.bare(HEADER) == interface.bare(other)


def test_strings_and_names_count():
    assert interface.bare(HEADER) != interface.bare(HEADER.replace("int b", "long b"))
    assert interface.bare(HEADER) != interface.bare(HEADER.replace("http://x", "http://y"))


def test_the_schema_of_an_operator_counts_and_what_else_its_row_says_does_not():
    assert interface.rows(ROW) == interface.rows(ROW.replace('"two."', '"three."'))
    assert interface.rows(ROW) == interface.rows(ROW.replace("method()", "function()"))
    assert interface.rows(ROW) != interface.rows(ROW.replace("alpha=1", "alpha=2"))
    assert interface.rows(ROW) == interface.rows("// first\n" + ROW + "  // last\n")


def test_all_rows_of_the_tree_are_read():
    from packages import ROOT

    include = ROOT / "core" / "include"
    ours = interface.operators(include)
    assert {"unary/abs", "view/squeeze_", "copy/_to_copy", "sparse/_sparse_values", "linalg/cholesky"} <= ours.keys()
    words = sum(
        line.startswith("TORCH_")
        for path in (include / "torch" / "core" / "ops").glob("*.def")
        if interface.is_family(path)
        for line in path.read_text().splitlines()
    )
    assert len(ours) == words


def test_a_new_header_moves_the_hash_and_a_new_operator_does_not(include):
    before, known = interface.fingerprint(include), interface.operators(include)
    rows = include / "ops" / "sums.def"
    rows.write_text(ROW + ROW.replace("add", "sub"))
    assert interface.fingerprint(include) == before
    assert interface.changes(interface.operators(include), known) == (["sums/sub"], [])
    rows.write_text(ROW.replace("alpha=1", "alpha=2"))
    assert interface.changes(interface.operators(include), known) == ([], ["sums/add"])
    rows.write_text("")
    assert interface.changes(interface.operators(include), known) == ([], ["sums/add"])
    (include / "b.h").write_text(HEADER)
    assert interface.fingerprint(include) != before


def test_a_new_family_is_no_change_of_the_interface(include):
    before, known = interface.fingerprint(include), interface.operators(include)
    (include / "ops" / "products.def").write_text(ROW.replace("add", "mul"))
    (include / "ops" / "products.h").write_text('#include "ops/products.def"\n')
    assert interface.fingerprint(include) == before
    assert interface.changes(interface.operators(include), known) == (["products/mul"], [])


RELEASED = ["interface 1 aa released", "features 3 released"]


@pytest.mark.parametrize(
    "numbers, found, added, changed, lines, expected",
    [
        ((1, 3), "aa", [], [], RELEASED, None),
        ((1, 3), "bb", [], [], RELEASED, "public headers changed, but TORCH_CORE_INTERFACE is still 1, which is released"),
        ((1, 3), "aa", [], ["f/x"], RELEASED, r"operators changed (f/x), but TORCH_CORE_INTERFACE is still 1, which is released"),
        ((1, 3), "aa", ["f/y"], [], RELEASED, "operators were added (f/y), but TORCH_CORE_FEATURES is still 3, which is released"),
        ((1, 4), "aa", ["f/y"], [], RELEASED, "features 4 is not in ci/interface.txt"),
        ((1, 4), "aa", [], [], [*RELEASED, "features 4"], None),
        ((1, 4), "aa", ["f/z"], [], [*RELEASED, "features 4"], "added to the unreleased features 4: python ci/interface.py record"),
        ((2, 3), "bb", [], [], RELEASED, "interface 2 is not in"),
        ((2, 3), "bb", [], [], [*RELEASED, "interface 2 cc"], "the unreleased interface 2 changed"),
        ((1, 3), "aa", [], [], [*RELEASED, "interface 2 cc"], "a number is never used twice"),
    ],
)  # fmt: skip
def test_the_verdict_on_numbers_and_hashes(numbers, found, added, changed, lines, expected):
    said = interface.verdict(dict(zip(("interface", "features"), numbers, strict=True)), found, added, changed, lines)
    assert said is None if expected is None else expected in said


def test_what_is_recorded_is_found_again(include, tmp_path, monkeypatch, capsys):
    core = include / "core" / "include" / "torch" / "core"
    (core / "ops").mkdir(parents=True)
    (core / "macros.h").write_text("#define TORCH_CORE_INTERFACE 1\n")
    (core / "features.h").write_text("#define TORCH_CORE_FEATURES 1\n")
    (core / "ops" / "sums.def").write_text(ROW + 'TORCH_ALIAS("", plus, add)\nTORCH_ALIAS("", sum_of, add)\n')
    monkeypatch.setattr(interface, "ROOT", include)
    monkeypatch.setattr(interface, "RECORD", tmp_path / "interface.txt")
    monkeypatch.setattr(interface, "OPERATORS", tmp_path / "operators.txt")
    monkeypatch.setattr("sys.argv", ["interface.py", "record"])
    interface.main()
    monkeypatch.setattr("sys.argv", ["interface.py"])
    interface.main()
    assert "as recorded" in capsys.readouterr().out
    (core / "features.h").write_text("#define TORCH_CORE_FEATURES 2\n")
    (core / "ops" / "sums.def").write_text(ROW + ROW.replace("add", "sub"))
    with pytest.raises(SystemExit, match="features 2 is not in"):
        interface.main()
