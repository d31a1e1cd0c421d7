import doctest
import json

import pytest
from website import links, sources, tables, tutorials, words

TUTORIAL = """\
# %% [markdown]
# # Title
#
# Words.

# %%
x = 20
x + 1

# %%
print(x)
"""


@pytest.mark.parametrize("module", [tables, tutorials, words], ids=lambda m: m.__name__)
def test_the_examples_of_the_generator_run(module):
    assert not doctest.testmod(module).failed


def test_a_tutorial_shows_what_its_cells_print_and_the_value_of_their_last_line(tmp_path):
    file = tmp_path / "t.py"
    file.write_text(TUTORIAL)
    found = tutorials.run(file)
    assert [(c.markdown, c.output) for c in found] == [(True, ""), (False, "21"), (False, "20")]
    page = tutorials.page(found, "t")
    assert page.startswith("# Title\n\nWords.\n") and "x + 1\n```" in page
    assert [c["cell_type"] for c in json.loads(tutorials.notebook(found))["cells"]] == ["markdown", "code", "code"]


def test_an_error_in_a_tutorial_names_the_line_of_its_file(tmp_path):
    file = tmp_path / "t.py"
    file.write_text(TUTORIAL.replace("print(x)", "print(x)\n1 / 0"))
    with pytest.raises(ZeroDivisionError) as error:
        tutorials.run(file)
    assert error.traceback[-1].lineno + 1 == TUTORIAL.count("\n") + 1


def test_links_to_pages_and_places_that_do_not_exist_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">x</a><a href="b.html#there">x</a><a href="https://example.org">x</a>'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p><img src="lost.png">')
    assert links.broken(tmp_path) == ["a.html: b.html#there (no such place on the page)", "b.html: lost.png"]


def test_a_link_between_files_of_the_repository_becomes_one_between_pages():
    docs = sources.ROOT / "docs"
    known = {docs / "status.md": "status", docs / "index.md": "index"}
    found = sources.Sources(known)
    text = "[a](../status.md#torch-nn) [b](../../README.md)\n```\n[c](not/a/link)\n```\n"
    turned = found.markdown(text, docs / "concepts" / "data.md", "concepts/data")
    assert "[a](../status.md#torch-nn) [b](../source/README.md.rst)" in turned and "[c](not/a/link)" in turned
    assert found.wanted == {sources.ROOT / "README.md"}


def test_a_link_to_a_file_that_does_not_exist_is_an_error():
    with pytest.raises(FileNotFoundError, match=r"index.md: the link 'gone.md' leads nowhere"):
        sources.Sources({}).markdown("[x](gone.md)", sources.ROOT / "docs" / "index.md", "index")


def test_rows_of_a_migration_table_are_those_with_code_on_both_sides(tmp_path):
    page = tmp_path / "p.md"
    page.write_text("| there | here |\n| --- | --- |\n| `a.sum(axis=1)` | `x.sum(dim=1)` |\n| words | `x` |\n")
    assert tables.lines(page) == [(3, "a.sum(axis=1)", "x.sum(dim=1)")]
