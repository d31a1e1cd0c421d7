import doctest
import json

import benchmarks
from website import benchmarks as page


def test_the_page_has_every_figure_of_the_stored_run_and_names_the_machine():
    stored = json.loads(page.STORE.read_text())
    text = page.stored()
    for row in stored["rows"]:
        ratio = row["ours"] / row["other"]
        assert f"| {row['what']} | {page.duration(row['ours'])} | {page.duration(row['other'])} | " in text
        assert f"{ratio:.2f}" in text
    assert stored["about"]["processor"] in text
    assert stored["about"]["other"] in text


def test_the_stored_run_is_of_the_cases_that_there_are():
    stored = json.loads(page.STORE.read_text())
    assert [(r["group"], r["what"]) for r in stored["rows"]] == [
        *((group, what) for group, what, _, _ in benchmarks.CASES),
        benchmarks.IMPORT,
    ]


def test_examples_of_the_page():
    assert doctest.testmod(page).failed == 0
